import { handleOfDigest } from '../handle.ts';
import type { Problem } from '../store.ts';
import { type Generation, gapProblem } from './generation.ts';
import { aligned, DELETION, isGap, type LogRecord, NOTE, REFERENCE, START, TEXT, TURN, USE } from './log.ts';
import { decodeText, readAbout, readDeletion, readNote, readReference, readTurn, readUse } from './records.ts';

/** Copies all that is alive at once. Answers what could not be read, and how many texts there were. */
export function copyAlive(from: Generation, to: Generation): Pick<AliveCopy, 'problems' | 'texts'> {
  const copy = new AliveCopy({ to, look: (use) => use(from) });
  copy.step(Number.POSITIVE_INFINITY);
  return copy;
}

interface CopyOptions {
  readonly to: Generation;
  /** Looks at the generation that is copied. */
  readonly look: <T>(use: (from: Generation) => T) => T;
}

/**
 * Copies what is alive into a new generation, in its order and in steps. Others may write to the old one in between: the
 * next step takes in what they appended. A record without a time gets the time of the copy.
 */
export class AliveCopy {
  /** Texts that were read, alive or not. */
  texts = 0;
  readonly #to: Generation;
  readonly #look: CopyOptions['look'];
  readonly #problems: Map<string, Problem>;
  /** Deletions before it were done when the copy began: what they end is not alive. */
  readonly #began: number;
  #position = START;

  constructor({ to, look }: CopyOptions) {
    this.#to = to;
    this.#look = look;
    this.#began = look(({ end }) => end);
    this.#problems = new Map(look(({ lost }) => lost).map((problem) => [problem.what, problem]));
  }

  /** What could not be read. */
  get problems(): Problem[] {
    return [...this.#problems.values()];
  }

  /** How many bytes of the old log are not copied yet. */
  get left(): number {
    return this.#look(({ end }) => end) - this.#position;
  }

  /** Copies about this many bytes of the old log, in one write. */
  step(bytes: number): void {
    const stop = this.#position + bytes;
    this.#to.catalogue.together(() => {
      for (const found of this.#look((from) => from.scan(this.#position))) {
        if (this.#position >= stop || this.left <= 0) return;
        if (isGap(found)) {
          const problem = this.#look(({ number }) => gapProblem(number, found));
          this.#problems.set(problem.what, problem);
        } else this.#take(found);
        this.#position = aligned(found.position + found.bytes);
      }
    });
  }

  #take(record: LogRecord): void {
    const { type, body, position, time } = record;
    const { catalogue } = this.#to;
    if (type === TEXT) this.texts += 1;
    if (type === DELETION && position >= this.#began) catalogue.deleteSession(readDeletion(body));
    if (!this.#look((from) => from.catalogue.isAlive(record))) return;
    const stamp = time > 0 ? { time } : {};
    if (type === TEXT)
      catalogue.putTexts([{ text: decodeText(body, body.length).text, about: readAbout(body), ...stamp }]);
    else if (type === REFERENCE) {
      const { digest, about } = readReference(body);
      const stored = this.#look((from) => from.catalogue.find(handleOfDigest(digest)));
      if (stored) catalogue.putTexts([{ text: stored.text, about, ...stamp }]);
    } else if (type === TURN) catalogue.putTurns([readTurn(body).record], stamp.time);
    else if (type === NOTE) catalogue.putNote(readNote(body), stamp.time);
    else if (type === USE) catalogue.putUse({ ...readUse(body), lastAt: time });
  }
}

import { setImmediate } from 'node:timers/promises';
import { STEP_MS } from '../paced.ts';
import type { Problem } from '../store.ts';
import { type Generation, gapProblem } from './generation.ts';
import { aligned, DELETION, isGap, type LogRecord, NOTE, REFERENCE, START, TEXT, TURN, USE } from './log.ts';
import { decodeText, readAbout, readDeletion, readNote, readReference, readTurn, readUse, textIn } from './records.ts';

export interface CopyOptions {
  readonly to: Generation;
  /** Runs a function on the generation that is copied. */
  readonly look: <T>(use: (from: Generation) => T) => T;
}

/**
 * Copies the records that are alive into a new generation, in their order and in steps. Others may write to the old
 * generation in between: the next step copies those records too. A record without a time gets the time of the copy.
 */
export class AliveCopy {
  /** Texts that were read, alive or not. */
  texts = 0;
  readonly #to: Generation;
  readonly #look: CopyOptions['look'];
  readonly #problems: Map<string, Problem>;
  /** The end of the old log when the copy began. Deletions before it were applied: their records are not alive. */
  readonly #began: number;
  #position = START;

  constructor({ to, look }: CopyOptions) {
    this.#to = to;
    this.#look = look;
    this.#began = look(({ end }) => end);
    this.#problems = new Map(look(({ lost }) => lost).map((problem) => [problem.what, problem]));
  }

  /** The parts of the old log that could not be read. */
  get problems(): Problem[] {
    return [...this.#problems.values()];
  }

  /** The position in the old log up to which everything is copied. */
  get position(): number {
    return this.#position;
  }

  /** How many bytes of the old log are not copied yet. */
  get left(): number {
    return this.#look(({ end }) => end) - this.#position;
  }

  /** Copies everything that is left, and yields to the event loop after each step. */
  async finish(): Promise<void> {
    while (this.step(Number.POSITIVE_INFINITY)) await setImmediate();
  }

  /** Copies about this many bytes of the old log, for a few milliseconds at most. Returns false at the end of the log. */
  step(bytes: number): boolean {
    const stop = this.#position + bytes;
    const until = performance.now() + STEP_MS;
    return this.#to.catalogue.together(() => {
      for (const found of this.#look((from) => from.scan(this.#position))) {
        if (this.left <= 0) return false;
        if (isGap(found)) {
          const problem = this.#look(({ number }) => gapProblem(number, found));
          this.#problems.set(problem.what, problem);
        } else this.#take(found);
        this.#position = aligned(found.position + found.bytes);
        if (this.#position >= stop || performance.now() >= until) return true;
      }
      return false;
    });
  }

  #take(record: LogRecord): void {
    const { type, body, position, time } = record;
    const { catalogue } = this.#to;
    const stamp = time > 0 ? { time } : {};
    if (type === REFERENCE) {
      this.#takeReference(record, stamp);
      return;
    }
    if (type === TEXT) this.texts += 1;
    if (type === DELETION && position >= this.#began) catalogue.deleteSession(readDeletion(body));
    if (!this.#look((from) => from.catalogue.isAlive(record))) return;
    if (type === TEXT)
      catalogue.putTexts([{ text: decodeText(body, body.length).text, about: readAbout(body), ...stamp }]);
    else if (type === TURN) catalogue.putTurns([readTurn(body)], stamp.time);
    else if (type === NOTE) catalogue.putNote(readNote(body), stamp.time);
    else if (type === USE) catalogue.putUse({ ...readUse(body), lastAt: time });
  }

  /** Reads the text only if the new generation lacks it: then its first record was deleted or damaged. */
  #takeReference(record: LogRecord, stamp: { readonly time?: number }): void {
    const { digest, about } = readReference(record.body);
    const { catalogue } = this.#to;
    if (this.#look((from) => from.catalogue.isDeleted(record))) return;
    if (catalogue.putReference({ digest, about, ...stamp })) return;
    const text = this.#look((from) => from.catalogue.texts.of(digest));
    if (text) catalogue.putTexts([{ text: textIn(text), about, ...stamp }]);
  }
}

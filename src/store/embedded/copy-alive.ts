import { handleOfDigest } from '../handle.ts';
import type { Problem, Reference } from '../store.ts';
import { type Generation, gapProblem } from './generation.ts';
import { isGap, type LogRecord, NOTE, REFERENCE, TEXT, TURN } from './log.ts';
import { decodeText, readAbout, readNote, readReference, readTurn } from './records.ts';

/** Writes all that is alive, in its order. Answers what could not be read, and how many texts there were. */
export function copyAlive(from: Generation, to: Generation): { readonly problems: Problem[]; readonly texts: number } {
  const problems = new Map(from.lost.map((problem) => [problem.what, problem]));
  const copy = new Copy(from, to);
  let texts = 0;
  for (const found of from.scan()) {
    if (found.type === TEXT) texts += 1;
    if (isGap(found)) {
      const problem = gapProblem(from.number, found);
      problems.set(problem.what, problem);
    } else if (from.catalogue.isAlive(found)) copy.take(found);
  }
  copy.flush();
  return { problems: [...problems.values()], texts };
}

/** Texts go in batches; a turn or note comes behind those before it. */
class Copy {
  readonly #from: Generation;
  readonly #to: Generation;
  #batch: { readonly text: string; readonly about: Reference }[] = [];
  #length = 0;

  constructor(from: Generation, to: Generation) {
    this.#from = from;
    this.#to = to;
  }

  take({ type, body }: LogRecord): void {
    if (type === TEXT) this.#add(decodeText(body, body.length).text, readAbout(body));
    else if (type === REFERENCE) {
      const { digest, about } = readReference(body);
      const stored = this.#from.catalogue.find(handleOfDigest(digest));
      if (stored) this.#add(stored.text, about);
    } else if (type === TURN) {
      this.flush();
      this.#to.catalogue.putTurns([readTurn(body).record]);
    } else if (type === NOTE) {
      this.flush();
      this.#to.catalogue.putNote(readNote(body));
    }
  }

  flush(): void {
    this.#to.catalogue.putTexts(this.#batch);
    this.#batch = [];
    this.#length = 0;
  }

  #add(text: string, about: Reference): void {
    this.#batch.push({ text, about });
    this.#length += text.length;
    if (this.#length > BATCH_LENGTH) this.flush();
  }
}

const BATCH_LENGTH = 1 << 20;

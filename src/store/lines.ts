/**
 * The lines of a text. A newline at the very end ends the last line and begins none, so `''` has no line. Only the
 * beginning of one line in 64 is kept: a text may be nothing but newlines.
 */
export class Lines {
  readonly text: string;
  readonly count: number;
  readonly #starts: number[] = [];
  /** The line that was asked for last: most callers go on with the next. */
  #last = { index: 0, start: 0 };

  constructor(text: string) {
    this.text = text;
    let count = 0;
    for (let start = 0; start < text.length; count++) {
      if (count % STEP === 0) this.#starts.push(start);
      start = nextStart(text, start);
    }
    this.count = count;
  }

  /** Where a line begins, counted from 0; the end of the text for those behind the last. */
  start(index: number): number {
    if (index >= this.count) return this.text.length;
    const kept = Math.floor(index / STEP);
    const isNear = this.#last.index <= index && this.#last.index >= kept * STEP;
    let [line, start] = isNear ? [this.#last.index, this.#last.start] : [kept * STEP, this.#starts[kept] as number];
    for (; line < index; line++) start = nextStart(this.text, start);
    this.#last = { index, start };
    return start;
  }

  /** A line without the characters that end it. */
  at(index: number): string {
    return this.text.slice(this.start(index), this.start(index + 1)).replace(/\r?\n$/, '');
  }
}

const STEP = 64;

function nextStart(text: string, start: number): number {
  const end = text.indexOf('\n', start);
  return end < 0 ? text.length : end + 1;
}

/**
 * The lines of a text. A final newline ends the last line and begins none, so `''` has no line. Only every 64th line start is
 * kept in memory: a text may consist of newlines only.
 */
export class Lines {
  readonly text: string;
  readonly count: number;
  readonly #starts: number[] = [];
  /** The last line that was requested. Most callers continue with the next one. */
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

  /** The start of a line, counted from 0. After the last line: the end of the text. */
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

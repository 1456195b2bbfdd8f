import { rememberedLast } from '../../tool-kind/remembered.ts';

/** A text in which parts are replaced, from start to end. Everything between them is copied once. */
export class Rewriting {
  readonly #text: string;
  readonly #parts: string[] = [];
  #next = 0;

  constructor(text: string) {
    this.#text = text;
  }

  replace(from: number, to: number, by = ''): void {
    if (from > this.#next) this.#parts.push(this.#text.slice(this.#next, from));
    if (by !== '') this.#parts.push(by);
    this.#next = to;
  }

  /** The text with its parts replaced: the same text if there were none. */
  finish(): string {
    if (this.#next === 0) return this.#text;
    this.replace(this.#text.length, this.#text.length);
    return this.#parts.join('');
  }
}

/** The end of the line at a position: its newline, or the end of the text. */
export function endOfLine(text: string, from: number): number {
  const newline = text.indexOf('\n', from);
  return newline < 0 ? text.length : newline;
}

/** The start of each line, and the position where a line after the last would start. Several rules ask about the same text. */
export const startsOfLines = rememberedLast((text): readonly number[] => {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  starts.push(text.length + 1);
  return starts;
});

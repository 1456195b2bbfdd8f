import { readLines } from './read-lines.ts';

/**
 * A text as lines that may begin with a line number: `  12→`, `12⇥`, `12: `, `12| `. Lines end at `\n` only, so that a
 * line keeps its `\r`. The newline at the end of a text begins no further line.
 */
export class NumberedLines {
  readonly text: string;
  readonly count: number;
  /** Lines that are never equal to another. */
  readonly leftOut: readonly number[];
  /** Where each line begins. One more entry ends the last line. */
  readonly #starts: Int32Array;
  /** The length of each line's number with its padding and separator; 0 where there is none. */
  readonly #prefixes: Uint8Array;
  readonly #numbers: Int32Array;
  /** For each line, a hash without its number; 0 for a line that is left out. */
  readonly #hashes: Int32Array;

  constructor(text: string, isLeftOut: (line: string) => boolean = () => false) {
    const { starts, prefixes, numbers, hashes } = readLines(text);
    this.text = text;
    this.count = hashes.length;
    this.#starts = starts;
    this.#prefixes = prefixes;
    this.#numbers = numbers;
    this.#hashes = hashes;
    const leftOut: number[] = [];
    for (let line = 0; line < this.count; line++)
      if (text.charCodeAt(this.#start(line)) === OPEN_BRACKET && isLeftOut(this.slice(line, line + 1)))
        leftOut.push(line);
    for (const line of leftOut) hashes[line] = 0;
    this.leftOut = leftOut;
  }

  /** The length of some lines, their newlines included. */
  sizeOf(from: number, to: number): number {
    return this.#start(to) - this.#start(from);
  }

  /** Some lines, without the newline at their end. */
  slice(from: number, to: number): string {
    return this.text.slice(this.#start(from), this.#start(to) - 1);
  }

  /** A line without its number. */
  body(line: number): string {
    return this.text.slice(this.#start(line) + this.#prefix(line), this.#start(line + 1) - 1);
  }

  isNumbered(line: number): boolean {
    return this.#prefix(line) > 0;
  }

  /** The number of a line, with its padding and separator. */
  prefix(line: number): string {
    return this.text.slice(this.#start(line), this.#start(line) + this.#prefix(line));
  }

  /** The number that a numbered line begins with. */
  numberAt(line: number): number {
    return this.#numbers[line] as number;
  }

  /** Whether the next line has the next number, written alike, or both have none. */
  isContinued(line: number): boolean {
    const [prefix, next] = [this.#prefix(line), this.#prefix(line + 1)];
    if (prefix === 0 || next === 0) return prefix === next;
    const number = this.numberAt(line + 1);
    if (number !== this.numberAt(line) + 1) return false;
    // Two prefixes of one length that differ in digits only are written alike.
    if (prefix === next && number % 10 !== 0) return this.#differInDigits(line, prefix);
    return this.prefix(line + 1) === new Numbering(this.prefix(line)).prefix(number);
  }

  /** Whether a line is the same as one of another text, but for its number. */
  equals(line: number, other: NumberedLines, place: number): boolean {
    const hash = this.#hashes[line] as number;
    return hash !== 0 && hash === other.#hashes[place] && this.body(line) === other.body(place);
  }

  /** A hash of three lines in a row without their numbers; 0 where they are shorter than `leastChars`, or one is left out. */
  hashOfThree(line: number, leastChars: number): number {
    if (line + 3 > this.count) return 0;
    const a = this.#hashes[line] as number;
    const b = this.#hashes[line + 1] as number;
    const c = this.#hashes[line + 2] as number;
    if (a === 0 || b === 0 || c === 0) return 0;
    const prefixes = this.#prefix(line) + this.#prefix(line + 1) + this.#prefix(line + 2);
    if (this.sizeOf(line, line + 3) - 3 - prefixes < leastChars) return 0;
    return Math.imul(Math.imul(a, 0x9e3779b1) ^ b, 0x85ebca6b) ^ c || 1;
  }

  #differInDigits(line: number, length: number): boolean {
    const [start, next] = [this.#start(line), this.#start(line + 1)];
    for (let i = 0; i < length; i++) {
      const [a, b] = [this.text.charCodeAt(start + i), this.text.charCodeAt(next + i)];
      if (a !== b && !(isDigit(a) && isDigit(b))) return false;
    }
    return true;
  }

  #start(line: number): number {
    return this.#starts[line] as number;
  }

  #prefix(line: number): number {
    return this.#prefixes[line] as number;
  }
}

/** How a prefix is written, to write other numbers in the same manner. Padding with blanks keeps numbers right-aligned. */
export class Numbering {
  readonly #indent: string;
  readonly #width: number;
  readonly #separator: string;

  constructor(prefix: string) {
    const [, indent = '', padded = '', separator = ''] = /^([ \t]*\t)?( *\d+)(.*)$/s.exec(prefix) ?? [];
    this.#indent = indent;
    this.#width = padded.startsWith(' ') ? padded.length : 0;
    this.#separator = separator;
  }

  prefix(number: number): string {
    return `${this.#indent}${String(number).padStart(this.#width)}${this.#separator}`;
  }
}

const OPEN_BRACKET = 0x5b;

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

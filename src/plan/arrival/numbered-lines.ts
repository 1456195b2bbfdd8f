import { LINE_FIELDS, readLines } from './read-lines.ts';

/**
 * A text as lines that may begin with a line number: `  12→`, `12⇥`, `12: `, `12| `. Lines end at `\n` only, so that a
 * line keeps its `\r`. The newline at the end of a text begins no further line.
 */
export class NumberedLines {
  readonly text: string;
  readonly count: number;
  /** Lines that are never equal to another. */
  readonly leftOut: readonly number[];
  /** See `ReadLines`. The hashes of a line that is left out are 0. */
  #lines: Int32Array;
  /** For each line its number, and the length of that with its padding and separator. */
  #numbers: Int32Array | undefined;

  constructor(text: string, isLeftOut: (line: string) => boolean = () => false) {
    if (inSharedMemory) inSharedMemory.#keep();
    inSharedMemory = this;
    const { count, lines, numbers, inBrackets } = readLines(text);
    this.text = text;
    this.count = count;
    this.#lines = lines;
    this.#numbers = numbers;
    this.leftOut = inBrackets.filter((line) => isLeftOut(this.slice(line, line + 1)));
    for (const line of this.leftOut) {
      lines[line * LINE_FIELDS + 1] = 0;
      for (let first = Math.max(0, line - 2); first <= line; first++) lines[first * LINE_FIELDS + 2] = 0;
    }
  }

  #keep(): void {
    this.#lines = this.#lines.slice(0, this.count * LINE_FIELDS + 1);
    this.#numbers = this.#numbers?.slice(0, this.count * 2);
  }

  /**
   * Call it when these lines are not needed for now. Undefined if they are still in shared memory: then they are never copied, and must not be
   * used again.
   */
  release(): NumberedLines | undefined {
    if (inSharedMemory !== this) return this;
    inSharedMemory = undefined;
    return undefined;
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

  get hasNumbers(): boolean {
    return this.#numbers !== undefined;
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
    return this.#numbers ? (this.#numbers[2 * line] as number) : 0;
  }

  /** Whether the next line has the next number, written in the same way, or both have none. */
  isContinued(line: number): boolean {
    const [prefix, next] = [this.#prefix(line), this.#prefix(line + 1)];
    if (prefix === 0 || next === 0) return prefix === next;
    const number = this.numberAt(line + 1);
    if (number !== this.numberAt(line) + 1) return false;
    // Two prefixes of one length that differ only in digits are written in the same way.
    if (prefix === next && number % 10 !== 0) return this.#differInDigits(line, prefix);
    return this.prefix(line + 1) === new Numbering(this.prefix(line)).prefix(number);
  }

  /** The number of lines in a row that equal those of another text, except for their numbers. */
  countEqual({ from, to }: { from: number; to: number }, other: NumberedLines, place: number): number {
    const most = Math.min(to - from, other.count - place);
    for (let count = 0; ; ) {
      const likely = this.#countLikely(from + count, other, place + count, Math.min(most - count, AT_ONCE));
      const equal = this.#countEqual(from + count, other, place + count, likely);
      count += equal;
      if (equal < AT_ONCE) return count;
    }
  }

  /** Counts by hashes only. */
  #countLikely(line: number, other: NumberedLines, place: number, most: number): number {
    let count = 0;
    while (count < most && this.#isLikely(line + count, other, place + count)) count += 1;
    return count;
  }

  #countEqual(line: number, other: NumberedLines, place: number, likely: number): number {
    const areWhole = this.#numbers === undefined && other.#numbers === undefined;
    if (areWhole && this.slice(line, line + likely) === other.slice(place, place + likely)) return likely;
    let count = 0;
    while (count < likely && this.body(line + count) === other.body(place + count)) count += 1;
    return count;
  }

  #isLikely(line: number, other: NumberedLines, place: number): boolean {
    const hash = this.#hash(line);
    return hash !== 0 && hash === other.#hash(place);
  }

  /**
   * A hash of a line and the next two, without their numbers; 0 if they are too short for a search, one is left out, or there are
   * fewer.
   */
  hashOfThree(line: number): number {
    return this.#lines[line * LINE_FIELDS + 2] as number;
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
    return this.#lines[line * LINE_FIELDS] as number;
  }

  #hash(line: number): number {
    return this.#lines[line * LINE_FIELDS + 1] as number;
  }

  #prefix(line: number): number {
    return this.#numbers ? (this.#numbers[2 * line + 1] as number) : 0;
  }
}

/** The lines that were read last. They are copied when the next text is read, unless they were released: most are used only once. */
let inSharedMemory: NumberedLines | undefined;

/** The prefix of a line, by the line above it. */
export const prefixOf = (line: string, above = ''): string => new NumberedLines(`${above}\n${line}\n`).prefix(1);

/** How a prefix is written, to write other numbers in the same way. Padding with blanks keeps numbers right-aligned. */
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

/** More lines are compared only if these are equal, so that lines with made-up equal hashes cost little. */
const AT_ONCE = 32;

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

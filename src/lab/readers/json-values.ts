import { constants } from 'node:buffer';
import { isRecord } from '../../formats/lens.ts';
import { outsideStrings, replaceOutsideStrings } from './outside-strings.ts';

export type Fields = Record<string, unknown>;

/**
 * Finds the objects in a text that comes in pieces. Lines of JSON, several objects on a line, one object over many
 * lines, an array of objects, and other text before, between or after them. Text outside objects is skipped.
 */
export class JsonValues {
  readonly #onDamage: (reason: string) => void;
  #line = 1;
  #startLine = 1;
  #depth = 0;
  #inString = false;
  #escaped = false;
  /** Other text precedes the object on its line, so the object must end on the same line. */
  #afterText = false;
  #isPart = false;
  #pieces: string[] = [];
  /** The last character of the open object that is no space. */
  #last = '';
  #length = 0;

  constructor(onDamage: (reason: string) => void = () => {}) {
    this.#onDamage = onDamage;
  }

  /** An object has begun and not ended. */
  get #isOpen(): boolean {
    return this.#depth > 0;
  }

  /** The objects that end in a line, or in the rest of it. */
  line(text: string): Fields[] {
    const whole = this.#wholeLine(text);
    const found = whole ? [whole] : this.part(text);
    this.#endLine();
    return found;
  }

  /** The objects that end in the next part of a line. */
  part(text: string): Fields[] {
    this.#isPart = true;
    const found: Fields[] = [];
    let from = 0;
    for (let at = this.#skip(text, 0); at < text.length; at = this.#skip(text, at)) {
      if (this.#depth === 0) {
        from = at;
        this.#startLine = this.#line;
      }
      at = this.#step(text, at);
      if (this.#depth > 0) continue;
      const value = this.#parse(this.#take(text.slice(from, at)));
      if (value) found.push(value);
    }
    if (this.#isOpen) this.#keep(text.slice(from));
    return found;
  }

  /** An open object is cut off. */
  end(): void {
    if (this.#isOpen) this.#drop();
  }

  #endLine(): void {
    // A JSON string cannot contain a newline, so the writer was cut off here.
    if (this.#isOpen && (this.#inString || this.#afterText)) this.#drop();
    this.#line += 1;
    this.#afterText = false;
    this.#isPart = false;
  }

  /** The fast path. A line that is a whole object also shows that the one before was cut off. */
  #wholeLine(text: string): Fields | undefined {
    if (this.#isPart || !text.startsWith('{"') || this.#mayHold) return undefined;
    const value = parseObject(text);
    if (value && this.#isOpen) this.#drop();
    return value;
  }

  /** Whether another object may begin inside the open one: in an array, or after its first lines. In JSON, nothing begins behind a value. */
  get #mayHold(): boolean {
    if (!this.#isOpen || !'[,:'.includes(this.#last)) return false;
    return this.#pieces.length > 1 || endsInArray(this.#pieces[0] ?? '');
  }

  /** The position of the next relevant character. Outside objects only `{` is relevant. */
  #skip(text: string, from: number): number {
    if (this.#depth > 0) return from;
    const at = text.indexOf('{', from);
    const between = text.slice(from, at < 0 ? undefined : at);
    if (/[^\s,[\]]/.test(between)) this.#afterText = true;
    return at < 0 ? text.length : at;
  }

  /** Advances to the end of the object, or of the text. */
  #step(text: string, from: number): number {
    for (let at = from; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (code === BACKSLASH) this.#escaped = true;
        else if (code === QUOTE) this.#inString = false;
      } else if (code === QUOTE) this.#inString = true;
      else if (code === OPEN) this.#depth += 1;
      else if (code === CLOSE && --this.#depth === 0) return at + 1;
    }
    return text.length;
  }

  #keep(text: string): void {
    this.#pieces.push(text);
    this.#last = text.trimEnd().at(-1) ?? this.#last;
    this.#length += text.length + 1;
    if (this.#length > constants.MAX_STRING_LENGTH) this.#drop();
  }

  #take(last: string): string {
    const text = this.#pieces.length > 0 ? `${this.#pieces.join('')}${last}` : last;
    this.#clear();
    return text;
  }

  #parse(text: string): Fields | undefined {
    const value = parseObject(text);
    if (!value) this.#onDamage(`line ${this.#startLine} is no JSON`);
    return value;
  }

  #drop(): void {
    this.#onDamage(`the JSON that begins in line ${this.#startLine} is cut off`);
    this.#clear();
  }

  #clear(): void {
    this.#pieces = [];
    this.#length = 0;
    this.#depth = 0;
    this.#inString = false;
    this.#escaped = false;
  }
}

const [QUOTE, BACKSLASH, OPEN, CLOSE] = [0x22, 0x5c, 0x7b, 0x7d];

function endsInArray(text: string): boolean {
  const open: string[] = [];
  for (const [part] of outsideStrings(text, '[[\\]{}]')) {
    if (part === '[' || part === '{') open.push(part);
    else if (part === ']' || part === '}') open.pop();
  }
  return open.at(-1) === '[';
}

/** An object, or undefined if the text is none. */
export function parseObject(text: string): Fields | undefined {
  const value = parse(text) ?? (/NaN|Infinity/.test(text) ? parse(withoutNaN(text)) : undefined);
  return isRecord(value) && !Array.isArray(value) ? value : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Python writes numbers that JSON does not have. */
const withoutNaN = (text: string): string => replaceOutsideStrings(text, '-?\\b(?:NaN|Infinity)\\b', () => 'null');

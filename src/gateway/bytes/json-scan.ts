import { isUtf8 } from 'node:buffer';
import { requestLimits } from '../../limits.ts';
import { CopiedText, isEscaped } from './copied-text.ts';

/** The codes that `JsonScan.scan` returns in place of an end. */
export const NOT_JSON = -1;
export const TOO_DEEP = -2;
export const TOO_MANY = -3;
export const TOO_SLOW = -4;

/** The codes that `JsonScan.member` returns in place of a value. */
export const MISSING = -1;
export const DUPLICATE = -2;

/** How much of a request is read, and for how long. */
export interface ScanBudget {
  readonly jsonValues: number;
  readonly scanMs: number;
}

/** The clock is read once per this many values. */
const VALUES_PER_CLOCK = 8192;
/** More values than a body can have. A small integer, because engines count down from infinity with a new object for each number. */
const UNLIMITED = 2 ** 31 - 1;

/** Names are compared byte by byte, each with each, if they are short and few. */
const SHORT_NAME = 64;
const FAR = 64;
/** Elements of a list up to this index are counted off. */
const NEAR_ELEMENT = 8;

/** No edit goes deeper into a message: deeper values are only checked. */
const KEPT_DEPTH = 10;

/** A text is searched in at least this many bytes at once: a search in each small message would take longer. */
const SEARCHED_BYTES = 64 * 1024;

interface Search {
  /** The next place of the text; -1 if there is none before `to`. */
  readonly at: number;
  readonly to: number;
}

const NOT_SEARCHED: Search = { at: -1, to: 0 };

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;

/**
 * Reads one JSON value in a single pass over its bytes, without recursion. It checks the structure, except for the contents
 * of strings, and keeps where each value begins and ends. Values are numbered in their order: the values in an object or a
 * list follow it directly, a key before its value.
 */
export class JsonScan {
  bytes: Buffer = Buffer.alloc(0);
  /** The number of values with places. */
  count = 0;
  /** The number of values that may still be read. */
  #left = UNLIMITED;
  #isLimited = false;
  #deadline = Number.POSITIVE_INFINITY;
  #starts = new Int32Array(256);
  #ends = new Int32Array(256);
  /** The number of the first value after a value and its contents. */
  #nexts = new Int32Array(256);
  /** The values that are open, outermost first; -1 for those whose places are not kept. */
  readonly #open = new Int32Array(requestLimits.jsonDepth);
  readonly #isObject = new Uint8Array(requestLimits.jsonDepth);
  /** The elements of lists and objects that were read: most are read more than once. */
  readonly #elements = new Map<number, readonly number[]>();
  readonly #members = new Map<number, readonly Member[]>();
  /** The texts that were searched in this body. */
  readonly #searches = new Map<string, Search>();
  /** From here to its end the body is valid UTF-8. */
  #validFrom = Number.POSITIVE_INFINITY;
  #isChecked = false;

  /** Starts a request. All its scans share this budget. */
  begin({ jsonValues, scanMs }: ScanBudget): void {
    this.#left = jsonValues;
    this.#isLimited = true;
    this.#deadline = performance.now() + scanMs;
    this.#searches.clear();
    this.#validFrom = Number.POSITIVE_INFINITY;
    this.#isChecked = false;
  }

  /** The number of values that may still be read. */
  get left(): number {
    return this.#left;
  }

  /** Reads the value that begins at `at`, or after white space there. Returns its end, or one of the codes above. */
  scan(bytes: Buffer, at: number, outerDepth = 0): number {
    this.bytes = bytes;
    this.count = 0;
    if (!this.#isLimited) this.#left = UNLIMITED;
    // Clearing an empty map would create a new one.
    if (this.#elements.size > 0) this.#elements.clear();
    if (this.#members.size > 0) this.#members.clear();
    // Between two values of a request, the messages before are parsed and hashed, which takes most of the time.
    if (performance.now() > this.#deadline) return TOO_SLOW;
    const [open, isObject] = [this.#open, this.#isObject];
    let depth = 0;
    let i = at;
    for (;;) {
      if (--this.#left < 0) return TOO_MANY;
      if (this.#left % VALUES_PER_CLOCK === 0 && performance.now() > this.#deadline) return TOO_SLOW;
      i = skipSpace(bytes, i);
      const first = bytes[i] as number;
      if (first === OPEN_OBJECT || first === OPEN_LIST) {
        if (depth + outerDepth >= requestLimits.jsonDepth) return TOO_DEEP;
        open[depth] = depth < KEPT_DEPTH ? this.#add(i) : -1;
        isObject[depth] = first === OPEN_OBJECT ? 1 : 0;
        depth += 1;
        i = skipSpace(bytes, i + 1);
        const isEmpty = bytes[i] === (first === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_LIST);
        if (!isEmpty) {
          if (first === OPEN_OBJECT) i = this.#key(i, depth);
          if (i < 0) return NOT_JSON;
          continue;
        }
      } else {
        const end = scalarEnd(bytes, i);
        if (end < 0) return NOT_JSON;
        if (depth < KEPT_DEPTH) this.#close(this.#add(i), end);
        i = end;
      }
      // After a value, or before the closing bracket of an empty one.
      for (;;) {
        if (depth === 0) return i;
        i = skipSpace(bytes, i);
        const inObject = isObject[depth - 1] === 1;
        const next = bytes[i];
        if (next === COMMA) {
          i = inObject ? this.#key(skipSpace(bytes, i + 1), depth) : i + 1;
          if (i < 0) return NOT_JSON;
          break;
        }
        if (next !== (inObject ? CLOSE_OBJECT : CLOSE_LIST)) return NOT_JSON;
        i += 1;
        depth -= 1;
        const value = open[depth] as number;
        if (value >= 0) this.#close(value, i);
      }
    }
  }

  start(value: number): number {
    return this.#starts[value] as number;
  }

  /** The position after its last byte. */
  end(value: number): number {
    return this.#ends[value] as number;
  }

  isObject(value: number): boolean {
    return this.bytes[this.start(value)] === OPEN_OBJECT;
  }

  isList(value: number): boolean {
    return this.bytes[this.start(value)] === OPEN_LIST;
  }

  /** The values in a list. */
  elements(list: number): readonly number[] {
    const known = this.#elements.get(list);
    if (known) return known;
    const end = this.#nexts[list] as number;
    const elements: number[] = [];
    for (let value = list + 1; value < end; value = this.#nexts[value] as number) elements.push(value);
    this.#elements.set(list, elements);
    return elements;
  }

  /** A value in a list, or MISSING. The first ones are found without a list of all. */
  element(list: number, index: number): number {
    if (index > NEAR_ELEMENT) return this.elements(list)[index] ?? MISSING;
    const end = this.#nexts[list] as number;
    let value = list + 1;
    for (let i = 0; i < index && value < end; i++) value = this.#nexts[value] as number;
    return value < end ? value : MISSING;
  }

  /** Keys and values of an object, by their numbers. */
  members(object: number): readonly Member[] {
    const known = this.#members.get(object);
    if (known) return known;
    const end = this.#nexts[object] as number;
    const members: Member[] = [];
    for (let key = object + 1; key < end; ) {
      const value = this.#nexts[key] as number;
      members.push({ key, name: this.#name(key), value });
      key = this.#nexts[value] as number;
    }
    this.#members.set(object, members);
    return members;
  }

  /** The value of a member; MISSING if there is none, DUPLICATE if the object has any name twice: readers may use either. */
  member(object: number, name: string): number {
    if (!this.isObject(object)) return MISSING;
    const end = this.#nexts[object] as number;
    let found = MISSING;
    for (let key = object + 1; key < end; key = this.#nexts[key + 1] as number) {
      if (key - object > FAR || this.#isUnusual(key)) return memberIn(this.members(object), name);
      for (let other = object + 1; other < key; other = this.#nexts[other + 1] as number)
        if (this.#isSameText(other, key)) return DUPLICATE;
      if (this.#isName(key, name)) found = key + 1;
    }
    return found;
  }

  /** Whether a key is long, or written with escapes: then its bytes do not show whether it is the same as another one. */
  #isUnusual(key: number): boolean {
    const [start, end] = [this.start(key), this.end(key)];
    if (end - start > SHORT_NAME) return true;
    for (let i = start; i < end; i++) if (this.bytes[i] === BACKSLASH) return true;
    return false;
  }

  #isSameText(one: number, other: number): boolean {
    const [a, b] = [this.start(one), this.start(other)];
    const length = this.end(one) - a;
    if (this.end(other) - b !== length) return false;
    for (let i = 0; i < length; i++) if (this.bytes[a + i] !== this.bytes[b + i]) return false;
    return true;
  }

  #isName(key: number, name: string): boolean {
    const start = this.start(key) + 1;
    if (this.end(key) - 1 - start !== name.length) return false;
    for (let i = 0; i < name.length; i++) if (this.bytes[start + i] !== name.charCodeAt(i)) return false;
    return true;
  }

  #name(key: number): string {
    const text = copied.slice(this.bytes, this.start(key), this.end(key));
    return text.includes('\\') ? JSON.parse(text) : text.slice(1, -1);
  }

  /** Whether a key, or another string, is written exactly like this, quotes included. Much faster than a search in all bytes. */
  hasString(written: Buffer): boolean {
    for (let value = 0; value < this.count; value++) {
      const [start, end] = [this.start(value), this.end(value)];
      if (end - start === written.length && this.bytes.compare(written, 0, written.length, start, end) === 0)
        return true;
    }
    return false;
  }

  /** Whether the bytes of the whole value hold a text. A body is read from front to back, so each part is searched once. */
  includes(text: string): boolean {
    const [start, end] = [this.start(0), this.end(0)];
    const known = this.#searches.get(text) ?? NOT_SEARCHED;
    if (known.at >= start) return known.at < end;
    if (known.at < 0 && known.to >= end) return false;
    const to = Math.max(end, start + SEARCHED_BYTES);
    const found = this.bytes.subarray(start, to).indexOf(text);
    this.#searches.set(text, { at: found < 0 ? -1 : start + found, to: to - text.length + 1 });
    return found >= 0 && start + found < end;
  }

  /** Whether a value is valid UTF-8. The rest of the body is checked once. */
  isUtf8(value: number): boolean {
    const start = this.start(value);
    if (start >= this.#validFrom) return true;
    if (!this.#isChecked) {
      this.#isChecked = true;
      if (isUtf8(this.bytes.subarray(start))) this.#validFrom = start;
    }
    return start >= this.#validFrom || isUtf8(this.bytes.subarray(start, this.end(value)));
  }

  /** The parsed value; undefined if it is not JSON. */
  parse(value: number): unknown {
    return parseJson(copied.slice(this.bytes, this.start(value), this.end(value)));
  }

  /** A value as written. */
  text(value: number): string {
    return this.bytes.toString('utf8', this.start(value), this.end(value));
  }

  /** Reads a key and its colon. Returns the start of its value. */
  #key(at: number, depth: number): number {
    if (this.bytes[at] !== QUOTE) return NOT_JSON;
    const end = stringEnd(this.bytes, at);
    if (end < 0) return NOT_JSON;
    if (depth < KEPT_DEPTH) this.#close(this.#add(at), end);
    const colon = skipSpace(this.bytes, end);
    return this.bytes[colon] === COLON ? colon + 1 : NOT_JSON;
  }

  #add(start: number): number {
    const value = this.count++;
    if (value === this.#starts.length) this.#grow();
    this.#starts[value] = start;
    return value;
  }

  #close(value: number, end: number): void {
    this.#ends[value] = end;
    this.#nexts[value] = this.count;
  }

  #grow(): void {
    const larger = (list: Int32Array): Int32Array<ArrayBuffer> => {
      const grown = new Int32Array(list.length * 2);
      grown.set(list);
      return grown;
    };
    [this.#starts, this.#ends, this.#nexts] = [larger(this.#starts), larger(this.#ends), larger(this.#nexts)];
  }
}

/** A key of an object and its value, by their numbers. */
export interface Member {
  readonly key: number;
  readonly name: string;
  readonly value: number;
}

function memberIn(members: readonly Member[], name: string): number {
  if (new Set(members.map((member) => member.name)).size < members.length) return DUPLICATE;
  return members.find((member) => member.name === name)?.value ?? MISSING;
}

/** The next byte that is not white space. */
export function skipSpace(bytes: Uint8Array, at: number): number {
  let i = at;
  for (;;) {
    const byte = bytes[i] as number;
    if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) return i;
    i += 1;
  }
}

/** A native search for a quote is slow to start, so the first bytes of a string are checked one by one. */
const NEAR = 48;

/** One copy for all scans: they work on one body at a time. */
const copied = new CopiedText();

/** The end of the string whose quote is at `at`, or NOT_JSON. Its contents are not checked: `JSON.parse` does that. */
export function stringEnd(bytes: Buffer, at: number): number {
  let i = at + 1;
  for (const near = Math.min(i + NEAR, bytes.length); i < near; i++) {
    const byte = bytes[i];
    if (byte === QUOTE) return i + 1;
    if (byte === BACKSLASH) i += 1;
  }
  const first = bytes.indexOf(QUOTE, i);
  const quote = first >= 0 && isEscaped(bytes, first, i) ? copied.closingQuote(bytes, i) : first;
  return quote < 0 ? NOT_JSON : quote + 1;
}

function scalarEnd(bytes: Buffer, at: number): number {
  const first = bytes[at];
  if (first === QUOTE) return stringEnd(bytes, at);
  if (first === 0x74) return wordEnd(bytes, at, 'true');
  if (first === 0x66) return wordEnd(bytes, at, 'false');
  if (first === 0x6e) return wordEnd(bytes, at, 'null');
  return numberEnd(bytes, at);
}

function wordEnd(bytes: Uint8Array, at: number, word: string): number {
  for (let i = 1; i < word.length; i++) if (bytes[at + i] !== word.charCodeAt(i)) return NOT_JSON;
  return at + word.length;
}

function numberEnd(bytes: Uint8Array, at: number): number {
  let i = bytes[at] === 0x2d ? at + 1 : at;
  // No number begins with two zeros.
  i = bytes[i] === 0x30 ? i + 1 : digitsEnd(bytes, i);
  if (i > 0 && bytes[i] === 0x2e) i = digitsEnd(bytes, i + 1);
  if (i > 0 && ((bytes[i] as number) | 0x20) === 0x65) {
    const sign = bytes[i + 1];
    i = digitsEnd(bytes, sign === 0x2b || sign === 0x2d ? i + 2 : i + 1);
  }
  return i;
}

/** The position after one digit or more. */
function digitsEnd(bytes: Uint8Array, at: number): number {
  let i = at;
  while (isDigit(bytes[i])) i += 1;
  return i === at ? NOT_JSON : i;
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39;

/** The value of a JSON text; undefined if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

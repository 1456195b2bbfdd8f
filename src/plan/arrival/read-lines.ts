import { encodeUtf8, utf8Bytes } from '../../tokens/utf8.ts';

/** A longer prefix is not a line number. The length fits into a byte. */
const LONGEST_PREFIX = 40;
/** A longer number is not a line number. */
const MOST_DIGITS = 9;

/**
 * The lines of a text. A line number at the beginning of a line, with its padding and separator, is its prefix. Line numbers rise:
 * a number that is not above that of the line above it is text, unless it is 1 and begins a new list. So is a time of day.
 */
export interface ReadLines {
  readonly count: number;
  /**
   * For each line its start, a hash of it without its prefix, and a hash of it and the next two; then the start of a further line. Equal
   * hashes are only a hint that lines are equal. A hash is 0 only if there are no three lines, or if these are too short to be searched
   * for.
   */
  readonly lines: Int32Array;
  /** For each line its number and the length of its prefix; 0 and 0 if there is none. Undefined if no line has one. */
  readonly numbers: Int32Array | undefined;
  /** Lines that begin with `[`. */
  readonly inBrackets: readonly number[];
}

/** The fields of a line. */
export const LINE_FIELDS = 3;
/** Three shorter lines repeat everywhere. */
const LEAST_CHARS = 40;

/** Hold the text that is being read, and its lines. Longer texts get their own. */
const sharedWords = new DataView(utf8Bytes.buffer);
const sharedLines = new Int32Array(1 << 14);
const sharedNumbers = new Int32Array(1 << 14);
/** After a text there are a newline and blanks, so that four bytes can be read anywhere. */
const PADDING = 4;

/**
 * Reads a text once, in UTF-8 and mostly four bytes at a time: its characters would take several times as long. The next text overwrites the
 * lines.
 */
export function readLines(text: string): ReadLines {
  const { bytes, words, written } = bytesOf(text);
  const end = text.endsWith('\n') ? written - 1 : written;
  bytes[end] = NEWLINE;
  bytes.fill(BLANK, end + 1, end + PADDING);
  let lines = sharedLines;
  let numbers = sharedNumbers;
  const inBrackets: number[] = [];
  let isNumbered = false;
  let above = -1;
  let count = 0;
  let at = 0;
  let unit = 0;
  // Hashes and lengths of the two lines above.
  let [hashA, hashB, charsA, charsB] = [0, 0, 0, 0];
  for (; at <= end; count++, at++, unit++) {
    const line = count * LINE_FIELDS;
    if (line + LINE_FIELDS >= lines.length) [lines, numbers] = [grown(lines), grown(numbers)];
    lines[line] = unit;
    const first = bytes[at] as number;
    const candidate = first <= NINE && mayBeNumber(bytes[endOfBlanks(words, at)]) ? prefixLength(bytes, at) : 0;
    const number = candidate > 0 ? numberIn(bytes, at) : -1;
    // Depends only on the line above: a reference is resolved from the top down.
    const prefix = number > above || (number === 1 && above > 1) ? candidate : 0;
    above = number;
    if (prefix > 0) {
      const units = bytes[at + prefix - 1] === ARROW_END ? prefix - 2 : prefix;
      if (!isNumbered) numbers.fill(0, 0, 2 * count);
      isNumbered = true;
      numbers[2 * count] = number;
      numbers[2 * count + 1] = units;
      at += prefix;
      unit += units;
    } else if (isNumbered) {
      numbers[2 * count] = 0;
      numbers[2 * count + 1] = 0;
    }
    if (first === OPEN_BRACKET) inBrackets.push(count);
    const [start, body] = [unit, at];
    let seen = 0;
    let hash = 0x811c9dc5;
    let word = words.getInt32(at, true);
    let newlines = newlinesIn(word);
    for (; newlines === 0; newlines = newlinesIn(word)) {
      hash = mix(hash ^ word);
      seen |= word;
      at += 4;
      word = words.getInt32(at, true);
    }
    // Uses only the bytes before the newline, so that equal lines have equal hashes.
    const rest = lowestBit(newlines) >> 3;
    const last = word & ~(-1 << (8 * rest));
    hash = mix(hash ^ last);
    at += rest;
    unit += ((seen | last) & NOT_ASCII) === 0 ? at - body : unitsBetween(words, body, at);
    hash ||= 1;
    const chars = unit - start;
    lines[line + 1] = hash;
    lines[line + 2] = 0;
    if (count >= 2 && charsA + charsB + chars >= LEAST_CHARS)
      lines[line + 2 - 2 * LINE_FIELDS] = hashOfThree(hashA, hashB, hash);
    hashA = hashB;
    hashB = hash;
    charsA = charsB;
    charsB = chars;
  }
  lines[count * LINE_FIELDS] = unit;
  return { count, lines, numbers: isNumbered ? numbers : undefined, inBrackets };
}

interface TextBytes {
  readonly bytes: Uint8Array;
  /** The same bytes, to be read four at a time. */
  readonly words: DataView;
  readonly written: number;
}

function bytesOf(text: string): TextBytes {
  const written = encodeUtf8(text);
  if (written !== undefined && written + PADDING <= utf8Bytes.length)
    return { bytes: utf8Bytes, words: sharedWords, written };
  const bytes = new TextEncoder().encode(text + ' '.repeat(PADDING));
  const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return { bytes, words, written: bytes.length - PADDING };
}

function grown(array: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(array.length * 2);
  larger.set(array);
  return larger;
}

/** A bit for each byte that is a newline. That of the first one is exact; above it there may be others. */
function newlinesIn(word: number): number {
  const zeroAtNewline = word ^ 0x0a0a0a0a;
  return (zeroAtNewline - 0x01010101) & ~zeroAtNewline & NOT_ASCII;
}

const NOT_ASCII = 0x80808080 | 0;

function mix(hash: number): number {
  const product = Math.imul(hash, 0x01000193);
  return product ^ (product >>> 15);
}

const hashOfThree = (a: number, b: number, c: number): number =>
  Math.imul(Math.imul(a, 0x9e3779b1) ^ b, 0x85ebca6b) ^ c || 1;

/**
 * The UTF-16 units that begin in the first bytes of a word: one for each byte except those inside a character, and one more for the
 * first of four. A lone surrogate is encoded as one character of one unit.
 */
function unitsIn(word: number, bytes: number): number {
  const inside = word & ~(word << 1) & NOT_ASCII;
  const firstOfFour = word & (word << 1) & (word << 2) & (word << 3) & NOT_ASCII;
  return bytes - bitsIn(inside) + bitsIn(firstOfFour);
}

function unitsBetween(words: DataView, from: number, to: number): number {
  let units = 0;
  let at = from;
  for (; at + 4 <= to; at += 4) units += unitsIn(words.getInt32(at, true), 4);
  return units + unitsIn(words.getInt32(at, true) & ~(-1 << (8 * (to - at))), to - at);
}

/** The number of bytes with their highest bit set, if no other bit is set. */
const bitsIn = (word: number): number => Math.imul(word >>> 7, 0x01010101) >>> 24;

/** The first byte that is neither a blank nor a tab. Code is indented, so blanks are read four at a time. */
function endOfBlanks(words: DataView, start: number): number {
  let at = start;
  let others = words.getInt32(at, true) ^ FOUR_BLANKS;
  for (; others === 0; others = words.getInt32(at, true) ^ FOUR_BLANKS) at += 4;
  return at + (lowestBit(others) >> 3);
}

const FOUR_BLANKS = 0x20202020;
const mayBeNumber = (byte: number | undefined): boolean => isDigit(byte) || byte === TAB;
const lowestBit = (word: number): number => 31 - Math.clz32(word & -word);

/** `^[ \t]*\d+(→|\t|: ?|\| ?)`, where the number has no leading zero: one with zeros could not be restored. */
function prefixLength(bytes: Uint8Array, start: number): number {
  const most = start + LONGEST_PREFIX;
  let at = start;
  while (at < most && isBlank(bytes[at])) at += 1;
  const digits = at;
  while (at < most && isDigit(bytes[at])) at += 1;
  const length = at - digits;
  if (length === 0 || length > MOST_DIGITS || at >= most) return 0;
  if (length > 1 && bytes[digits] === ZERO) return 0;
  if (length <= 2 && bytes[at] === COLON && isTime(bytes, at + 1)) return 0;
  const separator = separatorLength(bytes, at);
  return separator === 0 ? 0 : at + separator - start;
}

/** Whether minutes begin here: `12:30 lunch`, `12:30:07`, `12:30-13:00`, `12:30.5`, `12:30pm`; not `12:30. text`. */
function isTime(bytes: Uint8Array, at: number): boolean {
  if (!isDigit(bytes[at]) || (bytes[at] as number) > FIVE || !isDigit(bytes[at + 1])) return false;
  const [next = BLANK, second] = [bytes[at + 2], bytes[at + 3]];
  if (next === DOT) return isDigit(second);
  const letter = next | SMALL;
  if (letter === SMALL_A || letter === SMALL_P) return second !== undefined && (second | SMALL) === SMALL_M;
  return next <= BLANK || next === COLON || next === DASH || next >= 0x80;
}

function separatorLength(bytes: Uint8Array, at: number): number {
  const byte = bytes[at];
  if (byte === TAB) return 1;
  if (byte === COLON || byte === BAR) return bytes[at + 1] === BLANK ? 2 : 1;
  return byte === 0xe2 && bytes[at + 1] === 0x86 && bytes[at + 2] === ARROW_END ? 3 : 0;
}

/** The number of a prefix. */
function numberIn(bytes: Uint8Array, start: number): number {
  let at = start;
  while (isBlank(bytes[at])) at += 1;
  let number = 0;
  for (; isDigit(bytes[at]); at++) number = number * 10 + (bytes[at] as number) - ZERO;
  return number;
}

const [TAB, NEWLINE, BLANK, ZERO, NINE, COLON, OPEN_BRACKET, BAR] = [0x09, 0x0a, 0x20, 0x30, 0x39, 0x3a, 0x5b, 0x7c];
const [DASH, DOT, FIVE, SMALL, SMALL_A, SMALL_M, SMALL_P] = [0x2d, 0x2e, 0x35, 0x20, 0x61, 0x6d, 0x70];
/** `→` is three bytes. */
const ARROW_END = 0x92;
const isBlank = (byte: number | undefined): boolean => byte === BLANK || byte === TAB;
const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte <= NINE;

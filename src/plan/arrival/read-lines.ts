/** A longer prefix is no line number. The length fits into a byte. */
const LONGEST_PREFIX = 40;
/** A longer number is no line number. */
const MOST_DIGITS = 9;

/**
 * The lines of a text. A line number at the beginning of a line, with its padding and separator, is its prefix. Line numbers rise:
 * a number that is not above that of the line above it is text, unless it is 1 and begins a new list. So is a time of day.
 */
export interface ReadLines {
  readonly count: number;
  /**
   * For each line where it begins, and a hash of it behind its prefix; then where a further line would begin. A hash is never
   * 0. Equal hashes are only a hint that lines are equal.
   */
  readonly lines: Int32Array;
  /** For each line its number and the length of its prefix; 0 and 0 where there is none. Undefined if no line has one. */
  readonly numbers: Int32Array | undefined;
  /** Lines that begin with `[`. */
  readonly inBrackets: readonly number[];
}

const encoder = new TextEncoder();
/** Hold the text that is being read, and its lines. Longer texts get their own. */
const sharedBytes = new Uint8Array(1 << 18);
const sharedLines = new Int32Array(1 << 14);
const sharedNumbers = new Int32Array(1 << 14);
/** Behind a text there are a newline and blanks, so that four bytes can be read anywhere. */
const PADDING = 4;

/** Reads a text once, in UTF-8 and mostly four bytes at a time: its characters would take several times as long. */
export function readLines(text: string): ReadLines {
  const needed = text.length * 3 + PADDING;
  const bytes = needed <= sharedBytes.length ? sharedBytes : new Uint8Array(needed);
  const words = new DataView(bytes.buffer);
  const { written } = encoder.encodeInto(text, bytes);
  const end = text.endsWith('\n') ? written - 1 : written;
  bytes[end] = NEWLINE;
  bytes.fill(BLANK, end + 1, end + PADDING);
  let lines = sharedLines;
  let numbers = sharedNumbers;
  const inBrackets: number[] = [];
  let isNumbered = false;
  let above = -1;
  let line = 0;
  let at = 0;
  let unit = 0;
  for (; at <= end; line += 2, at++, unit++) {
    if (line + 2 >= lines.length) [lines, numbers] = [grown(lines), grown(numbers)];
    lines[line] = unit;
    const first = bytes[at] as number;
    const candidate = first <= NINE ? prefixLength(bytes, at) : 0;
    const number = candidate > 0 ? numberIn(bytes, at) : -1;
    // By the line above alone: a reference is resolved from the top down.
    const prefix = number > above || (number === 1 && above > 1) ? candidate : 0;
    above = number;
    if (prefix > 0) {
      const units = bytes[at + prefix - 1] === ARROW_END ? prefix - 2 : prefix;
      if (!isNumbered) numbers.fill(0, 0, line);
      isNumbered = true;
      numbers[line] = number;
      numbers[line + 1] = units;
      at += prefix;
      unit += units;
    } else if (isNumbered) {
      numbers[line] = 0;
      numbers[line + 1] = 0;
    }
    if (first === OPEN_BRACKET) inBrackets.push(line / 2);
    let hash = 0x811c9dc5;
    // Each step depends on the bytes before the newline alone, so that equal lines have equal hashes.
    for (;;) {
      const word = words.getInt32(at, true);
      const newlines = newlinesIn(word);
      const others = word & NOT_ASCII;
      if ((newlines | others) === 0) {
        hash = mix(hash ^ word);
        at += 4;
        unit += 4;
        continue;
      }
      const before = ((newlines & -newlines) - 1) | 0;
      if (newlines !== 0 && (others & before) === 0) {
        const rest = (31 - Math.clz32(newlines & -newlines)) >> 3;
        hash = mix(hash ^ (word & (before >>> 7)));
        at += rest;
        unit += rest;
        break;
      }
      const byte = bytes[at] as number;
      hash = mix(hash ^ byte);
      unit += byte < 0x80 ? 1 : unitsOf(byte);
      at += 1;
    }
    lines[line + 1] = hash || 1;
  }
  lines[line] = unit;
  return {
    count: line / 2,
    lines: lines.slice(0, line + 1),
    numbers: isNumbered ? numbers.slice(0, line) : undefined,
    inBrackets,
  };
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

/** The UTF-16 units of a character, counted at its first byte. A lone surrogate is encoded as one character of one unit. */
function unitsOf(byte: number): number {
  if (byte < 0xc0) return 0;
  return byte < 0xf0 ? 1 : 2;
}

/** `^[ \t]*\d+(→|\t|: ?|\| ?)`, where the number has no leading zero: one with zeros could not be given back. */
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

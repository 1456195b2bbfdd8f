/** A longer prefix is no line number. The length fits into a byte. */
const LONGEST_PREFIX = 40;
/** A longer number is no line number. */
const MOST_DIGITS = 9;

/** The lines of a text. A line number at the beginning of a line, with its padding and separator, is its prefix. */
export interface ReadLines {
  /** Where each line begins, and where a further one would. */
  readonly starts: Int32Array;
  /** The length of each prefix; 0 where there is none. */
  readonly prefixes: Uint8Array;
  readonly numbers: Int32Array;
  /** A hash of each line behind its prefix. Never 0. Equal hashes are only a hint that lines are equal. */
  readonly hashes: Int32Array;
}

const encoder = new TextEncoder();
/** Hold the text that is being read, and its lines. Longer texts get their own. */
const sharedBytes = new Uint8Array(1 << 18);
const sharedLines = emptyLines(1 << 13);

/** Reads a text once, in UTF-8 and mostly four bytes at a time: its characters would take several times as long. */
export function readLines(text: string): ReadLines {
  const bytes = text.length * 3 <= sharedBytes.length ? sharedBytes : new Uint8Array(text.length * 3);
  const words = new DataView(bytes.buffer);
  const { written } = encoder.encodeInto(text, bytes);
  const end = text.endsWith('\n') ? written - 1 : written;
  let lines = sharedLines;
  let line = 0;
  let at = 0;
  let unit = 0;
  for (; at <= end; line++, at++, unit++) {
    if (line + 1 === lines.starts.length) lines = grown(lines);
    const prefix = prefixLength(bytes, at, end);
    const units = prefix > 0 && bytes[at + prefix - 1] === ARROW_END ? prefix - 2 : prefix;
    lines.starts[line] = unit;
    lines.prefixes[line] = units;
    lines.numbers[line] = prefix > 0 ? numberIn(bytes, at) : 0;
    at += prefix;
    unit += units;
    let hash = 0x811c9dc5;
    for (; at + 4 <= end; at += 4, unit += 4) {
      const word = words.getInt32(at, true);
      if (hasNewlineOrNonAscii(word)) break;
      hash = mix(hash ^ word);
    }
    for (; at < end; at++) {
      const byte = bytes[at] as number;
      if (byte === NEWLINE) break;
      hash = mix(hash ^ byte);
      unit += byte < 0x80 ? 1 : unitsOf(byte);
    }
    lines.hashes[line] = hash || 1;
  }
  lines.starts[line] = unit;
  return firstLines(lines, line);
}

function emptyLines(count: number): ReadLines {
  return {
    starts: new Int32Array(count),
    prefixes: new Uint8Array(count),
    numbers: new Int32Array(count),
    hashes: new Int32Array(count),
  };
}

function grown(lines: ReadLines): ReadLines {
  const larger = emptyLines(lines.starts.length * 2);
  larger.starts.set(lines.starts);
  larger.prefixes.set(lines.prefixes);
  larger.numbers.set(lines.numbers);
  larger.hashes.set(lines.hashes);
  return larger;
}

function firstLines({ starts, prefixes, numbers, hashes }: ReadLines, count: number): ReadLines {
  return {
    starts: starts.slice(0, count + 1),
    prefixes: prefixes.slice(0, count),
    numbers: numbers.slice(0, count),
    hashes: hashes.slice(0, count),
  };
}

/** Whether one of the four bytes is a newline or above 127. */
function hasNewlineOrNonAscii(word: number): boolean {
  const zeroAtNewline = word ^ 0x0a0a0a0a;
  return ((((zeroAtNewline - 0x01010101) & ~zeroAtNewline) | word) & 0x80808080) !== 0;
}

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
function prefixLength(bytes: Uint8Array, start: number, end: number): number {
  const most = Math.min(end, start + LONGEST_PREFIX);
  let at = start;
  while (at < most && isBlank(bytes[at])) at += 1;
  const digits = at;
  while (at < most && isDigit(bytes[at])) at += 1;
  const length = at - digits;
  if (length === 0 || length > MOST_DIGITS || at >= most) return 0;
  if (length > 1 && bytes[digits] === ZERO) return 0;
  const separator = separatorLength(bytes, at, end);
  return separator === 0 ? 0 : at + separator - start;
}

function separatorLength(bytes: Uint8Array, at: number, end: number): number {
  const byte = bytes[at];
  if (byte === TAB) return 1;
  if (byte === COLON || byte === BAR) return at + 1 < end && bytes[at + 1] === BLANK ? 2 : 1;
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

const [TAB, NEWLINE, BLANK, ZERO, NINE, COLON, BAR] = [0x09, 0x0a, 0x20, 0x30, 0x39, 0x3a, 0x7c];
/** `→` is three bytes. */
const ARROW_END = 0x92;
const isBlank = (byte: number | undefined): boolean => byte === BLANK || byte === TAB;
const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte <= NINE;

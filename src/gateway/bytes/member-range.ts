import { type JsonScan, type Member, skipSpace } from './json-scan.ts';

/** A range of bytes, counted from the start of the scanned value. */
export interface Range {
  readonly start: number;
  /** The position after the last byte. */
  readonly end: number;
}

/** The place of a value. */
export function valueRange(scan: JsonScan, value: number): Range {
  const origin = scan.start(0);
  return { start: scan.start(value) - origin, end: scan.end(value) - origin };
}

const COMMA = 0x2c;

/** A member of an object with the comma that is removed with it. */
export function memberRange(scan: JsonScan, { key, value }: Member): Range {
  const { bytes } = scan;
  const origin = scan.start(0);
  const { start } = valueRange(scan, key);
  const { end } = valueRange(scan, value);
  const before = previousByte(bytes, origin + start) - origin;
  if (bytes[origin + before] === COMMA) return { start: before, end };
  const after = skipSpace(bytes, origin + end) - origin;
  return { start, end: bytes[origin + after] === COMMA ? after + 1 : end };
}

const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

function previousByte(bytes: Uint8Array, at: number): number {
  let i = at - 1;
  while (isSpace(bytes[i])) i -= 1;
  return i;
}

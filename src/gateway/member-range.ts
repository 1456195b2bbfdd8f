import type { JsonScan, Member } from './json-scan.ts';

/** Some bytes; places count from the start of what was scanned. */
export interface Range {
  readonly start: number;
  /** Behind the last byte. */
  readonly end: number;
}

const COMMA = 0x2c;

/** A member of an object with the comma that goes with it when it is taken out. */
export function memberRange(scan: JsonScan, { key, value }: Member): Range {
  const { bytes } = scan;
  const origin = scan.start(0);
  const before = previousByte(bytes, scan.start(key));
  if (bytes[before] === COMMA) return { start: before - origin, end: scan.end(value) - origin };
  const after = nextByte(bytes, scan.end(value));
  return { start: scan.start(key) - origin, end: (bytes[after] === COMMA ? after + 1 : scan.end(value)) - origin };
}

const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

function previousByte(bytes: Uint8Array, at: number): number {
  let i = at - 1;
  while (isSpace(bytes[i])) i -= 1;
  return i;
}

function nextByte(bytes: Uint8Array, at: number): number {
  let i = at;
  while (isSpace(bytes[i])) i += 1;
  return i;
}

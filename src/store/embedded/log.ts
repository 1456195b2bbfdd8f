import { crc32 } from 'node:zlib';
import type { DiskFile } from './disk.ts';

/** What a record is. The numbers stand on disk. */
export const TEXT = 1;
export const REFERENCE = 2;
export const TURN = 3;
export const DELETION = 4;
/** The store goes on in the next generation. */
export const MOVED = 5;

export interface LogRecord {
  readonly position: number;
  readonly type: number;
  readonly body: Buffer;
  /** Header, body and padding together. */
  readonly bytes: number;
}

/** A stretch of a log that holds no record. */
export interface Gap {
  readonly type: 'gap';
  readonly position: number;
  readonly bytes: number;
}

const MAGIC = 0x31676c50;
export const HEADER = 32;
const ALIGN = 16;

export const recordBytes = (body: number): number => Math.ceil((HEADER + body) / ALIGN) * ALIGN;

/**
 * Writes a record: magic, type, length, checksum of the body, its own position and generation, checksum of all that.
 * A record knows where it stands, so that old bytes in a new place are never taken for one.
 */
export function writeRecord(
  into: Buffer,
  at: number,
  record: { type: number; body: Buffer; position: number; generation: number },
): number {
  const { type, body, position, generation } = record;
  const bytes = recordBytes(body.length);
  into.writeUInt32LE(MAGIC, at);
  into.writeUInt32LE(type, at + 4);
  into.writeUInt32LE(body.length, at + 8);
  into.writeUInt32LE(crc32(body), at + 12);
  into.writeUIntLE(position, at + 16, 6);
  into.writeUInt16LE(0, at + 22);
  into.writeUInt32LE(generation, at + 24);
  into.writeUInt32LE(crc32(into.subarray(at, at + 28)), at + 28);
  body.copy(into, at + HEADER);
  into.fill(0, at + HEADER + body.length, at + bytes);
  return bytes;
}

interface Header {
  readonly type: number;
  readonly length: number;
  readonly checksum: number;
}

function readHeader(bytes: Buffer, at: number, position: number, generation: number): Header | undefined {
  if (at + HEADER > bytes.length || bytes.readUInt32LE(at) !== MAGIC) return undefined;
  if (bytes.readUInt32LE(at + 28) !== crc32(bytes.subarray(at, at + 28))) return undefined;
  if (bytes.readUIntLE(at + 16, 6) !== position || bytes.readUInt32LE(at + 24) !== generation) return undefined;
  return {
    type: bytes.readUInt32LE(at + 4),
    length: bytes.readUInt32LE(at + 8),
    checksum: bytes.readUInt32LE(at + 12),
  };
}

/** Reads the record at a position; undefined if there is none, or it is damaged. `guess` is how long it may be. */
export function readRecord(file: DiskFile, position: number, generation: number, guess: number): LogRecord | undefined {
  let bytes = Buffer.allocUnsafe(Math.max(HEADER, guess));
  let length = file.read(bytes, position);
  const header = readHeader(bytes.subarray(0, length), 0, position, generation);
  if (!header) return undefined;
  const whole = HEADER + header.length;
  if (whole > length) {
    if (position + whole > file.size()) return undefined;
    bytes = Buffer.allocUnsafe(whole);
    length = file.read(bytes, position);
  }
  const body = bytes.subarray(HEADER, whole);
  if (length < whole || crc32(body) !== header.checksum) return undefined;
  return { position, type: header.type, body, bytes: recordBytes(header.length) };
}

const CHUNK = 1 << 20;

/**
 * All records from a position on. What cannot be read is told as a gap, and the search goes on behind it: one damaged
 * record never hides the next. A gap that reaches the end may be a write that was cut off.
 */
export function* scanLog(file: DiskFile, generation: number, from = 0): Generator<LogRecord | Gap> {
  const end = file.size();
  let chunk: Buffer = Buffer.alloc(0);
  let start = from;
  const have = (position: number, bytes: number): boolean => {
    if (position >= start && position + bytes <= start + chunk.length) return true;
    if (position + bytes > end) return false;
    chunk = Buffer.allocUnsafe(Math.min(Math.max(CHUNK, bytes), end - position));
    start = position;
    chunk = chunk.subarray(0, file.read(chunk, position));
    return chunk.length >= bytes;
  };
  let gap = -1;
  for (let position = from; position < end; ) {
    const header = have(position, HEADER) ? readHeader(chunk, position - start, position, generation) : undefined;
    const bytes = header ? recordBytes(header.length) : 0;
    const isWhole = header !== undefined && have(position, HEADER + header.length);
    const body = isWhole
      ? chunk.subarray(position - start + HEADER, position - start + HEADER + header.length)
      : undefined;
    if (header && body && crc32(body) === header.checksum) {
      if (gap >= 0) yield { type: 'gap', position: gap, bytes: position - gap };
      gap = -1;
      yield { position, type: header.type, body: Buffer.from(body), bytes };
      position += bytes;
      continue;
    }
    if (gap < 0) gap = position;
    position += ALIGN;
  }
  if (gap >= 0) yield { type: 'gap', position: gap, bytes: end - gap };
}

export const isGap = (found: LogRecord | Gap): found is Gap => found.type === 'gap';

import { crc32 } from 'node:zlib';
import { checksumInScratch, checksumOf, scratch, scratchWords } from './checksum.ts';
import type { DiskFile } from './disk.ts';

/** Types of records, as they are written to the disk. */
export const TEXT = 1;
export const REFERENCE = 2;
export const TURN = 3;
export const DELETION = 4;
/** The store continues in the next generation. */
export const MOVED = 5;
export const NOTE = 6;
/** The times of a session: its start and its last use. */
export const USE = 7;
/** Removes all records without a session before a position. */
export const EXPIRY = 8;

export interface LogRecord {
  readonly position: number;
  readonly type: number;
  readonly body: Buffer;
  /** Header, body and padding together. */
  readonly bytes: number;
  /** When it was written, in ms since the epoch, to the second. 0: by a version that recorded no times. */
  readonly time: number;
}

/** A record in reused memory: the next read overwrites it. */
export interface Glimpse {
  readonly position: number;
  readonly type: number;
  /** The buffer, which may continue after the body. */
  readonly body: Buffer;
  /** The length of the body. */
  readonly length: number;
}

/** A part of a log that holds no record. */
export interface Gap {
  readonly type: 'gap';
  readonly position: number;
  readonly bytes: number;
  /** The log ends inside a record. This happens when a process is killed while it writes. */
  readonly isCutOff: boolean;
}

/** The content of a record, before it has a position. */
export interface Body {
  readonly length: number;
  fill(into: Buffer, at: number): void;
}

export const FORMAT = 6;
/** The oldest readable format: no notes (added in 5) and no times. It is raised when the store is opened for writing. */
export const OLDEST_FORMAT = 4;

export const isKnownFormat = (format: number): boolean => format >= OLDEST_FORMAT && format <= FORMAT;

/** A log begins with `PLMP`, the format, its id and a checksum. So no record is at position 0. */
export const START = 16;
const START_MAGIC = 0x504d4c50;
const MAGIC = 0x31676c50;
const HEADER = 32;
/** Records begin at multiples of this. */
const ALIGN = 16;

export const aligned = (position: number): number => Math.ceil(position / ALIGN) * ALIGN;

export function writeStart(id: number): Buffer {
  const bytes = Buffer.alloc(START);
  bytes.writeUInt32LE(START_MAGIC, 0);
  bytes.writeUInt32LE(FORMAT, 4);
  bytes.writeUInt32LE(id, 8);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 12)), 12);
  return bytes;
}

/** Undefined if the start is damaged, or the file is no log. */
export function readStart(file: DiskFile): { readonly format: number; readonly id: number } | undefined {
  const bytes = Buffer.alloc(START);
  if (file.read(bytes, 0) < START || bytes.readUInt32LE(0) !== START_MAGIC) return undefined;
  if (bytes.readUInt32LE(12) !== crc32(bytes.subarray(0, 12))) return undefined;
  return { format: bytes.readUInt32LE(4), id: bytes.readUInt32LE(8) };
}

/** Header, body and padding of a record together, by the length of its body. */
export const recordBytes = (length: number): number => aligned(wholeOf(length));

/** Ends every record, because a text may end in zeros. So zeros at the end of a log never belong to a record. */
const END_MARK = 1;
const wholeOf = (length: number): number => HEADER + length + 1;

/** The size of a log without the zeros at its end, which are written ahead of later records. */
export function usedSize(file: DiskFile): number {
  for (let to = file.size(); to > 0; to -= Math.min(to, chunk.length)) {
    const from = Math.max(0, to - chunk.length);
    const length = file.read(chunk, from, to - from);
    if (chunk.compare(ZEROS, 0, length, 0, length) === 0) continue;
    let last = length - 1;
    while (chunk[last] === 0) last--;
    return from + last + 1;
  }
  return 0;
}

/** Written ahead of small records. */
export const ZEROS = Buffer.alloc(1 << 17);

/** The part of a log that `usedSize` looks at, which keeps none of it. */
const chunk = Buffer.allocUnsafeSlow(ZEROS.length);

export interface RecordPlace {
  readonly type: number;
  /** The position in the log. */
  readonly position: number;
  /** The id of the log. */
  readonly id: number;
  /** When it is written, in ms since the epoch; 0 if not given. */
  readonly time?: number;
}

/** A record as bytes. */
export function writeRecord(body: Body, place: RecordPlace): Buffer {
  const bytes = Buffer.allocUnsafe(recordBytes(body.length));
  placeRecord(bytes, 0, body, place);
  return bytes;
}

/**
 * Writes a record: magic, type and time, length, checksum of the body, position, the log's id, checksum of these fields; then the
 * body, an end mark and zeros up to the next alignment. A record contains its position and its log's id. So bytes at another
 * position, or bytes inside a text, are never taken for a record.
 */
export function placeRecord(into: Buffer, at: number, body: Body, { type, position, id, time = 0 }: RecordPlace): void {
  const start = at + HEADER;
  const end = start + body.length;
  body.fill(into, start);
  into[end] = END_MARK;
  const next = at + recordBytes(body.length);
  for (let i = end + 1; i < next; i++) into[i] = 0;
  into.writeUInt32LE(MAGIC, at);
  const seconds = secondsOf(time);
  into.writeUInt32LE(type + (seconds % 2 ** 24) * 256, at + 4);
  into.writeUInt32LE(body.length, at + 8);
  into.writeUInt32LE(checksumOf(into.subarray(start, end), seconds), at + 12);
  into.writeUIntLE(position, at + 16, 6);
  into.writeUInt16LE(Math.floor(seconds / 2 ** 24), at + 22);
  into.writeUInt32LE(id, at + 24);
  into.writeUInt32LE(headerChecksum(into, at), at + 28);
}

/**
 * Seconds in 32 bits, enough until 2106. Clamped, so that a wrong clock cannot change the type. They seed the body's checksum.
 */
const secondsOf = (time: number): number => Math.min(Math.max(0, Math.floor(time / 1000)), 2 ** 32 - 1) || 0;

interface Header {
  readonly type: number;
  readonly seconds: number;
  readonly length: number;
  readonly checksum: number;
}

function readHeader(bytes: Buffer, at: number, position: number, id: number): Header | undefined {
  if (!isHeader(bytes, at, position) || bytes.readUInt32LE(at + 24) !== id) return undefined;
  return {
    type: bytes[at + 4] as number,
    seconds: bytes.readUIntLE(at + 5, 3) + bytes.readUInt16LE(at + 22) * 2 ** 24,
    length: bytes.readUInt32LE(at + 8),
    checksum: bytes.readUInt32LE(at + 12),
  };
}

function isHeader(bytes: Buffer, at: number, position: number): boolean {
  if (at + HEADER > bytes.length || bytes.readUInt32LE(at) !== MAGIC) return false;
  if (bytes.readUInt32LE(at + 28) !== headerChecksum(bytes, at)) return false;
  return bytes.readUIntLE(at + 16, 6) === position;
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  return crc >>> 0;
});

/** CRC-32 of the first 28 bytes. For so few bytes this is faster than zlib. */
function headerChecksum(bytes: Buffer, at: number): number {
  let crc = -1;
  for (let i = at; i < at + 28; i++) crc = (crc >>> 8) ^ (CRC_TABLE[(crc ^ (bytes[i] as number)) & 255] as number);
  return ~crc >>> 0;
}

/** Reads the record at a position. Undefined if there is none, or it is damaged. `guess` is its expected size. */
export function readRecord(file: DiskFile, position: number, id: number, guess: number): LogRecord | undefined {
  let bytes = Buffer.allocUnsafe(Math.max(HEADER, guess));
  let length = file.read(bytes, position);
  const header = readHeader(length < bytes.length ? bytes.subarray(0, length) : bytes, 0, position, id);
  if (!header) return undefined;
  const whole = HEADER + header.length;
  if (whole > length) {
    if (position + whole > file.size()) return undefined;
    bytes = Buffer.allocUnsafe(whole);
    length = file.read(bytes, position);
  }
  const body = bytes.subarray(HEADER, whole);
  if (length < whole || checksumOf(body, header.seconds) !== header.checksum) return undefined;
  return { position, type: header.type, body, bytes: recordBytes(header.length), time: 1000 * header.seconds };
}

/** Whether there is a record of a type at a position whose body begins with these latin1 characters. */
export function recordBegins(file: DiskFile, { type, position, id }: RecordPlace, beginning: string): boolean {
  const bytes = Buffer.allocUnsafe(HEADER + beginning.length);
  if (file.read(bytes, position) < bytes.length) return false;
  return readHeader(bytes, 0, position, id)?.type === type && bytes.toString('latin1', HEADER) === beginning;
}

const bodyInScratch = scratch.subarray(HEADER);

/**
 * The record that was read into `scratch`. Undefined if it is incomplete or damaged. The header's checksum is not needed: all
 * fields are compared, the type by the caller and the time by the body's checksum.
 */
export function recordInScratch(read: number, position: number, id: number): Glimpse | undefined {
  const word = scratchWords[1] as number;
  const high = scratchWords[5] as number;
  const at = (scratchWords[4] as number) + (high & 0xffff) * 2 ** 32;
  if (scratchWords[0] !== MAGIC || at !== position || scratchWords[6] !== id) return undefined;
  const length = scratchWords[2] as number;
  if (read < HEADER || HEADER + length > read) return undefined;
  const seconds = (word >>> 8) + (high >>> 16) * 2 ** 24;
  if (seconds >= 2 ** 32 || checksumInScratch(HEADER, HEADER + length, seconds) !== scratchWords[3]) return undefined;
  return { position, type: word & 0xff, body: bodyInScratch, length };
}

const CHUNK = 1 << 20;

/**
 * All records from a position to the current end of the log. Unreadable bytes are reported as a gap, and the scan continues after
 * it, so one damaged record never hides the next.
 */
export function* scanLog(file: DiskFile, id: number, from: number): Generator<LogRecord | Gap> {
  const end = usedSize(file);
  const window = windowOf(file, end);
  let gap = -1;
  for (let position = from; position < end; ) {
    const header = window.has(position, HEADER)
      ? readHeader(window.bytes, window.at(position), position, id)
      : undefined;
    const isCutOff = header ? position + wholeOf(header.length) > end : gap < 0 && position + HEADER > end;
    const body = header && !isCutOff ? window.read(position + HEADER, header.length) : undefined;
    const isSound = header !== undefined && body !== undefined && checksumOf(body, header.seconds) === header.checksum;
    if ((isSound || isCutOff) && gap >= 0) {
      yield { type: 'gap', position: gap, bytes: position - gap, isCutOff: false };
      gap = -1;
    }
    if (isCutOff) {
      yield { type: 'gap', position, bytes: end - position, isCutOff };
      return;
    }
    if (isSound)
      yield { position, type: header.type, body, bytes: recordBytes(header.length), time: 1000 * header.seconds };
    else if (gap < 0) gap = position;
    // A sound header shows where the next record is. Bytes inside the body that look like a record are part of a text.
    position += header ? recordBytes(header.length) : ALIGN;
  }
  if (gap >= 0) yield { type: 'gap', position: gap, bytes: end - gap, isCutOff: false };
}

/** The id in the first record of a log, used if the start of the log is damaged. */
export function findId(file: DiskFile): number | undefined {
  const end = file.size();
  const window = windowOf(file, end);
  for (let position = START; window.has(position, HEADER); position += ALIGN) {
    const at = window.at(position);
    if (isHeader(window.bytes, at, position)) return window.bytes.readUInt32LE(at + 24);
  }
  return undefined;
}

/** A moving window over a file. */
function windowOf(file: DiskFile, end: number) {
  let start = 0;
  let bytes: Buffer = Buffer.alloc(0);
  const has = (position: number, length: number): boolean => {
    if (position >= start && position + length <= start + bytes.length) return true;
    if (position + length > end) return false;
    // Allocates new memory each time, because earlier records still refer to the old window.
    const next = Buffer.allocUnsafeSlow(Math.min(Math.max(CHUNK, length), end - position));
    bytes = next.subarray(0, file.read(next, position));
    start = position;
    return bytes.length >= length;
  };
  return {
    has,
    at: (position: number): number => position - start,
    read: (position: number, length: number): Buffer | undefined =>
      has(position, length) ? bytes.subarray(position - start, position - start + length) : undefined,
    get bytes(): Buffer {
      return bytes;
    },
  };
}

export const isGap = (found: LogRecord | Gap): found is Gap => found.type === 'gap';

import { isUtf8 } from 'node:buffer';
import type { DiskFile } from '../../../store/embedded/disk.ts';
import { isTooLong } from '../log/encode-value.ts';
import type { Place } from '../log/event-line.ts';

/** A line of a file. */
export interface Line extends Place {
  /** The text without its newline. Empty if it is not UTF-8, or longer than a string can be. */
  readonly text: string;
  /** False for a last line without a newline. */
  readonly isWhole: boolean;
}

/** The most bytes of one read, and the least of a write that others follow. */
const CHUNK = 1 << 18;
const NEWLINE = 10;

/** The lines from a position on. The file is read piece by piece. */
export function* readLines(file: DiskFile, from: number, to: number = file.size()): Generator<Line> {
  let rest: Buffer[] = [];
  let offset = from;
  for (const chunk of readPieces(file, from, to)) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const text = Buffer.concat([...rest, chunk.subarray(start, end)]);
      yield { offset, bytes: text.length + 1, text: textOf(text), isWhole: true };
      offset += text.length + 1;
      rest = [];
      start = end + 1;
    }
    if (start < chunk.length) rest.push(chunk.subarray(start));
  }
  const text = Buffer.concat(rest);
  if (text.length > 0) yield { offset, bytes: text.length, text: textOf(text), isWhole: false };
}

/** The last line that ends before a position. Undefined if there is none. */
export function lastLine(file: DiskFile, end: number): Line | undefined {
  if (end <= 0) return undefined;
  let found = Buffer.alloc(0);
  for (let position = end; position > 0; ) {
    const bytes = Math.min(Math.max(1 << 12, found.length), position);
    position -= bytes;
    found = Buffer.concat([readAt(file, { offset: position, bytes }), found]);
    const start = found.lastIndexOf(NEWLINE, found.length - 2);
    if (found.length > 1 && start >= 0) return lineAt(found.subarray(start + 1), position + start + 1);
  }
  return lineAt(found, 0);
}

function lineAt(bytes: Buffer, offset: number): Line {
  const isWhole = bytes.at(-1) === NEWLINE;
  return { offset, bytes: bytes.length, text: textOf(isWhole ? bytes.subarray(0, -1) : bytes), isWhole };
}

/** Empty if the bytes are not UTF-8, or more than a string can hold. */
export function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) return '';
  try {
    return bytes.toString('utf8');
  } catch (error) {
    if (isTooLong(error)) return '';
    throw error;
  }
}

/** The bytes between two positions, in pieces. */
export function* readPieces(file: DiskFile, from: number, to: number): Generator<Buffer> {
  for (let position = from; position < to; ) {
    const piece = readAt(file, { offset: position, bytes: Math.min(CHUNK, to - position) });
    if (piece.length === 0) break;
    yield piece;
    position += piece.length;
  }
}

/** Reads the bytes at a place, or fewer if the file ends before. */
export function readAt(file: DiskFile, { offset, bytes }: Place): Buffer {
  const into = Buffer.allocUnsafe(bytes);
  return into.subarray(0, file.read(into, offset));
}

/** Writes pieces one after the other, several small ones at a time. Answers where they end. */
export function writePieces(file: DiskFile, from: number, pieces: Iterable<Buffer>): number {
  let position = from;
  let waiting: Buffer[] = [];
  let bytes = 0;
  const flush = (): void => {
    file.write(waiting.length === 1 && waiting[0] ? waiting[0] : Buffer.concat(waiting), position);
    position += bytes;
    waiting = [];
    bytes = 0;
  };
  for (const piece of pieces) {
    waiting.push(piece);
    bytes += piece.length;
    if (bytes >= CHUNK) flush();
  }
  if (bytes > 0) flush();
  return position;
}

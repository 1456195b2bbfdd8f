import { crc32 } from 'node:zlib';
import type { Problem } from '../store.ts';
import type { Counts } from './catalogue/indexed-log.ts';
import type { DiskFile } from './disk.ts';
import type { HashShape } from './linear-hash.ts';
import { isKnownFormat } from './log.ts';
import { AT_ONCE, type ChangedPages, PAGE, type Page } from './pages.ts';

/** The data that is needed to use an index. */
export interface Meta {
  readonly version: number;
  /** The id of the log that it belongs to. */
  readonly log: number;
  /** The index contains every record before this position. */
  readonly checkpoint: number;
  readonly counts: Counts;
  readonly shape: HashShape;
  /** Known losses, until they are repaired. */
  readonly lost: readonly Problem[];
}

/** A checkpoint in progress: the changed pages in a row, and the final meta data. */
export interface Journal {
  readonly meta: Meta;
  /** The numbers of the pages, in order. */
  readonly ids: readonly number[];
  /** The position of the first page in the file. */
  readonly start: number;
}

export const writeMeta = (meta: Meta): Buffer => seal(Buffer.from(JSON.stringify(meta)));

/** Undefined if it is missing, damaged or in another format. */
export function readMeta(sealed: Buffer | undefined): Meta | undefined {
  const bytes = sealed && unseal(sealed);
  const meta = bytes && (JSON.parse(bytes.toString()) as Meta);
  return meta && isKnownFormat(meta.version) ? meta : undefined;
}

/** Writes the pages in small groups, because they can be many. */
export function writeJournal(file: DiskFile, meta: Meta, pages: readonly Page[]): Journal {
  const json = Buffer.from(JSON.stringify(meta));
  const ids = pages.map(({ id }) => id);
  const start = 12 + json.length + 4 * ids.length;
  const head = Buffer.alloc(start);
  head.writeUInt32LE(json.length, 4);
  head.writeUInt32LE(ids.length, 8);
  json.copy(head, 12);
  for (const [n, id] of ids.entries()) head.writeUInt32LE(id, 12 + json.length + 4 * n);
  let checksum = crc32(head.subarray(4));
  const chunk = Buffer.allocUnsafeSlow(Math.min(AT_ONCE, ids.length) * PAGE);
  for (let first = 0; first < pages.length; first += AT_ONCE) {
    const some = pages.slice(first, first + AT_ONCE);
    for (const [n, page] of some.entries()) page.bytes.copy(chunk, n * PAGE);
    const bytes = chunk.subarray(0, some.length * PAGE);
    checksum = crc32(bytes, checksum);
    file.write(bytes, start + first * PAGE);
  }
  head.writeUInt32LE(checksum, 0);
  file.write(head, 0);
  return { meta, ids, start };
}

/** Reads a journal from its file, with the pages. Undefined if it is damaged or in another format. */
export function readJournal(sealed: Buffer | undefined): (Journal & ChangedPages) | undefined {
  const bytes = sealed && unseal(sealed);
  if (!sealed || !bytes || bytes.length < 8) return undefined;
  const numbers = 12 + sealed.readUInt32LE(4);
  const meta = JSON.parse(sealed.toString('utf8', 12, numbers)) as Meta;
  if (!isKnownFormat(meta.version)) return undefined;
  const ids = Array.from({ length: sealed.readUInt32LE(8) }, (_, n) => sealed.readUInt32LE(numbers + 4 * n));
  const start = numbers + 4 * ids.length;
  return { meta, ids, start, pages: sealed.subarray(start) };
}

/** Appends a checksum. */
function seal(bytes: Buffer): Buffer {
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32LE(crc32(bytes));
  return Buffer.concat([checksum, bytes]);
}

function unseal(sealed: Buffer): Buffer | undefined {
  // The checksum of nothing would be 0, which a file that was never written also holds.
  if (sealed.length <= 4) return undefined;
  const bytes = sealed.subarray(4);
  return sealed.readUInt32LE(0) === crc32(bytes) ? bytes : undefined;
}

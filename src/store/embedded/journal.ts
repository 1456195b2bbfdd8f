import { crc32 } from 'node:zlib';
import type { Problem } from '../store.ts';
import type { Counts } from './catalogue.ts';
import type { HashShape } from './linear-hash.ts';
import { FORMAT } from './log.ts';
import type { ChangedPages } from './pages.ts';

/** What must be known to use an index. */
export interface Meta {
  readonly version: number;
  /** The id of the log that it belongs to. */
  readonly log: number;
  /** Everything before it stands in the index. */
  readonly checkpoint: number;
  readonly counts: Counts;
  readonly shape: HashShape;
  /** What was lost, until it is repaired. */
  readonly lost: readonly Problem[];
}

/** A checkpoint to be: the pages it changes, and the meta data it ends with. */
export interface Journal extends ChangedPages {
  readonly meta: Meta;
}

export const writeMeta = (meta: Meta): Buffer => seal(Buffer.from(JSON.stringify(meta)));

/** Undefined where it is missing, damaged or of another format. */
export function readMeta(sealed: Buffer | undefined): Meta | undefined {
  const bytes = sealed && unseal(sealed);
  const meta = bytes && (JSON.parse(bytes.toString()) as Meta);
  return meta?.version === FORMAT ? meta : undefined;
}

/** In two pieces, since the pages are many. */
export function writeJournal({ meta, ids, pages }: Journal): Buffer[] {
  const json = Buffer.from(JSON.stringify(meta));
  const head = Buffer.alloc(12 + json.length + 4 * ids.length);
  head.writeUInt32LE(json.length, 4);
  head.writeUInt32LE(ids.length, 8);
  json.copy(head, 12);
  for (const [n, id] of ids.entries()) head.writeUInt32LE(id, 12 + json.length + 4 * n);
  head.writeUInt32LE(crc32(pages, crc32(head.subarray(4))), 0);
  return [head, pages];
}

export function readJournal(sealed: Buffer | undefined): Journal | undefined {
  const bytes = sealed && unseal(sealed);
  if (!bytes || bytes.length < 8) return undefined;
  const start = 8 + bytes.readUInt32LE(0);
  const meta = JSON.parse(bytes.toString('utf8', 8, start)) as Meta;
  if (meta.version !== FORMAT) return undefined;
  const ids = Array.from({ length: bytes.readUInt32LE(4) }, (_, n) => bytes.readUInt32LE(start + 4 * n));
  return { meta, ids, pages: bytes.subarray(start + 4 * ids.length) };
}

/** Bytes and their checksum. */
function seal(bytes: Buffer): Buffer {
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32LE(crc32(bytes));
  return Buffer.concat([checksum, bytes]);
}

function unseal(sealed: Buffer): Buffer | undefined {
  // Of nothing, the checksum would be 0, which is what a file that was never written has.
  if (sealed.length <= 4) return undefined;
  const bytes = sealed.subarray(4);
  return sealed.readUInt32LE(0) === crc32(bytes) ? bytes : undefined;
}

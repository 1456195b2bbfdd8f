import { crc32 } from 'node:zlib';
import type { Problem } from '../store.ts';
import type { Counts } from './generation.ts';
import { type HashShape, PAGE } from './linear-hash.ts';
import { FORMAT } from './log.ts';

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
export interface Journal {
  readonly meta: Meta;
  readonly list: readonly { readonly id: number; readonly bytes: Buffer }[];
  readonly pages: ReadonlyMap<number, Buffer>;
}

export const writeMeta = (meta: Meta): Buffer => seal(Buffer.from(JSON.stringify(meta)));

/** Undefined where it is missing, damaged or of another format. */
export function readMeta(sealed: Buffer | undefined): Meta | undefined {
  const bytes = sealed && unseal(sealed);
  const meta = bytes && (JSON.parse(bytes.toString()) as Meta);
  return meta?.version === FORMAT ? meta : undefined;
}

export function writeJournal(meta: Meta, pages: Journal['list']): Buffer {
  const json = Buffer.from(JSON.stringify(meta));
  const bytes = Buffer.alloc(8 + json.length + pages.length * (4 + PAGE));
  bytes.writeUInt32LE(json.length, 0);
  bytes.writeUInt32LE(pages.length, 4);
  json.copy(bytes, 8);
  pages.forEach(({ id, bytes: page }, n) => {
    const at = 8 + json.length + n * (4 + PAGE);
    bytes.writeUInt32LE(id, at);
    page.copy(bytes, at + 4);
  });
  return seal(bytes);
}

export function readJournal(sealed: Buffer | undefined): Journal | undefined {
  const bytes = sealed && unseal(sealed);
  if (!bytes || bytes.length < 8) return undefined;
  const start = 8 + bytes.readUInt32LE(0);
  const meta = JSON.parse(bytes.toString('utf8', 8, start)) as Meta;
  if (meta.version !== FORMAT) return undefined;
  const list = Array.from({ length: bytes.readUInt32LE(4) }, (_, n) => {
    const at = start + n * (4 + PAGE);
    return { id: bytes.readUInt32LE(at), bytes: bytes.subarray(at + 4, at + 4 + PAGE) };
  });
  return { meta, list, pages: new Map(list.map(({ id, bytes: page }) => [id, page])) };
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

import { hash } from 'node:crypto';
import type { Reference, TurnRecord } from '../store.ts';
import type { Key } from './linear-hash.ts';
import { type Draft, draftOf } from './log.ts';

/** A text as it stands in the log, with the reference it came with. */
export interface TextBody {
  readonly digest: Buffer;
  /** The record of the same session before this one, or 0. */
  readonly before: number;
  readonly about: Reference;
  readonly isUtf16: boolean;
  /** The bytes of the text. */
  readonly bytes: Buffer;
}

/** One more reference to a text. */
export interface ReferenceBody {
  readonly digest: Buffer;
  readonly before: number;
  /** The reference to the same text before this one, or 0. */
  readonly older: number;
  readonly about: Reference;
}

const DIGEST = 32;
const TEXT_HEAD = DIGEST + 8 + 4;
/** In the length of what a text is about: the text is UTF-16, since UTF-8 cannot hold a lone surrogate. */
const UTF16 = 2 ** 31;

export function writeText(text: string, { digest, before, about }: Omit<ReferenceBody, 'older'>): Draft {
  const isUtf16 = !text.isWellFormed();
  const meta = JSON.stringify(about);
  const metaLength = Buffer.byteLength(meta);
  const start = TEXT_HEAD + metaLength;
  const draft = draftOf(start + (isUtf16 ? 2 * text.length : Buffer.byteLength(text)));
  const { body } = draft;
  digest.copy(body, 0);
  body.writeDoubleLE(before, DIGEST);
  body.writeUInt32LE(isUtf16 ? metaLength + UTF16 : metaLength, DIGEST + 8);
  body.write(meta, TEXT_HEAD, 'utf8');
  body.write(text, start, isUtf16 ? 'utf16le' : 'utf8');
  return draft;
}

export function readText(body: Buffer): TextBody {
  const length = body.readUInt32LE(DIGEST + 8);
  const isUtf16 = length >= UTF16;
  const start = TEXT_HEAD + (isUtf16 ? length - UTF16 : length);
  return {
    digest: body.subarray(0, DIGEST),
    before: body.readDoubleLE(DIGEST),
    about: JSON.parse(body.toString('utf8', TEXT_HEAD, start)),
    isUtf16,
    bytes: body.subarray(start),
  };
}

export function writeReference({ digest, before, older, about }: ReferenceBody): Draft {
  const meta = JSON.stringify(about);
  const draft = draftOf(DIGEST + 16 + Buffer.byteLength(meta));
  digest.copy(draft.body, 0);
  draft.body.writeDoubleLE(before, DIGEST);
  draft.body.writeDoubleLE(older, DIGEST + 8);
  draft.body.write(meta, DIGEST + 16, 'utf8');
  return draft;
}

export function readReference(body: Buffer): ReferenceBody {
  return {
    digest: body.subarray(0, DIGEST),
    before: body.readDoubleLE(DIGEST),
    older: body.readDoubleLE(DIGEST + 8),
    about: JSON.parse(body.toString('utf8', DIGEST + 16)),
  };
}

export function writeTurn(before: number, record: TurnRecord): Draft {
  const json = JSON.stringify(record);
  const draft = draftOf(8 + Buffer.byteLength(json));
  draft.body.writeDoubleLE(before, 0);
  draft.body.write(json, 8, 'utf8');
  return draft;
}

export function readTurn(body: Buffer): { readonly before: number; readonly record: TurnRecord } {
  return { before: body.readDoubleLE(0), record: JSON.parse(body.toString('utf8', 8)) };
}

export function writeDeletion(session: string): Draft {
  const draft = draftOf(Buffer.byteLength(session));
  draft.body.write(session, 'utf8');
  return draft;
}

export const readDeletion = (body: Buffer): string => body.toString('utf8');

export const keyOfDigest = (digest: Buffer): Key => ({ low: digest.readUInt32LE(0), high: digest.readUInt32LE(4) });

/** Other bits of the same digest. What a key leads to is looked at, so that kinds may share keys. */
export const referenceKey = (digest: Buffer): Key => ({ low: digest.readUInt32LE(8), high: digest.readUInt32LE(12) });

/** The key of something that has no digest of its own. */
export const keyOf = (kind: string, name: string): Key => keyOfDigest(hash('sha256', `${kind}\0${name}`, 'buffer'));

const BASE32 = new Map(Array.from('abcdefghijklmnopqrstuvwxyz234567', (letter, i) => [letter.charCodeAt(0), i]));

/** The first 16 bytes of the digest that a handle was made of. */
export function digestStart(handle: string): Buffer {
  const start = Buffer.alloc(17);
  let [bits, value, at] = [0, 0, 0];
  for (let i = 2; i < handle.length; i++) {
    value = (value << 5) | (BASE32.get(handle.charCodeAt(i)) ?? 0);
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    start[at++] = (value >> bits) & 255;
    value &= (1 << bits) - 1;
  }
  return start.subarray(0, 16);
}

export const decode = ({ bytes, isUtf16 }: TextBody): string => bytes.toString(isUtf16 ? 'utf16le' : 'utf8');

/** How many bytes a text has in UTF-8. */
export const utf8Bytes = (text: TextBody): number =>
  text.isUtf16 ? Buffer.byteLength(decode(text)) : text.bytes.length;

/** What a handle is made of: see `handleOf`. */
export const digestOf = (text: string): Buffer =>
  text.isWellFormed() ? hash('sha256', text, 'buffer') : digestOfBytes(Buffer.from(text, 'utf16le'), true);

export const digestOfBytes = (bytes: Buffer, isUtf16: boolean): Buffer =>
  hash('sha256', isUtf16 ? Buffer.concat([Buffer.of(255), bytes]) : bytes, 'buffer');

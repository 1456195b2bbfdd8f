import { hash } from 'node:crypto';
import type { Reference, TurnRecord } from '../store.ts';
import type { Key } from './linear-hash.ts';

/** A text as it stands in the log, with the reference it came with. */
export interface TextBody {
  readonly digest: Buffer;
  /** The record of the same session before this one; 0 if there is none, since the first record is no one's. */
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

export function writeText({ digest, before, about, isUtf16, bytes }: TextBody): Buffer {
  const meta = Buffer.from(JSON.stringify(about));
  const body = Buffer.allocUnsafe(TEXT_HEAD + meta.length + bytes.length);
  digest.copy(body, 0);
  body.writeDoubleLE(before, DIGEST);
  body.writeUInt16LE(meta.length, DIGEST + 8);
  body.writeUInt16LE(isUtf16 ? 1 : 0, DIGEST + 10);
  meta.copy(body, TEXT_HEAD);
  bytes.copy(body, TEXT_HEAD + meta.length);
  return body;
}

export function readText(body: Buffer): TextBody {
  const meta = body.readUInt16LE(DIGEST + 8);
  return {
    digest: body.subarray(0, DIGEST),
    before: body.readDoubleLE(DIGEST),
    about: JSON.parse(body.toString('utf8', TEXT_HEAD, TEXT_HEAD + meta)),
    isUtf16: body.readUInt16LE(DIGEST + 10) === 1,
    bytes: body.subarray(TEXT_HEAD + meta),
  };
}

export function writeReference({ digest, before, older, about }: ReferenceBody): Buffer {
  const head = Buffer.allocUnsafe(DIGEST + 16);
  digest.copy(head, 0);
  head.writeDoubleLE(before, DIGEST);
  head.writeDoubleLE(older, DIGEST + 8);
  return Buffer.concat([head, Buffer.from(JSON.stringify(about))]);
}

export function readReference(body: Buffer): ReferenceBody {
  return {
    digest: body.subarray(0, DIGEST),
    before: body.readDoubleLE(DIGEST),
    older: body.readDoubleLE(DIGEST + 8),
    about: JSON.parse(body.toString('utf8', DIGEST + 16)),
  };
}

export function writeTurn(before: number, record: TurnRecord): Buffer {
  const head = Buffer.allocUnsafe(8);
  head.writeDoubleLE(before, 0);
  return Buffer.concat([head, Buffer.from(JSON.stringify(record))]);
}

export function readTurn(body: Buffer): { readonly before: number; readonly record: TurnRecord } {
  return { before: body.readDoubleLE(0), record: JSON.parse(body.toString('utf8', 8)) };
}

export const keyOfDigest = (digest: Buffer): Key => ({ low: digest.readUInt32LE(0), high: digest.readUInt32LE(4) });

/** The key of something that has no digest of its own. */
export function keyOf(kind: string, name: string | Buffer): Key {
  const digest = hash('sha256', Buffer.concat([Buffer.from(`${kind}\0`), Buffer.from(name)]), 'buffer');
  return keyOfDigest(digest);
}

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

/** A text as bytes. UTF-8 cannot hold a lone surrogate. */
export function encode(text: string): { readonly bytes: Buffer; readonly isUtf16: boolean } {
  const isUtf16 = !text.isWellFormed();
  return { bytes: Buffer.from(text, isUtf16 ? 'utf16le' : 'utf8'), isUtf16 };
}

export const decode = ({ bytes, isUtf16 }: TextBody): string => bytes.toString(isUtf16 ? 'utf16le' : 'utf8');

/** What a handle is made of: see `handleOf`. */
export const digestOf = (bytes: Buffer, isUtf16: boolean): Buffer =>
  hash('sha256', isUtf16 ? Buffer.concat([Buffer.of(255), bytes]) : bytes, 'buffer');

import { hash } from 'node:crypto';
import { toBytes } from './text-bytes.ts';

const BASE32 = Array.from('abcdefghijklmnopqrstuvwxyz234567', (letter) => letter.charCodeAt(0));
const PREFIX = Array.from('p_', (letter) => letter.charCodeAt(0));
const LENGTH = 26;
/** The letters of the handle being made, used again for each. */
const letters = [...PREFIX, ...new Array<number>(LENGTH).fill(0)];

/** A SHA-256 as a string with a character for each byte: cheaper than a buffer, and nobody can change it. */
export type Digest = string;

/** The name by which a text is recalled: 130 bits of its SHA-256, so it is the same in every process. */
export const handleOf = (text: string): string => handleOfDigest(digestOf(text));

/** Takes five bits of a digest at a time. Letters put together one by one would stay a tree of strings. */
export function handleOfDigest(digest: Digest): string {
  for (let i = 0; i < LENGTH; i++) {
    const bit = i * 5;
    const pair = (digest.charCodeAt(bit >> 3) << 8) | digest.charCodeAt((bit >> 3) + 1);
    letters[PREFIX.length + i] = BASE32[(pair >> (11 - (bit & 7))) & 31] as number;
  }
  return String.fromCharCode(...letters);
}

/** For one text after the other. Most are shorter. */
const ascii = Buffer.allocUnsafeSlow(1 << 16);

/** What a handle is made of. */
export function digestOf(text: string): Digest {
  // ASCII is UTF-8 already: to copy it costs a fraction of what it costs to have it encoded.
  if (text.length <= ascii.length && Buffer.byteLength(text) === text.length)
    return hash('sha256', ascii.subarray(0, ascii.write(text, 'latin1')), 'binary');
  return hash('sha256', text.isWellFormed() ? text : toBytes(text), 'binary');
}

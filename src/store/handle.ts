import { hash } from 'node:crypto';

const BASE32 = Array.from('abcdefghijklmnopqrstuvwxyz234567', (letter) => letter.charCodeAt(0));
const PREFIX = Array.from('p_', (letter) => letter.charCodeAt(0));
const LENGTH = 26;
/** The letters of the handle being made, used again for each. */
const letters = [...PREFIX, ...new Array<number>(LENGTH).fill(0)];

/** The name by which a text is recalled: 130 bits of its SHA-256, so it is the same in every process. */
export function handleOf(text: string): string {
  // UTF-8 cannot hold a lone surrogate: two such texts would become one. No UTF-8 begins with the byte 255.
  const bytes = text.isWellFormed() ? text : Buffer.concat([Buffer.of(255), Buffer.from(text, 'utf16le')]);
  return handleOfDigest(hash('sha256', bytes, 'binary'));
}

/**
 * The same from the digest of a text, a string with a character for each byte. Takes five bits at a time. Letters put
 * together one by one would stay a tree of strings.
 */
export function handleOfDigest(bytes: string): string {
  for (let i = 0; i < LENGTH; i++) {
    const bit = i * 5;
    const pair = (bytes.charCodeAt(bit >> 3) << 8) | bytes.charCodeAt((bit >> 3) + 1);
    letters[PREFIX.length + i] = BASE32[(pair >> (11 - (bit & 7))) & 31] as number;
  }
  return String.fromCharCode(...letters);
}

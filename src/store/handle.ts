import { createHash } from 'node:crypto';

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';
const LENGTH = 26;

/** The name by which a text is recalled: 130 bits of its SHA-256, so it is the same in every process. */
export function handleOf(text: string): string {
  const digest = createHash('sha256');
  // UTF-8 cannot hold a lone surrogate: two such texts would become one.
  if (text.isWellFormed()) digest.update(text, 'utf8');
  else digest.update('\x01').update(text, 'utf16le');
  return `p_${toBase32(digest.digest())}`;
}

function toBase32(bytes: Uint8Array): string {
  let text = '';
  for (let i = 0; i < LENGTH; i++) {
    const bit = i * 5;
    const pair = ((bytes[bit >> 3] ?? 0) << 8) | (bytes[(bit >> 3) + 1] ?? 0);
    text += BASE32[(pair >> (11 - (bit & 7))) & 31];
  }
  return text;
}

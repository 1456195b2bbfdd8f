import { hash } from 'node:crypto';

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';
const LENGTH = 26;

/** The name by which a text is recalled: 130 bits of its SHA-256, so it is the same in every process. */
export function handleOf(text: string): string {
  // UTF-8 cannot hold a lone surrogate: two such texts would become one. No UTF-8 begins with the byte 255.
  const bytes = text.isWellFormed() ? text : Buffer.concat([Buffer.of(255), Buffer.from(text, 'utf16le')]);
  return `p_${toBase32(hash('sha256', bytes, 'binary'))}`;
}

/** Takes a string of bytes, five bits at a time. */
function toBase32(bytes: string): string {
  let text = '';
  for (let i = 0; i < LENGTH; i++) {
    const bit = i * 5;
    const pair = (bytes.charCodeAt(bit >> 3) << 8) | bytes.charCodeAt((bit >> 3) + 1);
    text += BASE32[(pair >> (11 - (bit & 7))) & 31];
  }
  return text;
}

import { hash } from 'node:crypto';

/** A text as the bytes that its handle is made of: UTF-8, or 255 and UTF-16 where UTF-8 would lose a lone surrogate. */
export function toBytes(text: string): Buffer {
  return text.isWellFormed() ? Buffer.from(text) : Buffer.concat([UTF16, Buffer.from(text, 'utf16le')]);
}

export function fromBytes(bytes: Buffer): string {
  return bytes[0] === UTF16[0] ? bytes.toString('utf16le', 1) : bytes.toString('utf8');
}

/** No UTF-8 begins with it. */
const UTF16 = Buffer.of(255);

/** All of the SHA-256 of which a handle shows the beginning, in hexadecimal. */
export const hexDigestOf = (bytes: Buffer): string => hash('sha256', bytes, 'hex');

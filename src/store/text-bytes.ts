import { hash } from 'node:crypto';

/** The bytes that a handle is made of: UTF-8, or 255 and UTF-16 for texts with lone surrogates. */
export function toBytes(text: string): Buffer {
  return text.isWellFormed() ? Buffer.from(text) : Buffer.concat([UTF16, Buffer.from(text, 'utf16le')]);
}

export function fromBytes(bytes: Buffer): string {
  return bytes[0] === UTF16[0] ? bytes.toString('utf16le', 1) : bytes.toString('utf8');
}

/** No UTF-8 text begins with this byte. */
const UTF16 = Buffer.of(255);

/** The full SHA-256 in hexadecimal. A handle shows its beginning. */
export const hexDigestOf = (bytes: Buffer): string => hash('sha256', bytes, 'hex');

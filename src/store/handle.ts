import { sha256 } from './sha256.ts';

const BASE32 = Array.from('abcdefghijklmnopqrstuvwxyz234567', (letter) => letter.charCodeAt(0));
const PREFIX = Array.from('p_', (letter) => letter.charCodeAt(0));
const LENGTH = 26;
/** The characters of the handle that is being built. Reused for each handle. */
const letters = [...PREFIX, ...new Array<number>(LENGTH).fill(0)];

/** A SHA-256 as a string with one character per byte. Cheaper than a buffer, and immutable. */
export type Digest = string;

/** The name by which a text is recalled: 130 bits of its SHA-256, so it is the same in every process. */
export const handleOf = (text: string): string => handleOfDigest(digestOf(text));

/** Converts five bits of a digest at a time. Concatenating single characters would build a slow tree of strings. */
export function handleOfDigest(digest: Digest): string {
  for (let i = 0; i < LENGTH; i++) {
    const bit = i * 5;
    const pair = (digest.charCodeAt(bit >> 3) << 8) | digest.charCodeAt((bit >> 3) + 1);
    letters[PREFIX.length + i] = BASE32[(pair >> (11 - (bit & 7))) & 31] as number;
  }
  return String.fromCharCode(...letters);
}

/** Node's hash, which is many times faster. Looked up by name, so that a browser bundle has no Node import. */
const crypto = globalThis.process?.getBuiltinModule?.('node:crypto');

/** The digest that a handle is made of. */
export const digestOf: (text: string) => Digest =
  typeof crypto?.hash === 'function' ? nodeDigest(crypto.hash) : portableDigest;

function nodeDigest(hash: NonNullable<typeof crypto>['hash']): (text: string) => Digest {
  // A reused buffer, large enough for most texts. Writing a text there takes less time than its conversion by the hash.
  const bytes = Buffer.allocUnsafeSlow(1 << 18);
  return (text) => {
    if (!text.isWellFormed()) return hash('sha256', toUtf16(text), 'binary');
    // A character has at most three bytes for each of its UTF-16 units.
    const fits = 3 * text.length <= bytes.length;
    return hash('sha256', fits ? bytes.subarray(0, bytes.write(text)) : text, 'binary');
  };
}

/** The digest of a text, computed without Node. */
export function portableDigest(text: string): Digest {
  return String.fromCharCode(...sha256(text.isWellFormed() ? new TextEncoder().encode(text) : toUtf16(text)));
}

/** The byte 255, then UTF-16: for texts with lone surrogates, which UTF-8 cannot hold. No UTF-8 text begins with 255. */
function toUtf16(text: string): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(1 + 2 * text.length));
  bytes.setUint8(0, 255);
  for (let i = 0; i < text.length; i++) bytes.setUint16(1 + 2 * i, text.charCodeAt(i), true);
  return new Uint8Array(bytes.buffer);
}

import { sha256 } from './sha256.ts';

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

/** Node's own hash, which is many times as fast. It is asked for by name: a bundle for a browser has no import of Node. */
const crypto = globalThis.process?.getBuiltinModule?.('node:crypto');

/** What a handle is made of. */
export const digestOf: (text: string) => Digest =
  typeof crypto?.hash === 'function' ? nodeDigest(crypto.hash) : portableDigest;

function nodeDigest(hash: NonNullable<typeof crypto>['hash']): (text: string) => Digest {
  // For one text after the other. Most are shorter.
  const ascii = Buffer.allocUnsafeSlow(1 << 16);
  return (text) => {
    // ASCII is UTF-8 already: to copy it costs a fraction of what it costs to have it encoded.
    if (text.length <= ascii.length && Buffer.byteLength(text) === text.length)
      return hash('sha256', ascii.subarray(0, ascii.write(text, 'latin1')), 'binary');
    return hash('sha256', text.isWellFormed() ? text : toUtf16(text), 'binary');
  };
}

/** The same without Node. */
export function portableDigest(text: string): Digest {
  return String.fromCharCode(...sha256(text.isWellFormed() ? new TextEncoder().encode(text) : toUtf16(text)));
}

/** 255 and UTF-16, where UTF-8 would lose a lone surrogate. No UTF-8 begins with 255. */
function toUtf16(text: string): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(1 + 2 * text.length));
  bytes.setUint8(0, 255);
  for (let i = 0; i < text.length; i++) bytes.setUint16(1 + 2 * i, text.charCodeAt(i), true);
  return new Uint8Array(bytes.buffer);
}

import { isAscii } from 'node:buffer';

const COPIED_BYTES = 1 << 16;

/**
 * A part of some bytes as a string, a character for each byte. The native search in a string starts sooner than the one in a
 * buffer, and ASCII is parsed from the string as it is.
 */
export class CopiedText {
  #bytes: Buffer = Buffer.alloc(0);
  #text = '';
  #start = 0;
  #end = 0;
  #isAscii = false;

  /** The next place of an ASCII character, or -1. */
  indexOf(bytes: Buffer, character: string, from: number): number {
    for (let at = from; at < bytes.length; at = this.#end) {
      if (bytes !== this.#bytes || at < this.#start || at >= this.#end) this.#copy(bytes, at);
      const found = this.#text.indexOf(character, at - this.#start);
      if (found >= 0) return this.#start + found;
    }
    return -1;
  }

  /** A part of the bytes as text. It may refer to the whole copy: do not keep it. */
  slice(bytes: Buffer, start: number, end: number): string {
    const isCopied = bytes === this.#bytes && start >= this.#start && end <= this.#end;
    if (isCopied && this.#isAscii) return this.#text.slice(start - this.#start, end - this.#start);
    return bytes.toString('utf8', start, end);
  }

  #copy(bytes: Buffer, from: number): void {
    const part = bytes.subarray(from, from + COPIED_BYTES);
    this.#bytes = bytes;
    this.#text = part.toString('latin1');
    this.#start = from;
    this.#end = from + part.length;
    this.#isAscii = isAscii(part);
  }
}

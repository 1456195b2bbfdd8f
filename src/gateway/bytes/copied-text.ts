import { isAscii } from 'node:buffer';

const COPIED_BYTES = 1 << 16;

/**
 * A part of some bytes as a string, one character per byte. Native search starts sooner in a string than in a buffer, and ASCII is parsed
 * from the string as it is.
 */
export class CopiedText {
  #bytes: Buffer = Buffer.alloc(0);
  #text = '';
  #start = 0;
  #end = 0;
  #isAscii = false;

  /** The next quote that is not escaped, or -1. */
  closingQuote(bytes: Buffer, from: number): number {
    for (let at = from; at < bytes.length; at = this.#end) {
      if (bytes !== this.#bytes || at < this.#start || at >= this.#end) this.#copy(bytes, at);
      const [text, start] = [this.#text, this.#start];
      let quote = text.indexOf('"', at - start);
      while (quote >= 0 && isEscaped(bytes, start + quote, from)) quote = text.indexOf('"', quote + 1);
      if (quote >= 0) return start + quote;
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

const BACKSLASH = 0x5c;

/** Whether an odd number of backslashes comes before a quote; those before `from` do not count. */
export function isEscaped(bytes: Uint8Array, quote: number, from: number): boolean {
  let first = quote;
  while (first > from && bytes[first - 1] === BACKSLASH) first -= 1;
  return (quote - first) % 2 === 1;
}

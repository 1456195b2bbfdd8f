/**
 * A text that is searched many times. A set of its runs of four characters, hashed to bits, rules out nearly every text that does not
 * match, so a search of the text itself nearly always finds something.
 */
export class SearchableText {
  readonly text: string;
  #bits: Uint32Array | undefined;
  #shift = 0;

  constructor(text: string) {
    this.text = text;
  }

  /** Whether the text may contain a text with these grams. False is certain. */
  mayContain(grams: Uint32Array): boolean {
    if (this.text.length < LEAST_LENGTH) return true;
    this.#bits ??= this.#index();
    const bits = this.#bits;
    for (const gram of grams) {
      const bit = gram >>> this.#shift;
      if (((bits[bit >>> 5] as number) & (1 << (bit & 31))) === 0) return false;
    }
    return true;
  }

  #index(): Uint32Array {
    // At least four bits for each character: few are set by chance, and eight characters have five grams.
    this.#shift = Math.clz32(this.text.length * BITS_PER_CHARACTER - 1);
    const bits = new Uint32Array(2 ** (27 - this.#shift));
    const shift = this.#shift;
    eachGram(this.text, (gram) => {
      const bit = gram >>> shift;
      bits[bit >>> 5] = (bits[bit >>> 5] as number) | (1 << (bit & 31));
    });
    return bits;
  }
}

/** The grams of a search text, computed once for all texts. */
export function gramsOf(text: string): Uint32Array {
  const grams: number[] = [];
  eachGram(text, (gram) => grams.push(gram));
  return Uint32Array.from(grams);
}

/** Below this length a search is as fast as the check of the grams. */
const LEAST_LENGTH = 64;
const BITS_PER_CHARACTER = 4;
const GRAM = 4;

/** The low bytes of four characters in a row, mixed. The high bits of a product depend on all of them. */
function eachGram(text: string, visit: (gram: number) => void): void {
  let last = 0;
  for (let i = 0; i < text.length; i++) {
    last = (last << 8) | (text.charCodeAt(i) & 0xff);
    if (i >= GRAM - 1) visit(Math.imul(last, 0x9e3779b1) >>> 0);
  }
}

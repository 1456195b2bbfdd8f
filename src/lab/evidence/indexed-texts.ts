import { SearchableText } from './searchable-text.ts';

/** Texts by the words in them. Only a few contain the rarest word of a quote. */
export class IndexedTexts {
  readonly #texts: SearchableText[] = [];
  /** The texts that contain a word, oldest first, by the hash of the word. */
  readonly #holders = new Map<number, number[]>();

  add(text: string): void {
    const index = this.#texts.push(new SearchableText(text)) - 1;
    eachWord(text, (word) => {
      const holders = this.#holders.get(word);
      if (!holders) this.#holders.set(word, [index]);
      else if (holders[holders.length - 1] !== index) holders.push(index);
    });
  }

  /** The newest texts with these words that satisfy `holds`, at most `most` of them. */
  newest(words: readonly number[], holds: (text: SearchableText) => boolean, most: number): number[] {
    const candidates = this.#candidates(words);
    const found: number[] = [];
    for (let i = (candidates ?? this.#texts).length - 1; i >= 0 && found.length < most; i--) {
      const index = candidates ? (candidates[i] as number) : i;
      if (holds(this.#texts[index] as SearchableText)) found.push(index);
    }
    return found;
  }

  /** The texts with the rarest of the words. Undefined if there are no words. */
  #candidates(words: readonly number[]): readonly number[] | undefined {
    const lists = words.map((word) => this.#holders.get(word) ?? []);
    return lists.sort((a, b) => a.length - b.length)[0];
  }
}

/** The words that every text with this quote contains. Words at its ends are left out: they may be parts of longer words. */
export function innerWords(quote: string): number[] {
  const words: number[] = [];
  eachWord(quote, (word, start, end) => {
    if (start > 0 && end < quote.length) words.push(word);
  });
  return words;
}

/** The same for a quote that begins and ends with whole words. */
export function wholeWords(quote: string): number[] {
  const words: number[] = [];
  eachWord(quote, (word) => words.push(word));
  return words;
}

function eachWord(text: string, visit: (hash: number, start: number, end: number) => void): void {
  let [hash, start] = [0, 0];
  for (let i = 0; i <= text.length; i++) {
    const code = i < text.length ? text.charCodeAt(i) : 0;
    if (isWord(code)) hash = Math.imul(hash ^ code, 0x01000193);
    else {
      if (i > start) visit(hash, start, i);
      hash = 0;
      start = i + 1;
    }
  }
}

/** A letter, a digit or an underscore. */
export const isWord = (code: number): boolean =>
  (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code === 95;

import { IndexedTexts, innerWords, isWord, wholeWords } from './indexed-texts.ts';
import { gramsOf, type SearchableText } from './searchable-text.ts';

/** How a quote must occur in a text. */
interface Manner {
  /** Whether a text that contains the characters of a quote at this position holds the quote. */
  fits(text: string, start: number, end: number): boolean;
  /** Words that every text with the quote has. */
  wordsOf(quote: string): number[];
}

/** A line of old text: any occurrence counts. */
export const anywhere: Manner = { fits: () => true, wordsOf: innerWords };

/** An identifier: it begins and ends with a whole word. */
export const asWord: Manner = {
  fits: (text, start, end) => !isWord(text.charCodeAt(start - 1)) && !isWord(text.charCodeAt(end)),
  wordsOf: wholeWords,
};

/** The texts of a context up to a point, searchable for quotes. */
export class Sources {
  readonly #permanent = new IndexedTexts();
  readonly #observations = new IndexedTexts();
  /** Permanent text never goes away, so one match is enough. */
  readonly #supported = new Map<Manner, Set<string>>([
    [anywhere, new Set()],
    [asWord, new Set()],
  ]);

  addPermanent(text: string): void {
    if (text !== '') this.#permanent.add(text);
  }

  addObservation(text: string): void {
    this.#observations.add(text);
  }

  /** Finds a quote. Holders of a supported quote are not searched: no mask can hide it. */
  find(quote: string, manner: Manner): { readonly isSupported: boolean; readonly holders: readonly number[] } {
    const supported = this.#supported.get(manner);
    if (supported?.has(quote)) return { isSupported: true, holders: [] };
    const words = manner.wordsOf(quote);
    const grams = gramsOf(quote);
    const holds = (source: SearchableText): boolean => source.mayContain(grams) && contains(source.text, quote, manner);
    if (this.#permanent.newest(words, holds, 1).length > 0) {
      supported?.add(quote);
      return { isSupported: true, holders: [] };
    }
    return { isSupported: false, holders: this.#observations.newest(words, holds, MOST_HOLDERS) };
  }
}

export const MOST_HOLDERS = 64;

function contains(text: string, quote: string, { fits }: Manner): boolean {
  for (let at = text.indexOf(quote); at >= 0; at = text.indexOf(quote, at + 1))
    if (fits(text, at, at + quote.length)) return true;
  return false;
}

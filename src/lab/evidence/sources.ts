import { gramsOf, SearchableText } from './searchable-text.ts';

/** Whether a text, known to contain the characters of a quote from here on, holds the quote. */
type Fits = (text: string, start: number, end: number) => boolean;

/** A line of old text: any occurrence counts. */
export const anywhere: Fits = () => true;

/** An identifier: no word goes on to its left or right. */
export const asWord: Fits = (text, start, end) => !isWordAt(text, start - 1) && !isWordAt(text, end);

/** What the model had seen and said up to some point, searched for quotes. */
export class Sources {
  readonly #permanent: SearchableText[] = [];
  readonly #observations: SearchableText[] = [];
  /** Nothing permanent is ever taken back, so that one find is enough. */
  readonly #supported = new Map<Fits, Set<string>>([
    [anywhere, new Set()],
    [asWord, new Set()],
  ]);

  addPermanent(text: string): void {
    if (text !== '') this.#permanent.push(new SearchableText(text));
  }

  addObservation(text: string): void {
    this.#observations.push(new SearchableText(text));
  }

  /** Where a quote stands. The holders of a supported quote are not looked for: no mask can hide it. */
  find(quote: string, fits: Fits): { readonly isSupported: boolean; readonly holders: readonly number[] } {
    const supported = this.#supported.get(fits);
    if (supported?.has(quote)) return { isSupported: true, holders: [] };
    const grams = gramsOf(quote);
    const holds = (source: SearchableText): boolean => source.mayContain(grams) && contains(source.text, quote, fits);
    if (this.#permanent.some(holds)) {
      supported?.add(quote);
      return { isSupported: true, holders: [] };
    }
    return { isSupported: false, holders: this.#newestHolders(holds) };
  }

  #newestHolders(holds: (source: SearchableText) => boolean): number[] {
    const holders: number[] = [];
    for (let i = this.#observations.length - 1; i >= 0 && holders.length < MOST_HOLDERS; i--)
      if (holds(this.#observations[i] as SearchableText)) holders.push(i);
    return holders;
  }
}

export const MOST_HOLDERS = 64;

function contains(text: string, quote: string, fits: Fits): boolean {
  for (let at = text.indexOf(quote); at >= 0; at = text.indexOf(quote, at + 1))
    if (fits(text, at, at + quote.length)) return true;
  return false;
}

function isWordAt(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code === 95;
}

import type { NumberedLines } from './numbered-lines.ts';

/** Shorter lines repeat everywhere. */
const LEAST_CHARS = 40;
/** For each three lines, no more places in one text are known, and no more places in all texts are tried. */
const MOST_PLACES = 12;
/** A place is one number: the number of its text, then that of its line. */
const MOST_LINES = 2 ** 24;

/** A line of an indexed text. */
export interface Place {
  readonly id: number;
  readonly line: number;
}

/**
 * Finds where three lines in a row occur in the indexed texts. It depends on the texts alone, not on the order in which
 * they were added and removed: a history that is read again has the same index as one that grew.
 */
export class LineIndex {
  /** The places of each hash of three lines, newest last. Most have one. */
  readonly #places = new Map<number, number | number[]>();

  add(id: number, lines: NumberedLines): void {
    let before = 0;
    for (let line = 0; line + 3 <= lines.count; line++) {
      const hash = lines.hashOfThree(line, LEAST_CHARS);
      // Of the same line many times over, the first place is the beginning of the longest run.
      if (hash !== 0 && hash !== before) this.#insert(hash, id * MOST_LINES + line);
      before = hash;
    }
  }

  remove(id: number, lines: NumberedLines): void {
    for (let line = 0; line + 3 <= lines.count; line++) {
      const hash = lines.hashOfThree(line, LEAST_CHARS);
      const known = hash === 0 ? undefined : this.#places.get(hash);
      if (known === undefined) continue;
      const left = typeof known === 'number' ? [known] : known;
      const kept = left.filter((place) => idOf(place) !== id);
      if (kept.length === 0) this.#places.delete(hash);
      else if (kept.length < left.length) this.#places.set(hash, kept.length === 1 ? (kept[0] as number) : kept);
    }
  }

  /** The newest places where the three lines may be: their hashes are equal. */
  find(lines: NumberedLines, line: number): readonly Place[] {
    const hash = lines.hashOfThree(line, LEAST_CHARS);
    const known = hash === 0 ? undefined : this.#places.get(hash);
    if (known === undefined) return NO_PLACES;
    const newest = typeof known === 'number' ? [known] : known.slice(-MOST_PLACES).reverse();
    return newest.map((place) => ({ id: idOf(place), line: place % MOST_LINES }));
  }

  #insert(hash: number, place: number): void {
    const known = this.#places.get(hash);
    if (known === undefined) {
      this.#places.set(hash, place);
      return;
    }
    const places = typeof known === 'number' ? [known] : known;
    if (typeof known === 'number') this.#places.set(hash, places);
    let at = places.length;
    while (at > 0 && (places[at - 1] as number) > place) at -= 1;
    places.splice(at, 0, place);
    const oldest = at - MOST_PLACES;
    if (oldest >= 0 && idOf(places[oldest] as number) === idOf(place)) places.splice(oldest, 1);
  }
}

const NO_PLACES: readonly Place[] = [];
const idOf = (place: number): number => Math.floor(place / MOST_LINES);

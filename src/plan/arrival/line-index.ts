import { HashTable } from './hash-table.ts';
import type { NumberedLines } from './numbered-lines.ts';

/** Shorter lines repeat everywhere. */
const LEAST_CHARS = 40;
/** For each three lines, no more places are tried. */
const MOST_PLACES = 12;

/** A line of an indexed text. */
export interface Place {
  readonly id: number;
  readonly line: number;
}

interface IndexedText {
  readonly id: number;
  places: number;
  isRemoved: boolean;
}

/**
 * Finds where three lines in a row occur in the indexed texts. It depends on the texts alone, not on the order in which
 * they were added and removed: a history that is read again has the same index as one that grew.
 *
 * Places are numbers from 1, four fields each in one array. The places of one hash are a list, the newest first. Those of a
 * removed text leave it when a search meets them, or when they are half of all.
 */
export class LineIndex {
  #newest = new HashTable();
  #places = new Int32Array(FIELDS * FEWEST_PLACES);
  #nextPlace = 1;
  #removedPlaces = 0;
  #texts: IndexedText[] = [];
  #byId = new Map<number, IndexedText>();

  add(id: number, lines: NumberedLines): void {
    if (lines.count < 3) return;
    const text: IndexedText = { id, places: 0, isRemoved: false };
    this.#byId.set(id, text);
    const number = this.#texts.push(text) - 1;
    this.#reserve(lines.count);
    this.#newest.reserve(lines.count);
    const first = this.#nextPlace;
    let before = 0;
    for (let line = 0; line + 3 <= lines.count; line++) {
      const hash = lines.hashOfThree(line, LEAST_CHARS);
      // Of the same line many times over, the first place is the beginning of the longest run.
      if (hash !== 0 && hash !== before) this.#append(hash, number, line);
      before = hash;
    }
    text.places = this.#nextPlace - first;
  }

  remove(id: number): void {
    const text = this.#byId.get(id);
    if (!text) return;
    this.#byId.delete(id);
    text.isRemoved = true;
    this.#removedPlaces += text.places;
    if (this.#removedPlaces * 2 > Math.max(this.#nextPlace, FEWEST_PLACES)) this.#forgetRemoved();
  }

  /** The newest places where the three lines may be: their hashes are equal. */
  find(lines: NumberedLines, line: number): readonly Place[] {
    const hash = lines.hashOfThree(line, LEAST_CHARS);
    const newest = hash === 0 ? 0 : this.#newest.get(hash);
    return newest === 0 ? NO_PLACES : this.#placesFrom(newest);
  }

  #placesFrom(newest: number): Place[] {
    const found: Place[] = [];
    let newer = newest;
    for (let place = newest; place !== 0 && found.length < MOST_PLACES; place = this.#field(place, OLDER)) {
      const { id, isRemoved } = this.#textAt(place);
      if (!isRemoved) found.push({ id, line: this.#field(place, LINE) });
      // The newest stays in the list, since the table has its number.
      if (isRemoved && place !== newest) this.#places[newer * FIELDS + OLDER] = this.#field(place, OLDER);
      else newer = place;
    }
    return found;
  }

  #append(hash: number, text: number, line: number): void {
    const place = this.#nextPlace++;
    const at = place * FIELDS;
    this.#places[at + HASH] = hash;
    this.#places[at + TEXT] = text;
    this.#places[at + LINE] = line;
    const newest = this.#newest.set(hash, place);
    this.#places[at + OLDER] = newest;
    if (newest !== 0 && this.#textAt(newest).id > this.#textAt(place).id) this.#moveBack(place, newest);
  }

  /** A text that is older than the last one was added: its place goes behind all that are newer. */
  #moveBack(place: number, newest: number): void {
    const { id } = this.#textAt(place);
    let newer = newest;
    let older = this.#field(newer, OLDER);
    for (; older !== 0 && this.#textAt(older).id > id; older = this.#field(older, OLDER)) newer = older;
    this.#newest.set(this.#field(place, HASH), newest);
    this.#places[newer * FIELDS + OLDER] = place;
    this.#places[place * FIELDS + OLDER] = older;
  }

  #reserve(places: number): void {
    const needed = (this.#nextPlace + places) * FIELDS;
    if (needed <= this.#places.length) return;
    const larger = new Int32Array(Math.max(needed, this.#places.length * 2));
    larger.set(this.#places.subarray(0, this.#nextPlace * FIELDS));
    this.#places = larger;
  }

  #forgetRemoved(): void {
    const [places, end, texts] = [this.#places, this.#nextPlace, this.#texts];
    const live = texts.filter(({ isRemoved }) => !isRemoved);
    const numbers = new Map(live.map((text, number) => [text, number]));
    this.#newest = new HashTable();
    this.#places = new Int32Array(FIELDS * Math.max(FEWEST_PLACES, end - this.#removedPlaces));
    this.#nextPlace = 1;
    this.#removedPlaces = 0;
    this.#texts = live;
    for (let at = FIELDS; at < end * FIELDS; at += FIELDS) {
      const number = numbers.get(texts[places[at + TEXT] as number] as IndexedText);
      if (number !== undefined) this.#append(places[at + HASH] as number, number, places[at + LINE] as number);
    }
  }

  #field(place: number, field: number): number {
    return this.#places[place * FIELDS + field] as number;
  }

  #textAt(place: number): IndexedText {
    return this.#texts[this.#field(place, TEXT)] as IndexedText;
  }
}

const [HASH, TEXT, LINE, OLDER, FIELDS] = [0, 1, 2, 3, 4];
const FEWEST_PLACES = 64;
const NO_PLACES: readonly Place[] = [];

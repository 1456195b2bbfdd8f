import { HashTable } from './hash-table.ts';
import type { NumberedLines } from './numbered-lines.ts';

/** For each three lines, at most this many places are tried. */
const MOST_PLACES = 12;
/** At most this many places that may not be used are passed over: a text can be crafted so that three lines have very many places. */
const MOST_PASSED = 1000;

/** A line of an indexed text. */
export interface Place {
  readonly id: number;
  readonly line: number;
}

interface IndexedText {
  readonly id: number;
  readonly count: number;
  /** The number of its first line in the index. */
  first: number;
  isRemoved: boolean;
}

/**
 * Finds where three lines in a row occur in the indexed texts. The result depends only on the texts, not on the order in which they were
 * added and removed: a history that is read again has the same index as one that grew.
 *
 * All lines of all texts are numbered from 1. Lines that begin the same three lines form a list, the newest first. Lines of a removed text
 * leave the list when a search meets them, or when they are three quarters of all.
 */
export class LineIndex {
  readonly #newest = new HashTable();
  /** For each line the hash of it and the next two, and the next older line in its list; 0 for the oldest. */
  #places = new Int32Array(PLACE_FIELDS * FEWEST_LINES);
  #next = 1;
  #removedLines = 0;
  #texts: IndexedText[] = [];
  readonly #byId = new Map<number, IndexedText>();

  add(id: number, lines: NumberedLines): void {
    const count = lines.count - 2;
    if (count <= 0) return;
    const text: IndexedText = { id, count, first: this.#next, isRemoved: false };
    this.#byId.set(id, text);
    this.#reserve(count);
    for (let line = 0; line < count; line++) this.#places[PLACE_FIELDS * (text.first + line)] = lines.hashOfThree(line);
    this.#list(text);
  }

  remove(id: number): void {
    const text = this.#byId.get(id);
    if (!text) return;
    this.#byId.delete(id);
    text.isRemoved = true;
    this.#removedLines += text.count;
    if (this.#removedLines > Math.max(FEWEST_LINES, MOST_REMOVED * this.#next)) this.#forgetRemoved();
  }

  /** The next line from here on whose three lines may be in the index; the number of lines if there is none. */
  nextLikely(lines: NumberedLines, from: number): number {
    for (let line = from; line < lines.count; line++) {
      const hash = lines.hashOfThree(line);
      if (hash !== 0 && this.#newest.get(hash) !== 0) return line;
    }
    return lines.count;
  }

  /** The end of the lines from here on that each are one of three which may be in the index, or of three that are too short for it. */
  endOfLikely(lines: NumberedLines, from: number): number {
    let end = from + 3;
    for (let line = from + 1; line < end && line < lines.count; line++) {
      const hash = lines.hashOfThree(line);
      if (hash === 0 || this.#newest.get(hash) !== 0) end = line + 3;
    }
    return Math.min(end, lines.count);
  }

  /** The newest places where the three lines may be, because their hashes are equal, in texts that may be used. */
  find(lines: NumberedLines, line: number, isUsable: (id: number) => boolean = () => true): Place[] {
    const newest = this.#newest.get(lines.hashOfThree(line));
    const found: Place[] = [];
    let passed = 0;
    let newer = newest;
    for (let place = newest; place !== 0 && found.length < MOST_PLACES; place = this.#olderThan(place)) {
      const { id, first, isRemoved } = this.#textAt(place);
      if (!isRemoved && isUsable(id)) found.push({ id, line: place - first });
      else if (!isRemoved && ++passed === MOST_PASSED) break;
      // The newest stays in the list, because the table has its number.
      if (isRemoved && place !== newest) this.#setOlder(newer, this.#olderThan(place));
      else newer = place;
    }
    return found;
  }

  /** Adds the lines of a text to their lists. */
  #list(text: IndexedText): void {
    this.#texts.push(text);
    let before = 0;
    for (let place = text.first; place < text.first + text.count; place++) {
      const hash = this.#places[PLACE_FIELDS * place] as number;
      // If the same line repeats, the first place begins the longest run.
      if (hash !== 0 && hash !== before) this.#insert(hash, place, text.id);
      before = hash;
    }
  }

  #insert(hash: number, place: number, id: number): void {
    const newest = this.#newest.set(hash, place);
    this.#setOlder(place, newest);
    if (newest === 0 || this.#textAt(newest).id <= id) return;
    // An older text was added: its place goes after all newer ones.
    this.#newest.set(hash, newest);
    let newer = newest;
    let older = this.#olderThan(newer);
    for (; older !== 0 && this.#textAt(older).id > id; older = this.#olderThan(older)) newer = older;
    this.#setOlder(newer, place);
    this.#setOlder(place, older);
  }

  #reserve(lines: number): void {
    this.#newest.reserve(lines);
    this.#next += lines;
    const { length } = this.#places;
    if (PLACE_FIELDS * this.#next <= length) return;
    const larger = new Int32Array(Math.max(PLACE_FIELDS * this.#next, length * 2));
    larger.set(this.#places);
    this.#places = larger;
  }

  /** Moves the other texts to the front, and lists their lines again. */
  #forgetRemoved(): void {
    const kept = this.#texts.filter(({ isRemoved }) => !isRemoved);
    // As many lines will be added again. Without room for them, the table would be rebuilt several times.
    this.#newest.clear(this.#next);
    this.#next = 1;
    this.#removedLines = 0;
    this.#texts = [];
    for (const text of kept) {
      const from = PLACE_FIELDS * text.first;
      this.#places.copyWithin(PLACE_FIELDS * this.#next, from, from + PLACE_FIELDS * text.count);
      text.first = this.#next;
      this.#next += text.count;
      this.#list(text);
    }
  }

  #olderThan(place: number): number {
    return this.#places[PLACE_FIELDS * place + 1] as number;
  }

  #setOlder(place: number, older: number): void {
    this.#places[PLACE_FIELDS * place + 1] = older;
  }

  /** The text that has a line: the last one that begins at or before it. */
  #textAt(place: number): IndexedText {
    let [low, high] = [0, this.#texts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#texts[middle] as IndexedText).first <= place) low = middle;
      else high = middle - 1;
    }
    return this.#texts[low] as IndexedText;
  }
}

const PLACE_FIELDS = 2;
const FEWEST_LINES = 256;
/** All lines are listed again once for each three that were removed. */
const MOST_REMOVED = 0.75;

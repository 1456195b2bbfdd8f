import { randomInt } from 'node:crypto';
import type { DiskFile } from './disk.ts';
import { PAGE, type Page, Pages, type PagesOptions } from './pages.ts';

/** In words. A page begins with its number of entries and the page that follows it (8 bytes each). */
const HEADER = 8;
const ENTRY = 4;
export const PER_PAGE = (PAGE / 4 - HEADER) / ENTRY;
const MOST_FILLED = 0.8;

/** Positions and sizes are multiples of this. */
const UNIT = 16;
/** The size, in units, of entries that are too large to record. */
const LARGE = 65_535;
const MARK = 0x8000;

/** The target of a key: the position of a record, and its size. */
export interface Entry {
  readonly position: number;
  /** At most 65,535 units, even for larger records. */
  readonly bytes: number;
  /** Whether its key was marked. */
  readonly isMarked: boolean;
}

/** A key: 64 bits of a hash. Two items may share a key, so callers must check the record that the entry points to. */
export interface Key {
  readonly low: number;
  readonly high: number;
}

export interface HashShape {
  /** Written into every page, so that a page of another file is recognised. */
  readonly id: number;
  /** Increases with every checkpoint. A page of a later checkpoint does not match the others. */
  readonly epoch: number;
  readonly level: number;
  readonly next: number;
  readonly entries: number;
  readonly pages: number;
  readonly free: readonly number[];
  /** The first page of each bucket. */
  readonly buckets: readonly number[];
}

export interface LinearHashOptions extends Omit<PagesOptions, 'id' | 'epoch' | 'count'> {
  readonly shape?: HashShape;
}

/**
 * Linear hashing in pages of 4 KB: two buckets at first, one bucket split in turn whenever the table is four fifths full,
 * so that it grows without ever being rewritten. Pages that do not fit into one follow in a chain.
 * Changed pages stay in memory until they are taken for a checkpoint.
 */
export class LinearHash {
  readonly #pages: Pages;
  readonly #id: number;
  readonly #buckets: number[];
  readonly #free: number[];
  /** Buffer for the entry that is being added. */
  readonly #entry = new Uint32Array(ENTRY);
  #level: number;
  /** Selects the low bits of a key, which are the number of its bucket. Split buckets use one more bit. */
  #mask: number;
  #next: number;
  #entries: number;
  #pageCount: number;

  constructor({ shape = emptyShape(), ...options }: LinearHashOptions = {}) {
    const { id, epoch, pages: count } = shape;
    this.#pages = new Pages({ ...options, id, epoch, count });
    this.#id = id;
    this.#buckets = [...shape.buckets];
    this.#free = [...shape.free];
    this.#level = shape.level;
    this.#mask = 2 ** shape.level - 1;
    this.#next = shape.next;
    this.#entries = shape.entries;
    this.#pageCount = shape.pages;
    for (let i = this.#buckets.length; i < 2; i++) this.#buckets.push(this.#allocate().id);
  }

  get shape(): HashShape {
    return {
      id: this.#id,
      epoch: this.#pages.epoch,
      level: this.#level,
      next: this.#next,
      entries: this.#entries,
      pages: this.#pageCount,
      free: [...this.#free],
      buckets: [...this.#buckets],
    };
  }

  /** The size of all pages. */
  get bytes(): number {
    return this.#pageCount * PAGE;
  }

  get dirtyPages(): number {
    return this.#pages.dirty;
  }

  /** The first entry of a key that `accept` accepts. */
  find({ low, high }: Key, accept: (entry: Entry) => boolean): Entry | undefined {
    for (let id = this.#buckets[this.#bucketOf(low)] as number; id !== 0; ) {
      const { words } = this.#pages.get(id);
      const end = endOf(words);
      for (let i = firstOf(words, low); i < end && words[i] === low; i += ENTRY) {
        const entry = words[i + 1] === high ? readEntry(words, i) : undefined;
        if (entry && accept(entry)) return entry;
      }
      id = words[2] as number;
    }
    return undefined;
  }

  add(key: Key, entry: Entry): void {
    writeEntry(this.#entry, 0, key, entry);
    this.#place(this.#bucketOf(key.low), this.#entry, 0);
    this.#entries += 1;
    if (this.#entries > MOST_FILLED * PER_PAGE * this.#buckets.length) this.#split();
  }

  /** Replaces the entry of a key that points to the position `from`. */
  move(key: Key, from: number, to: Entry): boolean {
    return this.#visit(key, (page, i) => {
      if (positionAt(page.words, i) !== from) return false;
      writeEntry(page.words, i, key, to);
      this.#pages.touch(page);
      return true;
    });
  }

  /** Marks all entries of a key. Returns whether there were any. */
  mark(key: Key): boolean {
    let isThere = false;
    this.#visit(key, (page, i) => {
      const last = page.words[i + 3] as number;
      page.words[i + 3] = last | MARK;
      if ((last & MARK) === 0) this.#pages.touch(page);
      isThere = true;
      return false;
    });
    return isThere;
  }

  remove(key: Key, position: number): boolean {
    return this.#visit(key, (page, i) => {
      const { words } = page;
      if (positionAt(words, i) !== position) return false;
      const end = endOf(words);
      words.copyWithin(i, i + ENTRY, end);
      words.fill(0, end - ENTRY, end);
      words[0] = (words[0] as number) - 1;
      this.#pages.touch(page);
      this.#entries -= 1;
      return true;
    });
  }

  *entries(): Generator<Entry> {
    for (const first of this.#buckets) {
      for (let page = this.#pages.get(first); ; page = this.#pages.get(page.words[2] as number)) {
        for (let n = 0; n < (page.words[0] as number); n++) yield readEntry(page.words, HEADER + ENTRY * n);
        if (page.words[2] === 0) break;
      }
    }
  }

  /** The changed pages, for a checkpoint. Copy them at once. Call `release` afterwards, or `giveBack` on failure. */
  takeDirty(file: DiskFile): Page[] {
    return this.#pages.takeDirty(file);
  }

  giveBack(taken: readonly Page[]): void {
    this.#pages.giveBack(taken);
  }

  release(): void {
    this.#pages.release();
  }

  #bucketOf(low: number): number {
    const bucket = (low & this.#mask) >>> 0;
    return bucket < this.#next ? (low & (2 * this.#mask + 1)) >>> 0 : bucket;
  }

  /** Visits the entries of a key, to change them, until `visit` returns true. */
  #visit({ low, high }: Key, visit: (page: Page, i: number) => boolean): boolean {
    for (let id = this.#buckets[this.#bucketOf(low)] as number; id !== 0; ) {
      const page = this.#pages.get(id);
      const { words } = page;
      const end = endOf(words);
      for (let i = firstOf(words, low); i < end && words[i] === low; i += ENTRY)
        if (words[i + 1] === high && visit(page, i)) return true;
      id = words[2] as number;
    }
    return false;
  }

  /** Adds the entry at `from` to a bucket. */
  #place(bucket: number, entry: Uint32Array, from: number): void {
    let page = this.#pages.get(this.#buckets[bucket] as number);
    while ((page.words[0] as number) === PER_PAGE) {
      if (page.words[2] === 0) {
        const more = this.#allocate();
        page.words[2] = more.id;
        this.#pages.touch(page);
      }
      page = this.#pages.get(page.words[2] as number);
    }
    const { words } = page;
    const to = firstOf(words, entry[from] as number);
    if (to < endOf(words)) words.copyWithin(to + ENTRY, to, endOf(words));
    for (let n = 0; n < ENTRY; n++) words[to + n] = entry[from + n] as number;
    words[0] = (words[0] as number) + 1;
    this.#pages.touch(page);
  }

  /** Splits the next bucket in turn: half of its keys move to a new one. */
  #split(): void {
    const old = this.#next;
    const entries: Uint32Array[] = [];
    for (let id = this.#buckets[old] as number; id !== 0; ) {
      const page = this.#pages.get(id);
      entries.push(page.words.slice(HEADER, HEADER + ENTRY * (page.words[0] as number)));
      id = page.words[2] as number;
      page.words.fill(0);
      this.#pages.touch(page);
      if (page.id !== this.#buckets[old]) this.#free.push(page.id);
    }
    this.#buckets.push(this.#allocate().id);
    this.#next += 1;
    if (this.#next > this.#mask) {
      this.#level += 1;
      this.#mask = 2 ** this.#level - 1;
      this.#next = 0;
    }
    for (const words of entries) {
      for (let i = 0; i < words.length; i += ENTRY) this.#place(this.#bucketOf(words[i] as number), words, i);
    }
  }

  #allocate(): Page {
    return this.#pages.create(this.#free.pop() ?? this.#pageCount++);
  }
}

const emptyShape = (): HashShape => ({
  id: randomInt(1, 2 ** 32),
  epoch: 0,
  level: 1,
  next: 0,
  entries: 0,
  // Page 0 is never used, so a link to it means the end of a chain.
  pages: 1,
  free: [],
  buckets: [],
});

const endOf = (words: Uint32Array): number => HEADER + ENTRY * (words[0] as number);

/**
 * The index of the first entry whose key is not below this one. Entries are sorted by their low words. These are evenly
 * distributed, so the search begins near the expected index.
 */
function firstOf(words: Uint32Array, low: number): number {
  const end = endOf(words);
  let i = HEADER + ENTRY * Math.floor((words[0] as number) * (low / 2 ** 32));
  while (i > HEADER && (words[i - ENTRY] as number) >= low) i -= ENTRY;
  while (i < end && (words[i] as number) < low) i += ENTRY;
  return i;
}

const positionAt = (words: Uint32Array, i: number): number =>
  ((words[i + 2] as number) + ((words[i + 3] as number) & (MARK - 1)) * 2 ** 32) * UNIT;

function readEntry(words: Uint32Array, i: number): Entry {
  const last = words[i + 3] as number;
  return { position: positionAt(words, i), bytes: (last >>> 16) * UNIT, isMarked: (last & MARK) !== 0 };
}

function writeEntry(words: Uint32Array, i: number, { low, high }: Key, { position, bytes, isMarked }: Entry): void {
  const units = position / UNIT;
  words[i] = low;
  words[i + 1] = high;
  words[i + 2] = units % 2 ** 32;
  words[i + 3] = Math.floor(units / 2 ** 32) | (isMarked ? MARK : 0) | (Math.min(LARGE, bytes / UNIT) << 16);
}

import { randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { DiskFile } from './disk.ts';

export const PAGE = 4096;
/** Record count and next page (8 bytes each), then checksum, page number, epoch and the index's id (4 bytes each). */
const HEADER = 32;
const ENTRY = 16;
export const PER_PAGE = (PAGE - HEADER) / ENTRY;
const MOST_FILLED = 0.8;

/** Where a key points: the position of a record, and how large it is at most. */
export interface Entry {
  readonly position: number;
  /** In units of 64 bytes; 65,535 where it is larger than that tells. */
  readonly size: number;
}

/** A key: 64 bits of a hash. Two things may share it, so whoever asks must look at what the entry points to. */
export interface Key {
  readonly low: number;
  readonly high: number;
}

export interface HashShape {
  /** Stands in every page, so that a page of another file is no page of this one. */
  readonly id: number;
  /** One more with every checkpoint. A page of a later one does not fit to the others. */
  readonly epoch: number;
  readonly level: number;
  readonly next: number;
  readonly entries: number;
  readonly pages: number;
  readonly free: readonly number[];
  /** The first page of each bucket. */
  readonly buckets: readonly number[];
}

interface Page {
  readonly id: number;
  readonly words: Uint32Array;
  readonly bytes: Buffer;
  isDirty: boolean;
  isUsed: boolean;
}

/** A page that is damaged, of another file or of a later checkpoint: the index must be read or built anew. */
export class DamagedPage extends Error {}

export interface LinearHashOptions {
  /** Where its pages stand; in memory only without one. */
  readonly file?: DiskFile | undefined;
  readonly shape?: HashShape;
  readonly newer?: ReadonlyMap<number, Buffer>;
  /** How many unchanged pages stay in memory. */
  readonly cachePages?: number | undefined;
}

/**
 * Linear hashing in pages of 4 KB: two buckets at first, one bucket split in turn whenever the table is four fifths full,
 * so that it grows without ever being rewritten. Pages that do not fit into one follow in a chain.
 * Changed pages stay in memory until they are taken for a checkpoint.
 */
export class LinearHash {
  readonly #pages = new Map<number, Page>();
  readonly #limit: number;
  readonly #id: number;
  /** Pages that are newer than what stands in the file. */
  readonly #newer: ReadonlyMap<number, Buffer>;
  #file: DiskFile | undefined;
  #epoch: number;
  #buckets: number[];
  #free: number[];
  #level: number;
  #next: number;
  #entries: number;
  #pageCount: number;
  #dirty = 0;
  #isHeld = false;

  constructor({ file, shape = emptyShape(), newer = new Map(), cachePages = 8192 }: LinearHashOptions = {}) {
    this.#file = file;
    this.#limit = cachePages;
    this.#newer = newer;
    this.#id = shape.id;
    this.#epoch = shape.epoch;
    this.#buckets = [...shape.buckets];
    this.#free = [...shape.free];
    this.#level = shape.level;
    this.#next = shape.next;
    this.#entries = shape.entries;
    this.#pageCount = shape.pages;
    for (let i = this.#buckets.length; i < 2; i++) this.#buckets.push(this.#allocate().id);
  }

  get shape(): HashShape {
    return {
      id: this.#id,
      epoch: this.#epoch,
      level: this.#level,
      next: this.#next,
      entries: this.#entries,
      pages: this.#pageCount,
      free: this.#free,
      buckets: this.#buckets,
    };
  }

  get dirtyPages(): number {
    return this.#dirty;
  }

  /** The first entry of a key that `accept` recognises. */
  find(key: Key, accept: (entry: Entry) => boolean): Entry | undefined {
    for (let page = this.#first(key); ; page = this.#page(page.words[2] as number)) {
      const { words } = page;
      const end = HEADER / 4 + (words[0] as number) * 4;
      for (let i = HEADER / 4; i < end; i += 4) {
        if (words[i] !== key.low || words[i + 1] !== key.high) continue;
        const entry = readEntry(words, i);
        if (accept(entry)) return entry;
      }
      if (words[2] === 0) return undefined;
    }
  }

  add(key: Key, entry: Entry): void {
    this.#insert(this.#bucketOf(key), key, entry);
    this.#entries += 1;
    if (this.#entries > MOST_FILLED * PER_PAGE * this.#buckets.length) this.#split();
  }

  /** Points the entry of a key that stood at a position to another. */
  move(key: Key, from: number, to: Entry): boolean {
    return this.#change(key, from, (page, i) => {
      writeEntry(page.words, i, key, to);
      this.#touch(page);
    });
  }

  remove(key: Key, position: number): boolean {
    return this.#change(key, position, (page, i) => {
      const { words } = page;
      const last = HEADER / 4 + ((words[0] as number) - 1) * 4;
      words.copyWithin(i, last, last + 4);
      words.fill(0, last, last + 4);
      words[0] = (words[0] as number) - 1;
      this.#touch(page);
      this.#entries -= 1;
    });
  }

  *entries(): Generator<Entry> {
    for (const first of this.#buckets) {
      for (let page = this.#page(first); ; page = this.#page(page.words[2] as number)) {
        for (let n = 0; n < (page.words[0] as number); n++) yield readEntry(page.words, HEADER / 4 + 4 * n);
        if (page.words[2] === 0) break;
      }
    }
  }

  /**
   * Copies of the changed pages, sealed, for a file that has all the others. Until `release`, none is forgotten: they do
   * not stand in the file yet.
   */
  takeDirty(file: DiskFile): { readonly id: number; readonly bytes: Buffer }[] {
    const taken: { id: number; bytes: Buffer }[] = [];
    this.#file = file;
    this.#epoch += 1;
    for (const page of this.#pages.values()) {
      if (!page.isDirty) continue;
      page.words[6] = this.#epoch;
      page.words[7] = this.#id;
      page.words[4] = checksumOf(page);
      taken.push({ id: page.id, bytes: Buffer.from(page.bytes) });
      page.isDirty = false;
    }
    this.#dirty = 0;
    this.#isHeld = true;
    return taken;
  }

  release(): void {
    this.#isHeld = false;
    this.#evict();
  }

  #bucketOf({ low }: Key): number {
    const bucket = (low & (2 ** this.#level - 1)) >>> 0;
    return bucket < this.#next ? (low & (2 ** (this.#level + 1) - 1)) >>> 0 : bucket;
  }

  #first(key: Key): Page {
    return this.#page(this.#buckets[this.#bucketOf(key)] as number);
  }

  #insert(bucket: number, key: Key, entry: Entry): void {
    let page = this.#page(this.#buckets[bucket] as number);
    while ((page.words[0] as number) === PER_PAGE) {
      if (page.words[2] === 0) {
        const more = this.#allocate();
        page.words[2] = more.id;
        this.#touch(page);
      }
      page = this.#page(page.words[2] as number);
    }
    writeEntry(page.words, HEADER / 4 + 4 * (page.words[0] as number), key, entry);
    page.words[0] = (page.words[0] as number) + 1;
    this.#touch(page);
  }

  #change(key: Key, position: number, apply: (page: Page, index: number) => void): boolean {
    for (let page = this.#first(key); ; page = this.#page(page.words[2] as number)) {
      const { words } = page;
      const end = HEADER / 4 + (words[0] as number) * 4;
      for (let i = HEADER / 4; i < end; i += 4) {
        if (words[i] !== key.low || words[i + 1] !== key.high || readEntry(words, i).position !== position) continue;
        apply(page, i);
        return true;
      }
      if (words[2] === 0) return false;
    }
  }

  /** Takes the next bucket in turn apart: half of its keys go to a new one. */
  #split(): void {
    const old = this.#next;
    const moved: [Key, Entry][] = [];
    for (let id = this.#buckets[old] as number; id !== 0; ) {
      const page = this.#page(id);
      for (let n = 0; n < (page.words[0] as number); n++) {
        const i = HEADER / 4 + 4 * n;
        moved.push([{ low: page.words[i] as number, high: page.words[i + 1] as number }, readEntry(page.words, i)]);
      }
      id = page.words[2] as number;
      page.words.fill(0);
      this.#touch(page);
      if (page.id !== this.#buckets[old]) this.#free.push(page.id);
    }
    this.#buckets.push(this.#allocate().id);
    this.#next += 1;
    if (this.#next === 2 ** this.#level) {
      this.#level += 1;
      this.#next = 0;
    }
    for (const [key, entry] of moved) this.#insert(this.#bucketOf(key), key, entry);
  }

  #allocate(): Page {
    const reused = this.#free.pop();
    const id = reused ?? this.#pageCount++;
    // Page 0 is never used: a link to it means that there is none.
    if (id === 0) return this.#allocate();
    const bytes = Buffer.alloc(PAGE);
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset, PAGE / 4);
    const known = this.#pages.get(id);
    if (known?.isDirty) this.#dirty -= 1;
    const page = { id, bytes, words, isDirty: false, isUsed: true };
    words[5] = id;
    this.#pages.set(id, page);
    this.#touch(page);
    return page;
  }

  #page(id: number): Page {
    const known = this.#pages.get(id);
    if (known) {
      known.isUsed = true;
      return known;
    }
    const bytes = Buffer.alloc(PAGE);
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset, PAGE / 4);
    const page: Page = { id, bytes, words, isDirty: false, isUsed: true };
    const read = this.#newer.get(id)?.copy(bytes) ?? this.#file?.read(bytes, id * PAGE) ?? 0;
    const isOurs = words[5] === id && (words[6] as number) <= this.#epoch && words[7] === this.#id;
    if (read < PAGE || !isOurs || words[4] !== checksumOf(page)) throw new DamagedPage(`page ${id} of the index`);
    // Before it is among them: what was just read must not be the one that goes.
    if (this.#pages.size >= this.#limit) this.#evict();
    this.#pages.set(id, page);
    return page;
  }

  #touch(page: Page): void {
    page.words[5] = page.id;
    if (!page.isDirty) this.#dirty += 1;
    page.isDirty = true;
  }

  /** Least recently used first, roughly: what was used since its last turn goes to the end of the queue once more. */
  #evict(): void {
    if (this.#isHeld || !this.#file) return;
    let turns = 2 * this.#pages.size;
    for (const page of this.#pages.values()) {
      if (this.#pages.size < this.#limit || turns-- === 0) return;
      this.#pages.delete(page.id);
      if (page.isUsed || page.isDirty) this.#pages.set(page.id, page);
      page.isUsed = false;
    }
  }
}

const emptyShape = (): HashShape => ({
  id: randomInt(1, 2 ** 32),
  epoch: 0,
  level: 1,
  next: 0,
  entries: 0,
  pages: 1,
  free: [],
  buckets: [],
});

function checksumOf({ words, bytes }: Pick<Page, 'words' | 'bytes'>): number {
  const kept = words[4] as number;
  words[4] = 0;
  const checksum = crc32(bytes);
  words[4] = kept;
  return checksum;
}

function readEntry(words: Uint32Array, i: number): Entry {
  const high = words[i + 3] as number;
  return { position: (words[i + 2] as number) + (high & 0xffff) * 2 ** 32, size: high >>> 16 };
}

function writeEntry(words: Uint32Array, i: number, { low, high }: Key, { position, size }: Entry): void {
  words[i] = low;
  words[i + 1] = high;
  words[i + 2] = position % 2 ** 32;
  words[i + 3] = (Math.floor(position / 2 ** 32) & 0xffff) | (size << 16);
}

import { crc32 } from 'node:zlib';
import type { DiskFile } from './disk.ts';

export const PAGE = 4096;

/**
 * A page of the index, as words. The first four belong to the caller. Then come its checksum, its number, the checkpoint that
 * wrote it and the id of the index.
 */
export interface Page {
  readonly id: number;
  readonly words: Uint32Array;
  readonly bytes: Buffer;
  isDirty: boolean;
  isUsed: boolean;
}

const CHECKSUM = 4;
const NUMBER = 5;
const EPOCH = 6;
const INDEX = 7;

/** Pages that are newer than those in the file. */
export interface ChangedPages {
  /** The page numbers, in order. */
  readonly ids: readonly number[];
  /** The content of the pages, in a row. */
  readonly pages: Buffer;
}

interface CopyOptions {
  /** The file that holds the pages in a row. */
  readonly from: DiskFile;
  /** The position of the first page. */
  readonly start: number;
  readonly ids: readonly number[];
  readonly to: DiskFile;
}

/** The number of pages that are copied at once. */
export const AT_ONCE = 256;

/** Copies pages to their places. Adjacent pages are copied together. */
export function copyPages({ from, start, ids, to }: CopyOptions): void {
  const chunk = Buffer.allocUnsafeSlow(Math.min(AT_ONCE, ids.length) * PAGE);
  for (let first = 0, next = 1; first < ids.length; first = next++) {
    const id = ids[first] as number;
    while (next - first < AT_ONCE && ids[next] === id + next - first) next++;
    const bytes = chunk.subarray(0, (next - first) * PAGE);
    from.read(bytes, start + first * PAGE);
    to.write(bytes, id * PAGE);
  }
}

/** A page that is damaged, of another file or of a later checkpoint. The index must be read or built again. */
export class DamagedPage extends Error {}

export interface PagesOptions {
  /** The file of the pages. Without one they are only in memory. */
  readonly file?: DiskFile | undefined;
  /** Written into every page, so that a page of another file is recognised. */
  readonly id: number;
  /** Increases with every checkpoint. A page of a later checkpoint does not match the others. */
  readonly epoch: number;
  /** Pages that are newer than those in the file. */
  readonly newer?: ChangedPages | undefined;
  /** The number of pages. */
  readonly count: number;
  /** The number of unchanged pages that stay in memory. */
  readonly cachePages?: number | undefined;
}

/** Pages of a file, with a cache of recently used ones. Changed pages stay in memory until a checkpoint takes them. */
export class Pages {
  readonly #id: number;
  readonly #limit: number;
  readonly #newer: ReadonlyMap<number, Buffer>;
  /** Pages by number. Allocated at full length: an array that is filled far beyond its end becomes a slow dictionary. */
  readonly #known: (Page | undefined)[];
  #file: DiskFile | undefined;
  #epoch: number;
  #count = 0;
  #hand = 0;
  #dirty = 0;
  #isHeld = false;

  constructor({ file, id, epoch, newer, count, cachePages = 8192 }: PagesOptions) {
    this.#known = new Array(count);
    this.#file = file;
    this.#id = id;
    this.#epoch = epoch;
    this.#limit = cachePages;
    this.#newer = newer ? pagesById(newer) : new Map();
  }

  get epoch(): number {
    return this.#epoch;
  }

  get dirty(): number {
    return this.#dirty;
  }

  get(id: number): Page {
    const known = this.#known[id];
    if (!known) return this.#read(id);
    known.isUsed = true;
    return known;
  }

  /** An empty page with this number. It replaces an older one. */
  create(id: number): Page {
    const known = this.#known[id];
    if (known?.isDirty) this.#dirty -= 1;
    if (!known) this.#count += 1;
    const page = emptyPage(id);
    this.#known[id] = page;
    this.touch(page);
    return page;
  }

  /** Call this after every change of a page. */
  touch(page: Page): void {
    if (!page.isDirty) this.#dirty += 1;
    page.isDirty = true;
  }

  /**
   * The changed pages with their checksums, for a file that has all others. Copy them at once: later calls may change them. Until
   * `release`, no page is evicted, because these are not in the file yet.
   */
  takeDirty(file: DiskFile): Page[] {
    const taken = this.#known.filter((page): page is Page => page?.isDirty === true);
    this.#file = file;
    this.#epoch += 1;
    for (const page of taken) {
      page.words[NUMBER] = page.id;
      page.words[EPOCH] = this.#epoch;
      page.words[INDEX] = this.#id;
      page.words[CHECKSUM] = checksumOf(page);
      page.isDirty = false;
    }
    this.#dirty = 0;
    this.#isHeld = true;
    return taken;
  }

  /** Marks the pages of a failed checkpoint as changed again, so that the next one takes them. */
  giveBack(taken: readonly Page[]): void {
    for (const page of taken) if (this.#known[page.id] === page) this.touch(page);
    this.release();
  }

  release(): void {
    this.#isHeld = false;
    this.#evict();
  }

  #read(id: number): Page {
    const page = emptyPage(id);
    const { words, bytes } = page;
    const read = this.#newer.get(id)?.copy(bytes) ?? this.#file?.read(bytes, id * PAGE) ?? 0;
    const isOurs = words[NUMBER] === id && (words[EPOCH] as number) <= this.#epoch && words[INDEX] === this.#id;
    if (read < PAGE || !isOurs || words[CHECKSUM] !== checksumOf(page))
      throw new DamagedPage(`page ${id} of the index`);
    // Evicts before the page is added, so that the new page is not evicted itself.
    if (this.#count >= this.#limit) this.#evict();
    this.#known[id] = page;
    this.#count += 1;
    return page;
  }

  /** Evicts pages that were not used recently, by the clock algorithm. */
  #evict(): void {
    if (this.#isHeld || !this.#file) return;
    for (let turns = 2 * this.#known.length; this.#count >= this.#limit && turns > 0; turns--) {
      this.#hand = (this.#hand + 1) % this.#known.length;
      const page = this.#known[this.#hand];
      if (page && !page.isUsed && !page.isDirty) {
        this.#known[this.#hand] = undefined;
        this.#count -= 1;
      } else if (page) page.isUsed = false;
    }
  }
}

function emptyPage(id: number): Page {
  const bytes = Buffer.alloc(PAGE);
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, PAGE / 4);
  return { id, bytes, words, isDirty: false, isUsed: true };
}

const pagesById = ({ ids, pages }: ChangedPages): Map<number, Buffer> =>
  new Map(ids.map((id, n) => [id, pages.subarray(n * PAGE, (n + 1) * PAGE)]));

function checksumOf({ words, bytes }: Page): number {
  const kept = words[CHECKSUM] as number;
  words[CHECKSUM] = 0;
  const checksum = crc32(bytes);
  words[CHECKSUM] = kept;
  return checksum;
}

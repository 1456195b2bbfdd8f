import { crc32 } from 'node:zlib';
import type { DiskFile } from './disk.ts';

export const PAGE = 4096;

/**
 * A page of the index, as words. The first four are the user's; then its checksum, its number, the checkpoint that wrote
 * it and the id of the index.
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

/** Pages that are newer than what stands in their places. */
export interface ChangedPages {
  /** Their numbers, in order. */
  readonly ids: readonly number[];
  /** One behind the other. */
  readonly pages: Buffer;
}

interface CopyOptions {
  /** Where they stand one behind the other. */
  readonly from: DiskFile;
  /** The first of them. */
  readonly start: number;
  readonly ids: readonly number[];
  readonly to: DiskFile;
}

/** So many pages are moved at once. */
export const AT_ONCE = 256;

/** Copies pages to their places, those that are neighbours at once. */
export function copyPages({ from, start, ids, to }: CopyOptions): void {
  const chunk = Buffer.allocUnsafeSlow(AT_ONCE * PAGE);
  for (let first = 0, next = 1; first < ids.length; first = next++) {
    const id = ids[first] as number;
    while (next - first < AT_ONCE && ids[next] === id + next - first) next++;
    const bytes = chunk.subarray(0, (next - first) * PAGE);
    from.read(bytes, start + first * PAGE);
    to.write(bytes, id * PAGE);
  }
}

/** A page that is damaged, of another file or of a later checkpoint: the index must be read or built anew. */
export class DamagedPage extends Error {}

export interface PagesOptions {
  /** Where they stand; in memory only without one. */
  readonly file?: DiskFile | undefined;
  /** Stands in every page, so that a page of another file is no page of this one. */
  readonly id: number;
  /** One more with every checkpoint. A page of a later one does not fit to the others. */
  readonly epoch: number;
  /** Pages that are newer than what stands in the file. */
  readonly newer?: ChangedPages | undefined;
  /** How many there are. */
  readonly count: number;
  /** How many unchanged pages stay in memory. */
  readonly cachePages?: number | undefined;
}

/** Pages of a file, those used lately in memory. Changed ones stay there until they are taken for a checkpoint. */
export class Pages {
  readonly #id: number;
  readonly #limit: number;
  readonly #newer: ReadonlyMap<number, Buffer>;
  /** By number. As long as it is going to be: one that is filled from far behind its end becomes a slow dictionary. */
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

  /** An empty page, in place of what had this number. */
  create(id: number): Page {
    const known = this.#known[id];
    if (known?.isDirty) this.#dirty -= 1;
    if (!known) this.#count += 1;
    const page = emptyPage(id);
    this.#known[id] = page;
    this.touch(page);
    return page;
  }

  /** Whoever changes a page says so. */
  touch(page: Page): void {
    if (!page.isDirty) this.#dirty += 1;
    page.isDirty = true;
  }

  /**
   * The changed pages, sealed, for a file that has all the others. They are to be copied at once: the next who comes may
   * change them. Until `release`, none is forgotten: they do not stand in the file yet.
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

  /** Of a checkpoint that failed: the next one takes them too. */
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
    // Before it is among them: what was just read must not be the one that goes.
    if (this.#count >= this.#limit) this.#evict();
    this.#known[id] = page;
    this.#count += 1;
    return page;
  }

  /** Least recently used first, roughly: a hand goes round, and takes what was not used since it came by last. */
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

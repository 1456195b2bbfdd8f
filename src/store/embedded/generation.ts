import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { PalimpsestError } from '../../errors.ts';
import type { Problem } from '../store.ts';
import { Catalogue } from './catalogue/catalogue.ts';
import type { Disk, DiskFile } from './disk.ts';
import { type Journal, type Meta, readJournal, readMeta, writeJournal, writeMeta } from './journal.ts';
import { LinearHash } from './linear-hash.ts';
import {
  aligned,
  FORMAT,
  findId,
  type Gap,
  isGap,
  isKnownFormat,
  type LogRecord,
  MOVED,
  OLDEST_FORMAT,
  readRecord,
  readStart,
  recordBytes,
  START,
  usedSize,
  writeRecord,
} from './log.ts';
import { LogFile } from './log-file.ts';
import { type ChangedPages, copyPages, DamagedPage, type Page } from './pages.ts';
import { noBody } from './records.ts';

/** When the index is written, and how much of it stays in memory. */
export interface Limits {
  readonly checkpointBytes?: number;
  readonly checkpointPages?: number;
  readonly cachePages?: number;
  /** The clock, in ms since the epoch. */
  readonly now?: () => number;
}

/** The location of a generation. */
export interface Place {
  readonly disk: Disk;
  readonly folder: string;
  readonly number: number;
  readonly limits?: Limits | undefined;
}

/** One generation of a store: a log, which is the truth, and an index into it, which can be rebuilt. */
export class Generation {
  readonly number: number;
  lost: Problem[] = [];
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #limits: Limits;
  readonly #mode: 'read' | 'write';
  readonly #log: LogFile;
  #indexFile: DiskFile | undefined;
  #index: LinearHash;
  #catalogue: Catalogue;
  #checkpoint = 0;
  #isCheckpointing = false;
  /** After the applied records there are bytes that are no record, or not yet. */
  #isUnfinished = false;
  #holders = 0;
  #isRetired = false;
  #lookedAt = performance.now();

  private constructor({ disk, folder, number, limits = {} }: Place, mode: 'read' | 'write', log: DiskFile) {
    this.#disk = disk;
    this.#folder = folder;
    this.#limits = limits;
    this.number = number;
    this.#mode = mode;
    this.#log = new LogFile(log, `${number}.log`);
    this.#index = this.#emptyIndex();
    this.#catalogue = this.#catalogueOf();
  }

  /** Fails if a file with this name exists: another writer uses the number. */
  static async create(place: Place): Promise<Generation> {
    const log = place.disk.open(pathOf(place, 'log'), 'create');
    const generation = new Generation(place, 'write', log);
    generation.#log.id = randomInt(1, 2 ** 32);
    try {
      generation.#log.writeStart();
      await generation.checkpoint();
    } catch (error) {
      generation.close();
      Generation.remove(place);
      throw error;
    }
    return generation;
  }

  /** Removes the log last: while it exists, no other writer takes this number. */
  static remove(place: Place): void {
    for (const kind of ['index', 'meta', 'meta.next', 'journal', 'journal.next', 'current', 'log'])
      place.disk.remove(pathOf(place, kind));
  }

  /** Opens a generation for writing and applies records that its index does not contain yet. */
  static async open(place: Place): Promise<Generation> {
    const path = pathOf(place, 'log');
    const isThere = place.disk.exists(path);
    const generation = new Generation(place, 'write', place.disk.open(path, isThere ? 'write' : 'create'));
    try {
      generation.#checkFormat();
      await generation.#raiseFormat();
      // Records must be durable before the index points to them: after a truncation their positions are reused.
      if (!generation.#load(await generation.#finishCheckpoint())) await generation.checkpoint();
      // Records that a killed process wrote must be durable too, above all deletions.
      else if (generation.isChanged) await generation.sync();
    } catch (error) {
      generation.close();
      throw error;
    }
    return generation;
  }

  /** Opens a generation for reading while another process writes. Throws `DamagedPage` if the index may be changing. */
  static openToRead(place: Place, { isPatient }: { readonly isPatient: boolean }): Generation {
    const generation = new Generation(place, 'read', place.disk.open(pathOf(place, 'log'), 'read'));
    try {
      generation.#checkFormat();
      // A journal is complete: all other pages are in the index, whether or not the journal's own were copied yet.
      const journal = readJournal(generation.#readFile('journal'));
      const meta = journal?.meta ?? readMeta(generation.#readFile('meta'));
      generation.#load({ meta, newer: journal, isPatient });
    } catch (error) {
      generation.close();
      throw error;
    }
    return generation;
  }

  /** Marks a log: the store continues in another generation. */
  static markMoved(place: Place): void {
    const log = place.disk.open(pathOf(place, 'log'), 'write');
    try {
      const position = aligned(usedSize(log));
      const id = readStart(log)?.id ?? findId(log) ?? 0;
      log.write(writeRecord(noBody, { type: MOVED, position, id }), position);
    } finally {
      log.close();
    }
  }

  /** Whether a log ends with the mark that the store continues in another generation. */
  static isMoved(place: Place): boolean {
    const log = place.disk.open(pathOf(place, 'log'), 'read');
    try {
      const last = aligned(usedSize(log)) - recordBytes(noBody.length);
      const id = readStart(log)?.id ?? findId(log) ?? 0;
      return last >= START && readRecord(log, last, id, 0)?.type === MOVED;
    } finally {
      log.close();
    }
  }

  /** The records of this generation, by name. */
  get catalogue(): Catalogue {
    return this.#catalogue;
  }

  /** The position up to which the log was applied. */
  get end(): number {
    return this.#log.end;
  }

  scan(from?: number): Generator<LogRecord | Gap> {
    return this.#log.scan(from);
  }

  get diskBytes(): number {
    return this.#log.end + (this.#indexFile?.size() ?? 0);
  }

  /** The bytes of the log without those that the next compaction frees. */
  get usedBytes(): number {
    return Math.max(0, this.#log.end - START - this.#catalogue.counts.deadBytes);
  }

  get isEmpty(): boolean {
    return this.#log.end <= START;
  }

  /** Whether a checkpoint is due. After a crash, only records since the last checkpoint are read again. */
  get isDue(): boolean {
    const { checkpointBytes = this.#worthCheckpoint, checkpointPages = CHECKPOINT_PAGES } = this.#limits;
    return this.#log.end - this.#checkpoint > checkpointBytes || this.#index.dirtyPages > checkpointPages;
  }

  /**
   * A few texts change nearly every page of a large index. So a checkpoint waits until the log has
   * grown by eight times the size of the index.
   */
  get #worthCheckpoint(): number {
    return Math.max(CHECKPOINT_BYTES, 8 * this.#index.bytes);
  }

  /** Whether the next process that opens this generation would have to read records again. */
  get isChanged(): boolean {
    return this.#log.end !== this.#checkpoint || this.#index.dirtyPages > 0;
  }

  sync(): Promise<unknown> {
    return this.#log.sync();
  }

  /** Removes the zeros that were written ahead for later records. */
  cut(): void {
    this.#log.cut();
  }

  /** Reserves space for the mark that the store continues elsewhere, so that a full disk cannot prevent it. */
  reserve(): void {
    this.#log.reserve();
  }

  close(): void {
    this.#log.close();
    this.#indexFile?.close();
  }

  /** Closes it after the last reader has released it. */
  retire(): void {
    this.#isRetired = true;
    if (this.#holders === 0) this.close();
  }

  hold(): void {
    this.#holders += 1;
  }

  release(): void {
    this.#holders -= 1;
    if (this.#isRetired && this.#holders === 0) this.close();
  }

  // The index and its checkpoints.

  /**
   * Makes the index durable: first a copy of its changed pages in a journal, then the pages in their places. The log may grow
   * meanwhile; those records belong to the next checkpoint. A failed checkpoint changes nothing: the next one writes all these
   * pages again, since a failed sync may have lost them.
   */
  async checkpoint(): Promise<void> {
    this.#indexFile ??= this.#createIndex();
    const [index, file] = [this.#index, this.#indexFile];
    const pages = index.takeDirty(file);
    const meta = this.#meta();
    this.#isCheckpointing = true;
    try {
      await this.#place(await this.#writeJournal(meta, pages), file);
    } catch (error) {
      index.giveBack(pages);
      if (this.#index !== index) file.close();
      // The disk may be full.
      for (const kind of ['journal.next', 'meta.next']) this.#disk.remove(this.#path(kind));
      throw error;
    } finally {
      this.#isCheckpointing = false;
    }
    if (this.#index !== index) return file.close();
    index.release();
    this.#checkpoint = meta.checkpoint;
  }

  async #writeJournal(meta: Meta, pages: readonly Page[]): Promise<Journal> {
    const next = this.#createNext('journal');
    try {
      const journal = writeJournal(next, meta, pages);
      await this.#log.sync();
      await this.#name('journal', next);
      return journal;
    } finally {
      next.close();
    }
  }

  #meta(): Meta {
    return {
      version: FORMAT,
      log: this.#log.id,
      checkpoint: this.#log.end,
      counts: { ...this.#catalogue.counts },
      shape: this.#index.shape,
      lost: this.lost,
    };
  }

  #createIndex(): DiskFile {
    this.#disk.remove(this.#path('index'));
    return this.#disk.open(this.#path('index'), 'create');
  }

  /** Copies the pages of a journal into the index, then removes the journal. */
  async #place({ meta, ids, start }: Journal, to: DiskFile): Promise<void> {
    const from = this.#disk.open(this.#path('journal'), 'read');
    try {
      copyPages({ from, start, ids, to });
    } finally {
      from.close();
    }
    await to.sync();
    await this.#replaceMeta(meta);
    this.#disk.remove(this.#path('journal'));
  }

  async #replaceMeta(meta: Meta): Promise<void> {
    const next = this.#createNext('meta');
    try {
      next.write(writeMeta(meta), 0);
      await this.#name('meta', next);
    } finally {
      next.close();
    }
  }

  /** Creates a file that gets its final name once it is complete. */
  #createNext(kind: string): DiskFile {
    this.#disk.remove(this.#path(`${kind}.next`));
    return this.#disk.open(this.#path(`${kind}.next`), 'create');
  }

  async #name(kind: string, file: DiskFile): Promise<void> {
    await file.sync();
    file.close();
    await this.#disk.rename(this.#path(`${kind}.next`), this.#path(kind));
  }

  /**
   * Repeats a checkpoint that was interrupted. A journal gets its name when it is complete. If its content is incomplete, it is
   * damaged, and the index may mix two checkpoints.
   */
  async #finishCheckpoint(): Promise<Found> {
    if (!this.#disk.exists(this.#path('journal'))) return { meta: readMeta(this.#readFile('meta')) };
    const journal = readJournal(this.#readFile('journal'));
    if (!journal) {
      this.lose(`${this.number}.journal was damaged; the index was rebuilt`);
      this.#disk.remove(this.#path('index'));
      this.#disk.remove(this.#path('journal'));
      return { meta: readMeta(this.#readFile('meta')) };
    }
    try {
      this.#indexFile = this.#disk.open(
        this.#path('index'),
        this.#disk.exists(this.#path('index')) ? 'write' : 'create',
      );
      await this.#place(journal, this.#indexFile);
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#disk.remove(this.#path('index'));
    }
    return { meta: journal.meta };
  }

  /** Returns whether the index is usable. */
  #load({ meta, newer, isPatient = false }: Found): boolean {
    this.#checkStart(meta);
    this.#note(meta?.lost ?? []);
    const problem = this.#problemWith(meta);
    if (problem && isPatient) throw new DamagedPage(problem);
    if (meta && !problem) {
      try {
        this.#start(meta, newer);
        this.#replay(meta.checkpoint);
        return true;
      } catch (error) {
        if (!isDamage(error)) throw error;
        if (isPatient) throw new DamagedPage(`${this.number}.index`);
      }
    }
    this.#rebuild(problem ?? `${this.number}.index was damaged; it was rebuilt`);
    return false;
  }

  /** Runs first: files of another version must not be repaired. */
  #checkFormat(): void {
    const format = this.#log.readStart()?.format ?? FORMAT;
    if (isKnownFormat(format)) return;
    throw new PalimpsestError(
      'BAD_INPUT',
      `Expected a store of format ${OLDEST_FORMAT} to ${FORMAT} but found ${format}; open it with the version that made it`,
    );
  }

  /** Durable before the first record of this format: an older program would lose such records in a compaction. */
  async #raiseFormat(): Promise<void> {
    const start = this.#log.readStart();
    if (!start || start.format === FORMAT) return;
    this.#log.id = start.id;
    this.#log.writeStart();
    await this.#log.sync();
  }

  /** Finds the log's id in its start, its index or its records. */
  #checkStart(meta: Meta | undefined): void {
    const start = this.#log.readStart();
    this.#log.id = start?.id ?? meta?.log ?? this.#log.findId() ?? randomInt(1, 2 ** 32);
    if (!start) this.lose(`the first ${START} bytes of ${this.number}.log are unreadable`);
  }

  /** Why the index is unusable. */
  #problemWith(meta: Meta | undefined): string | undefined {
    const size = aligned(this.#log.usedSize());
    if (!meta) return `${this.number}.meta was missing or damaged; the index was rebuilt`;
    if (meta.log !== this.#log.id) return `${this.number}.log is not the one that ${this.number}.meta was written for`;
    if (size < meta.checkpoint) return `${this.number}.log ends at ${size} but had ${meta.checkpoint} bytes at least`;
    if (!this.#disk.exists(this.#path('index'))) return `${this.number}.index was missing; it was rebuilt`;
    return undefined;
  }

  #start(meta: Meta, newer: Found['newer']): void {
    this.#indexFile ??= this.#disk.open(this.#path('index'), this.#mode);
    const { cachePages } = this.#limits;
    this.#index = new LinearHash({ file: this.#indexFile, shape: meta.shape, cachePages, newer });
    this.#catalogue = this.#catalogueOf(meta.counts);
    this.#checkpoint = meta.checkpoint;
  }

  /** Rebuilds the index from the log, because it is missing or damaged. */
  #rebuild(why: string): void {
    // If a checkpoint is writing to the file, the checkpoint closes it.
    if (!this.#isCheckpointing) this.#indexFile?.close();
    this.#indexFile = undefined;
    this.#index = this.#emptyIndex();
    this.#catalogue = this.#catalogueOf();
    this.lose(why);
    this.#checkpoint = 0;
    this.#replay(START);
  }

  #catalogueOf(counts?: Meta['counts']): Catalogue {
    return new Catalogue(this.#log, this.#index, { counts, now: this.#limits.now });
  }

  #emptyIndex(): LinearHash {
    return new LinearHash({ cachePages: this.#limits.cachePages });
  }

  /** A part of the log that was unreadable when the index was built. Its records cannot be found. */
  get unreadable(): Problem | undefined {
    return this.lost.find(({ at }) => at !== undefined);
  }

  /** Makes `verify` report a problem until it is repaired. */
  lose(what: string): void {
    this.#note([{ what, remedy: SAVED }]);
  }

  #note(problems: readonly Problem[]): void {
    const known = new Set(this.lost.map(({ what }) => what));
    this.lost = [...this.lost, ...problems.filter(({ what }) => !known.has(what))];
  }

  #path(kind: string): string {
    return pathOf({ folder: this.#folder, number: this.number }, kind);
  }

  /** Undefined if the file cannot be read: its content can be rebuilt from the log. */
  #readFile(kind: string): Buffer | undefined {
    let file: DiskFile | undefined;
    try {
      file = this.#disk.open(this.#path(kind), 'read');
      const bytes = Buffer.alloc(file.size());
      return bytes.subarray(0, file.read(bytes, 0));
    } catch {
      return undefined;
    } finally {
      file?.close();
    }
  }

  /** Applies the log from a position. An unfinished record at its end, of a killed process, was never acknowledged. */
  #replay(from: number): void {
    const size = this.#log.usedSize();
    this.#log.end = from;
    this.#isUnfinished = false;
    for (const found of this.#log.scan(from)) {
      if (isGap(found)) {
        // Another process may be writing there now.
        this.#isUnfinished = found.isCutOff || (this.#mode === 'read' && found.position + found.bytes >= size);
        if (this.#isUnfinished) break;
        this.#note([gapProblem(this.number, found)]);
      } else this.#catalogue.apply(found);
      this.#log.end = aligned(found.position + found.bytes);
    }
    if (this.#mode === 'write') this.#log.cut();
  }

  /** Rebuilds the index after one of its pages was found damaged. */
  rebuild(): void {
    this.#rebuild(`${this.number}.index was damaged; it was rebuilt`);
  }

  /** Applies records that another process wrote. Returns false if the store continues in another generation. */
  follow(): boolean {
    if (this.#isUnfinished || this.#log.hasMore()) this.#replay(this.#log.end);
    return !this.#catalogue.isMoved && !this.#isRemoved();
  }

  /** Whether the log was removed or replaced. A late write may have overwritten the mark that says so. Checked only from time to time. */
  #isRemoved(): boolean {
    const now = performance.now();
    if (now - this.#lookedAt < LOOK_MS) return false;
    this.#lookedAt = now;
    return !this.#log.isAt(this.#path('log'));
  }
}

interface Found {
  readonly meta: Meta | undefined;
  readonly newer?: ChangedPages | undefined;
  readonly isPatient?: boolean;
}

const LOOK_MS = 1000;
const CHECKPOINT_BYTES = 1 << 26;
const CHECKPOINT_PAGES = 8000;
const SAVED = 'all that could be read was saved; palimpsest store gc --repair gives up the rest';

const pathOf = ({ folder, number }: Pick<Place, 'folder' | 'number'>, kind: string): string =>
  join(folder, `${number}.${kind}`);

/** Whether an error is damage of the index, which can be rebuilt. */
const isDamage = (error: unknown): boolean =>
  error instanceof DamagedPage ||
  (error instanceof PalimpsestError && error.code === 'STORE_DAMAGED') ||
  (error as NodeJS.ErrnoException).code === 'ENOENT';

export const gapProblem = (number: number, { bytes, position }: Gap): Problem => ({
  what: `${bytes} unreadable bytes at ${position} of ${number}.log`,
  remedy: SAVED,
  at: position,
});

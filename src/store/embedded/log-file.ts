import { SCRATCH, scratch } from './checksum.ts';
import type { DiskFile } from './disk.ts';
import {
  type Body,
  findId,
  type Gap,
  type Glimpse,
  isGap,
  type LogRecord,
  placeRecord,
  readRecord,
  readStart,
  recordBegins,
  recordBytes,
  recordInScratch,
  START,
  scanLog,
  usedSize,
  writeRecord,
  writeStart,
  ZEROS,
} from './log.ts';

/** The place of a record. */
export interface Spot {
  readonly position: number;
  /** Header, body and padding together. */
  readonly bytes: number;
}

/** The type of a record, and its time in ms since the epoch. */
export interface Stamp {
  readonly type: number;
  readonly time: number;
}

interface Unwritten extends Spot {
  written(spot: Spot): void;
}

/** Large enough that one more write costs nothing, small enough for the processor's cache. */
const BUFFER = 1 << 19;
/** While a batch is written, fewer bytes are not worth a separate sync. */
const WORTH_SYNC = 1 << 20;
/** The most syncs that run at once. A long compaction would otherwise start thousands. */
const MOST_SYNCS = 16;
/** Zeros are not written ahead of larger writes: that would double the bytes to save a few syncs. */
const SMALL = 1 << 14;

/** The log of a generation. Appended records go to the disk in one write, when they are flushed or the buffer is full. */
export class LogFile {
  readonly name: string;
  /** The id of the log, written into every record. */
  id = 0;
  /** The position up to which the log was applied. */
  end = START;
  readonly #file: DiskFile;
  /** Records that are appended and not written yet, with their callbacks. A log that is only read needs no memory for them. */
  #buffer: Buffer | undefined;
  #used = 0;
  /** The end of the zeros that were written ahead. */
  #prepared = 0;
  #unwritten: Unwritten[] = [];
  /** The end of the log when the last sync began. */
  #synced = START;
  /** Running syncs, and the first one that failed. */
  readonly #syncs = new Set<Promise<unknown>>();

  constructor(file: DiskFile, name: string) {
    this.#file = file;
    this.name = name;
  }

  /** Whether the path leads to this log. */
  isAt(path: string): boolean {
    return this.#file.isAt(path);
  }

  /** The size without zeros that were written ahead. */
  usedSize(): number {
    return usedSize(this.#file);
  }

  /** Whether another process has appended records. */
  hasMore(): boolean {
    const next = Buffer.alloc(4);
    return this.#file.read(next, this.end) > 0 && next.readUInt32LE(0) !== 0;
  }

  /** Resolves when all written bytes are durable. After one failure every later call fails: the system reports it only once. */
  sync(): Promise<unknown> {
    this.#synced = this.end;
    const next = Promise.all([this.#file.sync(), ...this.#syncs]);
    this.#syncs.add(next);
    next.then(
      () => this.#syncs.delete(next),
      () => {},
    );
    return next;
  }

  /** Removes all bytes after the end. */
  cut(): void {
    if (this.#file.size() > this.end) this.#file.truncate(this.end);
    this.#prepared = 0;
  }

  /** Reserves room for one more record without a body, so that a full disk cannot refuse it. */
  reserve(): void {
    const end = this.end + recordBytes(0);
    if (end <= this.#prepared) return;
    this.#file.write(ZEROS.subarray(0, end - this.end), this.end);
    this.#prepared = end;
  }

  close(): void {
    this.#file.close();
  }

  /** Appends a record to the buffer. Returns its position. */
  append({ type, time }: Stamp, body: Body, written: (spot: Spot) => void): Spot {
    const bytes = recordBytes(body.length);
    if (this.#used + bytes > BUFFER) {
      this.flush();
      // The sync runs while more records are appended. If it fails, so does the next one.
      if (this.end - this.#synced >= WORTH_SYNC && this.#syncs.size < MOST_SYNCS) this.sync();
    }
    const spot = { position: this.end + this.#used, bytes, written };
    const place = { type, time, position: spot.position, id: this.id };
    this.#unwritten.push(spot);
    if (bytes > BUFFER) this.#write(writeRecord(body, place));
    else {
      this.#buffer ??= Buffer.allocUnsafeSlow(BUFFER);
      placeRecord(this.#buffer, this.#used, body, place);
      this.#used += bytes;
    }
    return spot;
  }

  flush(): void {
    if (this.#buffer && this.#used > 0) this.#write(this.#buffer.subarray(0, this.#used));
  }

  /** Drops records that are not written yet. */
  drop(): void {
    this.#used = 0;
    this.#unwritten = [];
  }

  #write(bytes: Buffer): void {
    const records = this.#unwritten;
    this.drop();
    if (this.end + bytes.length > this.#prepared && bytes.length <= SMALL) this.#prepare();
    try {
      this.#file.write(bytes, this.end);
    } catch (error) {
      this.#keepWhole(records);
      throw error;
    }
    this.end += bytes.length;
    for (const spot of records) spot.written(spot);
  }

  /**
   * Cleans up after a failed write. Complete records stay: a reader may have applied them, so their bytes must not change. The
   * rest is cut off, because it would look like damage before the next record.
   */
  #keepWhole(records: readonly Unwritten[]): void {
    const found = this.scan(this.end);
    for (const spot of records) {
      const { value } = found.next();
      if (!value || isGap(value)) break;
      this.end = spot.position + spot.bytes;
      spot.written(spot);
    }
    this.cut();
  }

  /** Writes zeros ahead. A sync costs a third less if the file does not grow. */
  #prepare(): void {
    try {
      this.#file.write(ZEROS, this.end);
      this.#prepared = this.end + ZEROS.length;
    } catch {
      // There may still be room for the record itself.
      this.cut();
    }
  }

  /** Undefined if the record is damaged. `guess` is its expected size. */
  read(position: number, guess: number): LogRecord | undefined {
    return readRecord(this.#file, position, this.id, guess);
  }

  /** Whether the record at a position is of a type and its body begins like this. The rest of the body is not read. */
  beginsWith({ type, position }: { readonly type: number; readonly position: number }, beginning: string): boolean {
    return recordBegins(this.#file, { type, position, id: this.id }, beginning);
  }

  /** Reads a record of known size into reused memory: the next call overwrites it. Undefined for large records too. */
  glance({ position, bytes }: Spot): Glimpse | undefined {
    if (bytes > SCRATCH) return undefined;
    return recordInScratch(this.#file.read(scratch, position, bytes), position, this.id);
  }

  readStart(): ReturnType<typeof readStart> {
    return readStart(this.#file);
  }

  /** Writes the start of the log in the current format. */
  writeStart(): void {
    this.#file.write(writeStart(this.id), 0);
  }

  findId(): number | undefined {
    return findId(this.#file);
  }

  scan(from = START): Generator<LogRecord | Gap> {
    return scanLog(this.#file, this.id, from);
  }

  /** The records that were applied. */
  *records(from = START): Generator<LogRecord> {
    for (const found of this.scan(from)) {
      if (found.position >= this.end) return;
      if (found.type !== 'gap') yield found;
    }
  }
}

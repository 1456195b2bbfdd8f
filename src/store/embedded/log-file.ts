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

/** Large enough that one more write costs nothing, small enough to stay near the processor. */
const BUFFER = 1 << 19;
/** Less than this is not worth a sync of its own while a batch is written. */
const WORTH_SYNC = 1 << 20;
/** None is seen to end before the batch does: of a compaction there would be thousands. */
const MOST_SYNCS = 16;
/** Larger writes would write as much again in zeros, for the sake of a few syncs. */
const SMALL = 1 << 14;

/** The log of a generation. Appended records go to the disk in one write, when they are flushed or the buffer is full. */
export class LogFile {
  readonly name: string;
  /** Stands in every record. */
  id = 0;
  /** How much of it was taken in. */
  end = START;
  readonly #file: DiskFile;
  /** Records that are appended and not written yet, with their callbacks. */
  readonly #buffer = Buffer.allocUnsafeSlow(BUFFER);
  #used = 0;
  /** Up to here there are zeros behind the end. */
  #prepared = 0;
  #unwritten: Unwritten[] = [];
  /** Where the last sync began. */
  #synced = START;
  /** Those that run, and one that failed. */
  readonly #syncs = new Set<Promise<unknown>>();

  constructor(file: DiskFile, name: string) {
    this.#file = file;
    this.name = name;
  }

  /** Without what was prepared for records to come. */
  usedSize(): number {
    return usedSize(this.#file);
  }

  /** Whether another process wrote behind what was taken in. */
  hasMore(): boolean {
    const next = Buffer.alloc(4);
    return this.#file.read(next, this.end) > 0 && next.readUInt32LE(0) !== 0;
  }

  /** Resolves when all that was written is durable. After one that failed all fail: the system tells only once. */
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

  /** Removes all bytes behind the end. */
  cut(): void {
    if (this.#file.size() > this.end) this.#file.truncate(this.end);
    this.#prepared = 0;
  }

  /** Room for one more record without a body: a disk that is full by then cannot refuse it. */
  reserve(): void {
    const end = this.end + recordBytes(0);
    if (end <= this.#prepared) return;
    this.#file.write(ZEROS.subarray(0, end - this.end), this.end);
    this.#prepared = end;
  }

  close(): void {
    this.#file.close();
  }

  /** Answers where the record will stand. */
  append({ type, time }: Stamp, body: Body, written: (spot: Spot) => void): Spot {
    const bytes = recordBytes(body.length);
    if (this.#used + bytes > BUFFER) {
      this.flush();
      // It is on its way to the disk while more is being made. If that fails, so does the next sync.
      if (this.end - this.#synced >= WORTH_SYNC && this.#syncs.size < MOST_SYNCS) this.sync();
    }
    const spot = { position: this.end + this.#used, bytes, written };
    const place = { type, time, position: spot.position, id: this.id };
    this.#unwritten.push(spot);
    if (bytes > BUFFER) this.#write(writeRecord(body, place));
    else {
      placeRecord(this.#buffer, this.#used, body, place);
      this.#used += bytes;
    }
    return spot;
  }

  flush(): void {
    if (this.#used > 0) this.#write(this.#buffer.subarray(0, this.#used));
  }

  /** Forgets what is not written yet. */
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
   * Of a write that failed. A reader may have taken in what is whole: other bytes must never stand there. The rest must not
   * stand behind the next record, where it would look like damage.
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

  /** To sync costs a third less where the file does not grow. */
  #prepare(): void {
    try {
      this.#file.write(ZEROS, this.end);
      this.#prepared = this.end + ZEROS.length;
    } catch {
      // The record itself may still fit.
      this.cut();
    }
  }

  /** Undefined where the record is damaged. `guess` is how long it may be. */
  read(position: number, guess: number): LogRecord | undefined {
    return readRecord(this.#file, position, this.id, guess);
  }

  /** Whether the record at a position is of a type and its body begins like this. The rest of the body is not read. */
  beginsWith({ type, position }: { readonly type: number; readonly position: number }, beginning: string): boolean {
    return recordBegins(this.#file, { type, position, id: this.id }, beginning);
  }

  /** The same into memory that the next glance uses again, for a record whose size is known; undefined also if it is large. */
  glance({ position, bytes }: Spot): Glimpse | undefined {
    if (bytes > SCRATCH) return undefined;
    return recordInScratch(this.#file.read(scratch, position, bytes), position, this.id);
  }

  readStart(): ReturnType<typeof readStart> {
    return readStart(this.#file);
  }

  /** In the format of this program. */
  writeStart(): void {
    this.#file.write(writeStart(this.id), 0);
  }

  findId(): number | undefined {
    return findId(this.#file);
  }

  scan(from = START): Generator<LogRecord | Gap> {
    return scanLog(this.#file, this.id, from);
  }

  /** Those that were taken in. */
  *records(from = START): Generator<LogRecord> {
    for (const found of this.scan(from)) {
      if (found.position >= this.end) return;
      if (found.type !== 'gap') yield found;
    }
  }
}

import type { DiskFile } from './disk.ts';
import {
  type Body,
  findId,
  type Gap,
  type LogRecord,
  placeRecord,
  readRecord,
  readStart,
  recordBytes,
  SCRATCH,
  Scratch,
  START,
  scanLog,
  writeRecord,
} from './log.ts';

/** Where a record stands. */
export interface Spot {
  readonly position: number;
  /** Header, body and padding together. */
  readonly bytes: number;
}

interface Unwritten {
  readonly spot: Spot;
  written(spot: Spot): void;
}

/** Large enough that one more write costs nothing, small enough to stay near the processor. */
const BUFFER = 1 << 20;

/** The log of a generation. What is appended goes to the disk in one write, when it is flushed or the room is used up. */
export class LogFile {
  readonly name: string;
  /** Stands in every record. */
  id = 0;
  /** How much of it was taken in. */
  end = START;
  readonly #file: DiskFile;
  /** What was appended and is not written yet, and what to do when it is. */
  readonly #buffer = Buffer.allocUnsafeSlow(BUFFER);
  #used = 0;
  #unwritten: Unwritten[] = [];
  #scratch: Scratch | undefined;
  /** The sync that runs or waits last, or that failed. */
  #syncing: Promise<void> | undefined;

  constructor(file: DiskFile, name: string) {
    this.#file = file;
    this.name = name;
  }

  size(): number {
    return this.#file.size();
  }

  /** One after the other. After one that failed all fail: the system tells only once of what it lost. */
  sync(): Promise<void> {
    const running = this.#syncing;
    const next = running ? running.then(() => this.#file.sync()) : this.#file.sync();
    this.#syncing = next;
    const forget = (): void => {
      if (this.#syncing === next) this.#syncing = undefined;
    };
    next.then(forget, () => {});
    return next;
  }

  truncate(size: number): void {
    this.#file.truncate(size);
  }

  close(): void {
    this.#file.close();
  }

  /** Answers where the record will stand. */
  append(type: number, body: Body, written: (spot: Spot) => void): Spot {
    const bytes = recordBytes(body);
    if (this.#used + bytes > BUFFER) this.flush();
    const spot = { position: this.end + this.#used, bytes };
    const place = { type, position: spot.position, id: this.id };
    this.#unwritten.push({ spot, written });
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
    try {
      this.#file.write(bytes, this.end);
    } catch (error) {
      // What was written of it must not stand behind the next record, where it would look like damage.
      this.#file.truncate(this.end);
      throw error;
    }
    this.end += bytes.length;
    for (const { spot, written } of records) written(spot);
  }

  /** Undefined where the record is damaged. `guess` is how long it may be. */
  read(position: number, guess: number): LogRecord | undefined {
    return readRecord(this.#file, position, this.id, guess);
  }

  /** The same into memory that the next glance uses again, for a record whose size is known; undefined also if it is large. */
  glance({ position, bytes }: Spot): LogRecord | undefined {
    if (bytes > SCRATCH) return undefined;
    this.#scratch ??= new Scratch();
    const length = this.#file.read(this.#scratch.bytes, position, bytes);
    return this.#scratch.record(length, position, this.id);
  }

  readStart(): ReturnType<typeof readStart> {
    return readStart(this.#file);
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

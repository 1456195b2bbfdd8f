import { PalimpsestError } from '../../errors.ts';
import { recordLimits } from '../../limits.ts';
import type { RequestRecord } from '../../report/request-record.ts';
import { inTime } from '../../store/in-time.ts';
import { codeOf, type Log } from './log.ts';
import type { RecordStore } from './record-stores.ts';

export interface RecordWriterOptions {
  open(): Promise<RecordStore>;
  readonly log: Log;
}

/** Records are written this long after the first of them: a killed process loses no more. */
const WRITE_AFTER_MS = 1000;
/** The longest wait after failures. Each failure doubles the wait. */
const MOST_WAIT_MS = 60_000;
const BATCH_RECORDS = 1000;

/** Writes the records of one tenant in the background. No request waits for it. */
export class RecordWriter {
  readonly #options: RecordWriterOptions;
  readonly #waiting: RequestRecord[] = [];
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #waitMs = WRITE_AFTER_MS;
  #dropped = 0;
  /** Records dropped since the last successful write. */
  #droppedNow = 0;
  #isFailing = false;
  #isClosed = false;

  constructor(options: RecordWriterOptions) {
    this.#options = options;
  }

  /** Records that were never written, because too many waited. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Records that are not written yet. */
  get waiting(): number {
    return this.#waiting.length;
  }

  add(record: RequestRecord): void {
    if (this.#waiting.length >= recordLimits.unwritten) this.#drop(1);
    else this.#waiting.push(record);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#timer || this.#writing || this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#write();
    }, this.#waitMs);
    this.#timer.unref();
  }

  #write(): Promise<void> {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
      if (this.#waiting.length > 0) this.#schedule();
    });
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    try {
      const store = await this.#options.open();
      while (this.#waiting.length > 0) {
        const batch = this.#waiting.slice(0, BATCH_RECORDS);
        await store.putRecords(batch).catch((error) => this.#refused(error, batch.length));
        this.#waiting.splice(0, batch.length);
        this.#succeeded();
      }
    } catch (error) {
      this.#failed(error);
    }
  }

  /** A batch that the store refuses must not delay the next ones. */
  #refused(error: unknown, records: number): void {
    if (!(error instanceof PalimpsestError) || error.code !== 'BAD_OPTION') throw error;
    this.#drop(records);
  }

  #succeeded(): void {
    this.#waitMs = WRITE_AFTER_MS;
    if (!this.#isFailing && this.#droppedNow === 0) return;
    this.#options.log({ level: 'info', message: 'records are written again', dropped: this.#droppedNow });
    this.#isFailing = false;
    this.#droppedNow = 0;
  }

  #failed(error: unknown): void {
    this.#waitMs = Math.min(2 * this.#waitMs, MOST_WAIT_MS);
    if (this.#isFailing) return;
    this.#isFailing = true;
    const message = 'records could not be written: they wait, and the report lacks them meanwhile';
    this.#options.log({ level: 'warn', message, code: codeOf(error) });
  }

  #drop(records: number): void {
    this.#dropped += records;
    if (this.#droppedNow === 0)
      this.#options.log({ level: 'warn', message: 'too many records wait to be written: further ones are dropped' });
    this.#droppedNow += records;
  }

  /** Writes all pending records, for a few seconds at most. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const written = (async () => {
      await this.#writing;
      await this.#write();
    })();
    await inTime(written, recordLimits.closeMs, () => {});
    const records = this.#waiting.length;
    if (records > 0)
      this.#options.log({ level: 'warn', message: 'records were lost: the store did not take them', records });
  }
}

import { storeLimits } from '../limits.ts';
import type { RequestRecord } from '../report/request-record.ts';
import { checkRange, checkRecords, dayOf, isInRange, type RemovedRecords } from './request-records.ts';
import type { RecordRange } from './store.ts';

/** The newest records, in memory. Each is kept as JSON, which is faster and smaller than a copy. */
export class MemoryRecords {
  #lines: string[] = [];

  get count(): number {
    return this.#lines.length;
  }

  get bytes(): number {
    return sizeOf(this.#lines);
  }

  get days(): ReadonlySet<number> {
    return new Set(this.#lines.map((line) => dayOf(toRecord(line).at)));
  }

  async putRecords(records: readonly RequestRecord[]): Promise<void> {
    checkRecords(records);
    for (const record of records) this.#lines.push(JSON.stringify(record));
    if (this.#lines.length > storeLimits.memoryRecords) this.#lines = this.#lines.slice(-storeLimits.memoryRecords);
  }

  async *records(range: RecordRange = {}): AsyncGenerator<RequestRecord> {
    checkRange(range);
    for (const line of [...this.#lines]) {
      const record = toRecord(line);
      if (isInRange(record, range)) yield record;
    }
  }

  remove(isMeant: (record: RequestRecord) => boolean, { dryRun }: { readonly dryRun: boolean }): RemovedRecords {
    const meant = this.#lines.filter((line) => isMeant(toRecord(line)));
    const removed = new Set(meant);
    if (!dryRun) this.#lines = this.#lines.filter((line) => !removed.has(line));
    return { records: meant.length, bytes: sizeOf(meant) };
  }

  clear(): void {
    this.#lines = [];
  }
}

const toRecord = (line: string): RequestRecord => JSON.parse(line) as RequestRecord;

const sizeOf = (lines: readonly string[]): number => lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);

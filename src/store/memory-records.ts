import { storeLimits } from '../limits.ts';
import type { RequestRecord } from '../report/request-record.ts';
import { checkRange, checkRecords, dayOf, isInRange, type RemovedRecords } from './request-records.ts';
import type { RecordRange } from './store.ts';

/** The newest records, in memory. */
export class MemoryRecords {
  #records: RequestRecord[] = [];

  get count(): number {
    return this.#records.length;
  }

  get bytes(): number {
    return sizeOf(this.#records);
  }

  get days(): ReadonlySet<number> {
    return new Set(this.#records.map(({ at }) => dayOf(at)));
  }

  async putRecords(records: readonly RequestRecord[]): Promise<void> {
    checkRecords(records);
    for (const record of records) this.#records.push(structuredClone(record));
    this.#records.splice(0, this.#records.length - storeLimits.memoryRecords);
  }

  async *records(range: RecordRange = {}): AsyncGenerator<RequestRecord> {
    checkRange(range);
    for (const record of this.#records.filter((one) => isInRange(one, range))) yield structuredClone(record);
  }

  remove(isMeant: (record: RequestRecord) => boolean, { dryRun }: { readonly dryRun: boolean }): RemovedRecords {
    const meant = this.#records.filter(isMeant);
    if (!dryRun) this.#records = this.#records.filter((record) => !isMeant(record));
    return { records: meant.length, bytes: sizeOf(meant) };
  }

  clear(): void {
    this.#records = [];
  }
}

const sizeOf = (records: readonly RequestRecord[]): number =>
  records.reduce((sum, record) => sum + Buffer.byteLength(JSON.stringify(record)), 0);

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PalimpsestError } from '../../errors.ts';
import { recordLimits } from '../../limits.ts';
import type { RequestRecord } from '../../report/request-record.ts';
import { MemoryRecords } from '../../store/memory-records.ts';
import type { LogEntry } from './log.ts';
import type { RecordStore } from './record-stores.ts';
import { RecordWriter } from './record-writer.ts';

const recordOf = (id: string): RequestRecord => ({
  ...{ id, at: 1, session: 's', conversation: 'c', arm: 'treated', api: 'anthropic' },
  prices: { name: 'none', read: 1, write: 1 },
  ...{ status: 200, act: 'wait', masked: 0, newMasks: 0 },
  expected: { sent: { cached: 0, written: 1 }, without: { cached: 0, written: 1 } },
  without: { cached: 0, written: 1 },
  signs: { results: 0, failed: 0, repeated: 0, recalls: 0 },
});

/** A store that fails or hangs as a test says. */
class Troubled implements RecordStore {
  readonly kept = new MemoryRecords();
  trouble: 'none' | 'fails' | 'hangs' = 'none';
  calls = 0;

  async putRecords(records: readonly RequestRecord[]): Promise<void> {
    this.calls += 1;
    if (this.trouble === 'hangs') await new Promise(() => {});
    if (this.trouble === 'fails') throw new PalimpsestError('STORE_FAILED', 'the disk is full');
    await this.kept.putRecords(records);
  }

  records(): AsyncGenerator<RequestRecord> {
    return this.kept.records();
  }
}

describe('RecordWriter', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function start() {
    const store = new Troubled();
    const logged: LogEntry[] = [];
    const writer = new RecordWriter({ open: async () => store, log: (entry) => logged.push(entry) });
    const add = (count: number, name = 'r'): void => {
      for (let i = 0; i < count; i++) writer.add(recordOf(`${name}${i}`));
    };
    return { store, logged, writer, add };
  }

  it('writes what has come in a second as one batch', async () => {
    const { store, add } = start();
    add(3);
    await vi.advanceTimersByTimeAsync(500);
    add(2, 's');
    expect(store.calls).toBe(0);
    await vi.advanceTimersByTimeAsync(500);
    expect([store.calls, store.kept.count]).toEqual([1, 5]);
  });

  it('writes each record once when a store that failed works again, and tells both', async () => {
    const { store, logged, add } = start();
    store.trouble = 'fails';
    add(3);
    await vi.advanceTimersByTimeAsync(20_000);
    // After 1, 2, 4 and 8 seconds.
    expect(store.calls).toBe(4);
    add(1, 'later');
    store.trouble = 'none';
    await vi.advanceTimersByTimeAsync(60_000);
    expect(store.kept.count).toBe(4);
    expect(logged).toMatchObject([
      { level: 'warn', message: expect.stringContaining('could not be written'), code: 'STORE_FAILED' },
      { level: 'info', message: 'records are written again', dropped: 0 },
    ]);
  });

  it('drops what is too much while a store hangs, counts it and tells it once', async () => {
    const { logged, writer, store, add } = start();
    store.trouble = 'hangs';
    for (let second = 0; second < 12; second++) {
      add(1000, `s${second}-`);
      await vi.advanceTimersByTimeAsync(1000);
    }
    expect([writer.dropped, 12_000 - recordLimits.unwritten]).toEqual([2000, 2000]);
    expect(logged).toMatchObject([{ level: 'warn', message: expect.stringContaining('dropped') }]);
  });

  it('does not wait for ever when it is closed, and tells what is lost', async () => {
    const { logged, writer, store, add } = start();
    store.trouble = 'hangs';
    add(7);
    const closed = writer.close();
    await vi.advanceTimersByTimeAsync(recordLimits.closeMs);
    await closed;
    expect(logged).toMatchObject([{ message: expect.stringContaining('were lost'), records: 7 }]);
  });

  it('writes everything when it is closed', async () => {
    const { store, writer, logged, add } = start();
    add(2500);
    await writer.close();
    expect([store.kept.count, store.calls, logged]).toEqual([2500, 3, []]);
  });

  it('gives up a batch that the store refuses, and writes the next', async () => {
    const { store, writer, add } = start();
    writer.add({ ...recordOf('x'), session: 'no/session' });
    await vi.advanceTimersByTimeAsync(1000);
    add(1);
    await vi.advanceTimersByTimeAsync(1000);
    expect([store.kept.count, writer.dropped]).toEqual([1, 1]);
  });
});

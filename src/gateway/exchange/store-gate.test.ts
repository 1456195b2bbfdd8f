import { setImmediate, setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { requestLimits } from '../../limits.ts';
import { createMemoryStore } from '../../store/memory-store.ts';
import type { Stored } from '../../store/store.ts';
import { StoreGate } from './store-gate.ts';

const COLD = { kind: 'cold-cache', prefix: 'p', order: 1, model: 'm' } as const;

describe('StoreGate', () => {
  it('tells of a store that throws where it should have promised, behind an answer too', async () => {
    const throws = (): never => {
      throw new Error('closed');
    };
    const gate = new StoreGate(Object.assign(createMemoryStore(), { putMany: throws }));
    expect((await gate.health()).ok).toBe(true);
    gate.record('c', [COLD]);
    await setImmediate();
    expect((await gate.health()).ok).toBe(false);
  });

  it('names users by the new secret of a store that was removed and made again', async () => {
    const made = { secret: 'first', deletions: 0 };
    const changes = { secret: async () => made.secret, deletions: async () => made.deletions };
    const gate = new StoreGate(Object.assign(createMemoryStore(), changes));
    await gate.learnSecret();
    await gate.deletions();
    const owner = gate.ownerOf('key');
    made.secret = 'second';
    await gate.deletions();
    await setImmediate();
    expect(gate.ownerOf('key')).toBe(owner);
    made.deletions += 1;
    await gate.deletions();
    await setImmediate();
    expect(gate.ownerOf('key')).not.toBe(owner);
  });

  it('asks again after a while where a question is never answered, and not before', async () => {
    const clock = { now: 0 };
    let asked = 0;
    const silent = (): Promise<number> => {
      asked += 1;
      return new Promise(() => {});
    };
    const store = Object.assign(createMemoryStore(), { deletions: silent, stats: silent });
    const gate = new StoreGate(store, { now: () => clock.now });
    for (const name of ['touch', 'putMany'] as const) Object.assign(store, { [name]: silent });
    gate.record('c', [COLD]);
    await setTimeout(requestLimits.storeWaitMs * 1.5);
    expect(await gate.events('c')).toBe('store-slow');
    const before = asked;
    clock.now += requestLimits.storeGiveUpMs - 1000;
    expect(await gate.deletions()).toBe('store-slow');
    expect(asked).toBe(before);
    clock.now += 1000;
    expect(await gate.events('c')).toEqual([]);
    expect(await gate.deletions()).toBe('store-slow');
    expect(asked).toBe(before + 1);
    expect(await gate.events('c')).toBe('store-slow');
  });

  it('asks a question that may take long while another is late, until that one has taken as long', async () => {
    const clock = { now: 0 };
    const store = Object.assign(createMemoryStore(), { deletions: () => new Promise<number>(() => {}) });
    const gate = new StoreGate(store, { now: () => clock.now });
    expect(await gate.deletions()).toBe('store-slow');
    const long = () => requestLimits.storeLoadMs;
    expect([await gate.events('c'), await gate.events('c', long)]).toEqual(['store-slow', []]);
    clock.now += requestLimits.storeLoadMs - requestLimits.storeWaitMs;
    expect(await gate.events('c', long)).toBe('store-slow');
  });

  it('lets one request wait long for a store that cannot be reached, and no other until the store has answered', async () => {
    const store = createMemoryStore();
    const fails = [true, false, false];
    let answer: Promise<unknown> = Promise.resolve();
    async function* list(session: string): AsyncGenerator<Stored> {
      answer = setTimeout(2 * requestLimits.storeWaitMs);
      await answer;
      if (fails.shift()) throw new Error('timeout expired');
      yield* store.list(session);
    }
    const gate = new StoreGate(Object.assign(createMemoryStore(), { list }));
    const long = () => requestLimits.storeLoadMs;
    expect(await gate.events('c', long)).toBe('store-failed');
    expect(await gate.events('c', long)).toBe('store-slow');
    await answer;
    await setImmediate();
    expect(await gate.events('c', long)).toEqual([]);
  });
});

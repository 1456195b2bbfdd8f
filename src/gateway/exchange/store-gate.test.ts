import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createMemoryStore } from '../../store/memory-store.ts';
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
});

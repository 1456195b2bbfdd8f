import { describe, expect, it } from 'vitest';
import { clients, type Job } from '../../support/gateway/conversations.ts';
import { breaksIn, expectReceiptsToEqualBill, holdAlone, holdThrough } from '../../support/gateway/held.ts';

const LONG = { turns: 200, parallel: 3, resultChars: 800 };

const JOBS: readonly (readonly [string, Job])[] = [
  ['streamed, with thinking', { ...LONG, streams: true, thinks: true }],
  ['not streamed, with images', { ...LONG, hasImages: true }],
];

describe.each(clients)('$name', (client) => {
  it.each(JOBS)('holds 200 turns, %s: no rejection, the same answers, a smaller bill', async (_how, job) => {
    const alone = await holdAlone(client, job);
    const through = await holdThrough(client, job);
    expect(through.refused).toEqual([]);
    expect(through.seen).toEqual(alone.seen);
    expectReceiptsToEqualBill(through);
    const last = through.receipts.at(-1);
    expect(last?.masked).toBeGreaterThan(100);
    expect(through.bill.cost).toBeLessThan(0.8 * alone.bill.cost);
    // The prefix is stable between epochs.
    expect(breaksIn(through.requests)).toBe(last?.epoch);
    // What the receipts say would have been sent is nearly what was.
    expect(Math.abs(through.totals.tokensIn / alone.bill.prompt - 1)).toBeLessThan(0.1);
  });
});

describe.each(clients.filter(({ api }) => api === 'anthropic'))(
  '$name with a model that binds its thinking',
  (client) => {
    it('holds 200 turns without a rejection, and its receipts count what was dropped', async () => {
      const job = { ...LONG, thinks: true, streams: true, model: 'claude-opus-5-5' };
      const through = await holdThrough(client, job);
      expect(through.refused).toEqual([]);
      expectReceiptsToEqualBill(through);
      expect(through.receipts.at(-1)?.masked).toBeGreaterThan(100);
      expect(through.receipts.some(({ droppedThinking = 0 }) => droppedThinking > 0)).toBe(true);
    });
  },
);

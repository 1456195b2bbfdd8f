import { describe, expect, it } from 'vitest';
import { entryOf } from '../../../test/support/gateway/receipt-entry.ts';
import { ReceiptLog } from './receipt-log.ts';

const mask = (handle: string) => ({
  handle,
  turn: 1,
  tool: 'bash',
  placeholder: `[${handle}]`,
  chars: 100,
  tokens: 25,
});

describe('ReceiptLog', () => {
  it('numbers the requests of each conversation and sums them up', async () => {
    const log = new ReceiptLog();
    log.add(entryOf({}));
    log.add(entryOf({ conversation: 'c2', title: 'Another' }));
    const request = log.add(
      entryOf({ masked: 2, newMasks: [mask('p_a'), mask('p_b')], epoch: 1, act: 'mask', model: 'm' }),
    );
    expect(request).toBe(2);
    expect(await log.conversations(10)).toMatchObject([
      {
        id: 'c1',
        title: 'Fix the test',
        requests: 2,
        tokensIn: 300,
        tokensSent: 200,
        masked: 2,
        epochs: 1,
        model: 'm',
      },
      { id: 'c2', requests: 1, cost: { without: 72.5, sent: 33 } },
    ]);
    expect(await log.totals()).toMatchObject({ requests: 3, conversations: 2, tokensIn: 450, cached: 240, masked: 2 });
    const detail = await log.conversation('c1');
    expect(detail?.receipts.map(({ request }) => request)).toEqual([1, 2]);
    expect(detail?.masks.map(({ handle }) => handle)).toEqual(['p_a', 'p_b']);
  });

  it('counts requests without an answer, or with an error in its place', async () => {
    const log = new ReceiptLog();
    for (const status of [200, 0, 429, 502, 302]) log.add(entryOf({ status }));
    expect(await log.totals()).toMatchObject({ requests: 5, failed: 3 });
  });

  it('keeps the last 500 receipts of a conversation, and the sums of all', async () => {
    const log = new ReceiptLog();
    for (let i = 0; i < 700; i++) log.add(entryOf({}));
    const detail = await log.conversation('c1');
    expect(detail?.receipts.map(({ request }) => request)).toEqual(Array.from({ length: 500 }, (_, i) => i + 201));
    expect(detail?.conversation.requests).toBe(700);
  });

  it('takes no more room however many conversations there are', async () => {
    const log = new ReceiptLog();
    for (let i = 0; i < 3000; i++) for (let n = 0; n < 12; n++) log.add(entryOf({ conversation: `c${i}` }));
    const known = await log.conversations(10_000);
    expect(known).toHaveLength(1000);
    expect(known[0]?.id).toBe('c2999');
    const details = await Promise.all(known.map(({ id }) => log.conversation(id)));
    expect(details.reduce((sum, detail) => sum + (detail?.receipts.length ?? 0), 0)).toBeLessThanOrEqual(10_000);
    expect(details[0]?.receipts).toHaveLength(12);
    expect((await log.totals()).requests).toBe(36_000);
  });
});

import { describe, expect, it } from 'vitest';
import { mask, receipt, summary, totals } from '../../test/support/gateway/receipts.ts';
import type { Update } from './gateway-api.ts';
import { type LiveState, nothingYet, withDetail, withUpdates } from './live-state.ts';

const update = (id: string, request = 1, newMasks = [] as ReturnType<typeof mask>[]): Update => ({
  receipt: receipt({ conversation: id, request, newMasks }),
  conversation: summary({ id, requests: request }),
  totals: totals({ requests: request }),
});

const idsOf = ({ conversations }: LiveState): string[] => conversations.map(({ id, requests }) => `${id} ${requests}`);

describe('withUpdates', () => {
  it('puts a new conversation on top and leaves the others where they are', () => {
    const first = withUpdates(nothingYet, [update('a'), update('b')]);
    expect(idsOf(first)).toEqual(['b 1', 'a 1']);
    const second = withUpdates(first, [update('a', 2), update('c'), update('a', 3)]);
    expect(idsOf(second)).toEqual(['c 1', 'b 1', 'a 3']);
  });

  it('takes the newest totals', () => {
    const status = { version: '1', startedAt: '', settings: {}, totals: totals(), store: { kind: 'memory', ok: true } };
    const state = withUpdates({ ...nothingYet, status }, [update('a'), update('a', 2)]);
    expect(state.status?.totals.requests).toBe(2);
  });

  it('adds to the conversation that is open, and once', () => {
    const opened = { id: 'a', conversation: summary({ id: 'a' }), receipts: [], masks: [], shaped: [] };
    const more = [
      update('a', 1),
      update('b', 1),
      update('a', 2, [mask({ turn: 1 })]),
      update('a', 2, [mask({ turn: 1 })]),
    ];
    const state = withUpdates({ ...nothingYet, opened }, more);
    expect(state.opened?.receipts.map(({ request }) => request)).toEqual([1, 2]);
    expect(state.opened?.masks).toHaveLength(1);
    expect(state.opened?.conversation?.requests).toBe(2);
  });

  it('keeps of a long conversation what the gateway keeps', () => {
    const opened = { id: 'a', conversation: summary({ id: 'a' }), receipts: [], masks: [], shaped: [] };
    const many = Array.from({ length: 600 }, (_, index) => update('a', index + 1));
    const { opened: long } = withUpdates({ ...nothingYet, opened }, many);
    expect([long?.receipts.length, long?.receipts[0]?.request]).toEqual([500, 101]);
  });
});

describe('withDetail', () => {
  it('keeps what came live while it was on its way', () => {
    const early = { id: 'a', receipts: [receipt({ request: 3 })], shaped: [], masks: [mask({ turn: 2 })] };
    const detail = {
      conversation: summary({ id: 'a', requests: 2 }),
      receipts: [receipt({ request: 1 }), receipt({ request: 2 })],
      shaped: [],
      masks: [mask({ turn: 1 })],
    };
    const opened = withDetail(early, detail);
    expect(opened.receipts.map(({ request }) => request)).toEqual([1, 2, 3]);
    expect(opened.masks.map(({ turn }) => turn)).toEqual([1, 2]);
  });

  it('takes no older summary for a newer one, and forgets a failure', () => {
    const opened = {
      id: 'a',
      conversation: summary({ requests: 5 }),
      receipts: [],
      masks: [],
      shaped: [],
      failure: 'gone',
    };
    const again = withDetail(opened, { conversation: summary({ requests: 4 }), receipts: [], masks: [], shaped: [] });
    expect([again.conversation?.requests, again.failure]).toEqual([5, undefined]);
  });
});

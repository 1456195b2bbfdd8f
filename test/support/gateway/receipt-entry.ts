import type { Entry } from '../../../src/gateway/receipts/receipt-log.ts';

/** A receipt, with what matters to a test. */
export function entryOf({ title = 'Fix the test', ...changes }: Partial<Entry['receipt'] & { title: string }>): Entry {
  const receipt = {
    id: 'r1',
    requestId: 'r1',
    time: '2026-11-15T10:00:00.000Z',
    session: 's1',
    conversation: 'c1',
    arm: 'treated' as const,
    api: 'anthropic',
    path: '/v1/messages',
    prices: 'anthropic-5m',
    status: 200,
    act: 'wait' as const,
    because: 'masking now would cost more than it saves (waiting has cost 4.1k tokens, masking costs 16k)',
    epoch: 0,
    masked: 0,
    newMasks: [],
    without: { tokens: 150, cached: 100, written: 50 },
    sent: { tokens: 100, cached: 80, written: 20 },
    expected: {
      sent: { tokens: 100, cached: 80, written: 20 },
      without: { tokens: 150, cached: 100, written: 50 },
    },
    completionTokens: 5,
    estimated: false,
    cost: { without: 72.5, sent: 33 },
    streamed: false,
    overheadMs: 1,
    totalMs: 20,
    ...changes,
  };
  return { receipt, title, multiples: { read: 0.1, write: 1.25 } };
}

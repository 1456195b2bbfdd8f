import type { ConversationSummary, Mask, Receipt, Totals } from '../../../src/gateway/receipts/receipt.ts';
import { NO_MONEY } from '../../../src/money/money-totals.ts';

/** The receipt of a request that waits, with overrides. */
export function receipt(part: Partial<Receipt> = {}): Receipt {
  const { request = 1, conversation = 'one' } = part;
  return {
    id: `${conversation}-${request}`,
    requestId: `${conversation}-${request}`,
    time: '2026-11-15T10:00:00.000Z',
    session: conversation,
    conversation,
    arm: 'treated',
    request,
    api: 'anthropic',
    path: '/v1/messages',
    prices: 'anthropic-5m',
    status: 200,
    act: 'wait',
    because: 'nothing is old enough',
    epoch: 0,
    masked: 0,
    newMasks: [],
    without: { tokens: 1000, cached: 800, written: 200 },
    sent: { tokens: 900, cached: 700, written: 200 },
    expected: {
      sent: { tokens: 900, cached: 700, written: 200 },
      without: { tokens: 1000, cached: 800, written: 200 },
    },
    completionTokens: 50,
    estimated: false,
    cost: { without: 330, sent: 320 },
    streamed: true,
    overheadMs: 0.5,
    totalMs: 900,
    ...part,
  };
}

export function mask(part: Partial<Mask>): Mask {
  const { turn = 1 } = part;
  return { handle: `p_${turn}`, turn, tool: 'bash', placeholder: '[bash masked]', chars: 4000, tokens: 1000, ...part };
}

export function summary(part: Partial<ConversationSummary> = {}): ConversationSummary {
  return {
    id: 'one',
    session: 'one',
    arm: 'treated',
    title: 'Fix the parser',
    api: 'anthropic',
    prices: 'anthropic-5m',
    firstAt: '2026-11-15T10:00:00.000Z',
    lastAt: '2026-11-15T10:00:00.000Z',
    requests: 1,
    masked: 0,
    shaped: 0,
    epochs: 0,
    unsent: { requests: 0, tokens: 0 },
    tokensIn: 1000,
    tokensSent: 900,
    cost: { without: 330, sent: 320 },
    money: NO_MONEY,
    act: 'wait',
    because: 'nothing is old enough',
    ...part,
  };
}

export function totals(part: Partial<Totals> = {}): Totals {
  const sums = { tokensIn: 0, tokensSent: 0, cached: 0, written: 0, masked: 0, shaped: 0, refused: 0, failed: 0 };
  const overheadMs = { median: 0, p99: 0 };
  return {
    requests: 0,
    conversations: 0,
    ...sums,
    cost: { without: 0, sent: 0 },
    money: NO_MONEY,
    unsent: { requests: 0, tokens: 0 },
    overheadMs,
    ...part,
  };
}

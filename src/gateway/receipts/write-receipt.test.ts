import { describe, expect, it } from 'vitest';
import { priceLists } from '../../plan/prices.ts';
import type { Basis, Explanation } from '../decide/decision.ts';
import { passThrough } from '../decide/pass-through.ts';
import { type Counted, countedOf, type Outcome, type Sent, writeReceipt as write } from './write-receipt.ts';

const tokens = (all: number, cached: number) => ({ tokens: all, cached, written: all - cached });

const writeReceipt = (of: Outcome) => write(of).receipt;

type Changes = Partial<Sent> & Partial<Pick<Outcome, 'decision' | 'previous'>>;

function outcome(explanation: Partial<Explanation>, { decision, previous, ...sent }: Changes = {}): Outcome {
  const base = passThrough('failed');
  const all = { ...base.explanation, act: 'wait' as const, prices: priceLists['anthropic-5m'], ...explanation };
  const usage = { cached: 900, written: 100, completionTokens: 5 };
  const estimate = { before: all.without.tokens, after: all.sent.tokens };
  const basis = { estimate, written: { changed: [] } } as unknown as Basis;
  return {
    id: 'r',
    requestId: 'r',
    session: 's',
    conversation: decision ? decision.conversation : 'c',
    api: 'anthropic',
    path: '/v1/messages',
    decision: decision ?? { ...base, conversation: 'c', task: 'T', explanation: all, basis },
    previous,
    sent: { status: 200, usage, streamed: false, refused: undefined, ...sent },
    times: { startedAt: 0, overheadMs: 1, totalMs: 2 },
  };
}

const growth = { counted: 0, estimated: 0 };
const MASKED = { masked: 1, epoch: 1, without: tokens(3000, 2800), sent: tokens(1000, 900) };

describe('writeReceipt', () => {
  it('says that nothing was saved where nothing is masked', () => {
    const { sent, without, cost } = writeReceipt(outcome({ without: tokens(1200, 0), sent: tokens(1200, 0) }));
    expect(without).toEqual(sent);
    expect(sent).toEqual(tokens(1000, 900));
    expect(cost).toEqual({ without: 215, sent: 215 });
  });

  it('takes for granted that what is new is written with masks and without', () => {
    const { without } = writeReceipt(outcome(MASKED));
    expect(without).toEqual({ tokens: 3000, cached: 2900, written: 100 });
  });

  it('knows to the token what would have been sent, between epochs', () => {
    const previous = { sent: 950, without: 2500, estimate: 2900, growth, epoch: 1, masked: 1, shaped: 0 };
    expect(writeReceipt(outcome(MASKED, { previous })).without.tokens).toBe(2550);
  });

  it('estimates only what is new in an epoch, and takes the rest for cached', () => {
    const previous = { sent: 2400, without: 2500, estimate: 2900, growth, epoch: 0, masked: 0, shaped: 0 };
    const { without } = writeReceipt(outcome({ ...MASKED, act: 'mask', newMasks: 1 }, { previous }));
    expect(without).toEqual({ tokens: 2600, cached: 2500, written: 100 });
  });

  it('counts messages as the provider counted those that were added while no mask changed', () => {
    const previous = {
      ...{ sent: 2400, without: 2500, estimate: 2000, epoch: 0, masked: 0, shaped: 0 },
      growth: { counted: 19_700, estimated: 9800 },
    };
    const { without } = writeReceipt(outcome({ ...MASKED, act: 'mask', newMasks: 1 }, { previous }));
    expect(without.tokens).toBe(2500 + 1990);
  });

  it('estimates all masks where the agent has shortened its history', () => {
    const previous = { sent: 5000, without: 9000, estimate: 9000, growth, epoch: 1, masked: 1, shaped: 0 };
    expect(writeReceipt(outcome(MASKED, { previous })).without.tokens).toBe(3000);
  });

  it('claims no cache of a provider that never read from one', () => {
    const uncached = { usage: { cached: 0, written: 1000, completionTokens: 1 } };
    const first = outcome({ without: tokens(2400, 0), sent: tokens(2400, 0) }, uncached);
    const second = { ...first, previous: countedOf(write(first), first) };
    const previous = countedOf(write(second), second);
    expect([second.previous?.reads, previous?.reads]).toEqual([undefined, false]);
    const epoch = outcome({ ...MASKED, act: 'mask', newMasks: 1 }, { ...uncached, previous });
    expect(writeReceipt(epoch).without.cached).toBe(0);
    const read = outcome(
      { ...MASKED, act: 'mask', newMasks: 1 },
      { previous: { ...previous, reads: true } as Counted },
    );
    expect(writeReceipt(read).without.cached).toBe(1000);
  });

  it('does not claim a cache that was dead', () => {
    const cold = { ...MASKED, act: 'cold-cache' as const, newMasks: 1 };
    expect(writeReceipt(outcome(cold)).without).toEqual(tokens(3000, 0));
    const missed = outcome(MASKED, { usage: { cached: 0, written: 1000, completionTokens: 1 } });
    expect(writeReceipt(missed).without).toEqual(tokens(3000, 0));
  });

  it('costs tokens that were not written to the cache at the base price', () => {
    const usage = { cached: 900, written: 100, uncached: 40, completionTokens: 5 };
    const { sent, without, cost } = writeReceipt(outcome(MASKED, { usage }));
    expect(sent).toEqual({ tokens: 1000, cached: 900, written: 100, uncached: 40 });
    expect(without).toEqual({ tokens: 3000, cached: 2900, written: 100, uncached: 40 });
    expect(cost).toEqual({ without: 290 + 75 + 40, sent: 90 + 75 + 40 });
  });

  it('costs the request without masks as not cached where nothing of it was', () => {
    const usage = { cached: 0, written: 1000, uncached: 1000, completionTokens: 5 };
    const { without, cost } = writeReceipt(outcome(MASKED, { usage }));
    expect(without).toEqual({ tokens: 3000, cached: 0, written: 3000, uncached: 3000 });
    expect(cost).toEqual({ without: 3000, sent: 1000 });
  });

  it('bills nothing that was not answered', () => {
    const { sent, without, cost } = writeReceipt(outcome(MASKED, { status: 529, usage: undefined }));
    expect([sent, without, cost]).toEqual([tokens(0, 0), tokens(0, 0), { without: 0, sent: 0 }]);
  });

  it('counts the original where the edited request was refused', () => {
    const refused = { status: 400, text: 'x'.repeat(2000) };
    const receipt = writeReceipt(outcome({ ...MASKED, newMasks: 1 }, { refused }));
    expect(receipt).toMatchObject({ masked: 0, newMasks: [], without: tokens(1000, 900), sent: tokens(1000, 900) });
    expect(receipt.refused?.text.length).toBeLessThanOrEqual(500);
  });

  it('has one conversation for all that was not read', () => {
    const { receipt, title } = write(outcome({}, { decision: passThrough('too-large') }));
    expect([receipt.conversation, title]).toEqual(['unread', 'Requests that passed through unread']);
  });
});

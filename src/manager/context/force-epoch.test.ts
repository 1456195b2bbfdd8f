import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changedTurns, history, range } from '../../../test/support/chat.ts';
import { flat, longStory, write } from '../../../test/support/histories.ts';
import { anyPolicy } from '../../../test/support/policies.ts';
import { formatByName } from '../../formats/detect-format.ts';
import { addedViolations } from '../../laws/pairs.ts';
import type { ChatMessage, Format } from '../../message.ts';
import { type FitOptions, fit } from '../../plan/fit.ts';
import { breakEven } from '../../plan/policies/break-even.ts';
import { oldestBatch } from '../../plan/policies/oldest-batch.ts';
import { slidingWindow } from '../../plan/policies/sliding-window.ts';
import { forceEpoch, onlyForced, previewEpoch } from './force-epoch.ts';

const chat = formatByName('chat') as Format<ChatMessage>;
const options = { format: chat, policy: breakEven({ windowByKind: false }) };

describe('forceEpoch', () => {
  it('masks so many of the oldest results that the policy lets go, whatever it would wait for', () => {
    const run = history(15, 400);
    expect(fit(run, options).messages).toEqual(run);
    const { messages, masked } = forceEpoch(run, { count: 3 }, options);
    expect([masked, changedTurns(run, messages)]).toEqual([3, [1, 2, 3]]);
  });

  it('never masks inside the window of the policy', () => {
    const run = history(15, 400);
    const forced = forceEpoch(run, { count: 100 }, options);
    expect(changedTurns(run, forced.messages)).toEqual(range(1, 5));
    expect(forceEpoch(history(10, 400), { count: 3 }, options)).toMatchObject({ masked: 0, record: undefined });
  });

  it('masks no more than what saves enough, but never fewer than the least', () => {
    const run = history(30, 400);
    const policy = onlyForced(oldestBatch({ window: 2 }));
    const forced = (least: number, saveTokens: number): number =>
      previewEpoch(run, { least, saveTokens }, { format: chat, policy }).count;
    expect([forced(1, 0), forced(3, 0), forced(3, 200), forced(40, 0)]).toEqual([1, 3, 3, 28]);
    const needed = forceEpoch(run, { least: 1, saveTokens: 500 }, { format: chat, policy });
    const saved = needed.tokens.before - needed.tokens.after;
    expect(previewEpoch(run, { least: 1, saveTokens: 500 }, { format: chat, policy }).savedTokens).toBe(saved);
    expect(saved).toBeGreaterThan(500);
    expect((saved * (needed.masked - 1)) / needed.masked).toBeLessThanOrEqual(500);
  });

  it('answers a record with which fit takes the same epoch again, and goes on from there', () => {
    const run = history(15, 400);
    const { messages, record } = forceEpoch(run, { count: 3 }, options);
    expect(record).toEqual({ turns: 15, messages: 32, before: expect.any(Number) });
    const epochs = record ? [record] : [];
    expect(fit(run, { ...options, facts: { epochs } }).messages).toEqual(messages);
    const longer = history(18, 400);
    const { report, messages: later } = fit(longer, { ...options, facts: { epochs } });
    expect(later.slice(0, messages.length)).toEqual(messages);
    expect(report).toMatchObject({ epoch: 1, maskedCount: 3, lastChange: { because: 'an epoch was forced' } });
  });

  it('a second epoch goes on behind the first', () => {
    const run = history(20, 400);
    const first = forceEpoch(run, { count: 3 }, options);
    const epochs = first.record ? [first.record] : [];
    const second = forceEpoch(run, { count: 4 }, { ...options, facts: { epochs } });
    expect([second.masked, changedTurns(run, second.messages)]).toEqual([4, range(1, 7)]);
  });

  it('shows handles where asked, and answers what they stand for', () => {
    const run = history(12, 400);
    const handleOf = (text: string): string => `p_${text.length.toString().padStart(26, 'a').replace(/\d/g, 'b')}`;
    const { messages, hidden } = forceEpoch(run, { count: 1 }, { ...options, recall: true, handleOf });
    expect(hidden).toMatchObject([{ text: run[3]?.content, why: 'mask', callId: 'c1' }]);
    expect(messages[3]?.content).toContain(hidden[0]?.handle);
  });

  it('on any history and under any policy: only masks, only results, lawful, and the same again from its record', () => {
    fc.assert(
      fc.property(longStory, anyPolicy, fc.integer({ min: 0, max: 12 }), (story, { policy }, count) => {
        const run = flat(write(story, 'openai-chat'));
        const format = formatByName('openai-chat') as Format<object>;
        // Arrival and old texts of edits are other edits.
        const masksOnly = { ...policy, arrival: {}, oldTexts: false };
        const fitOptions: FitOptions & { format: Format<object> } = { format, policy: onlyForced(masksOnly) };
        const { messages, record, masked, tokens } = forceEpoch(run, { count }, fitOptions);
        expect(messages).toHaveLength(run.length);
        expect(masked).toBeLessThanOrEqual(count);
        expect(masked > 0 ? tokens.after < tokens.before : tokens.after === tokens.before).toBe(true);
        expect(addedViolations(format, run, messages)).toEqual([]);
        const edited = messages.filter((message, i) => message !== run[i]);
        expect(edited).toHaveLength(masked);
        const epochs = record ? [record] : [];
        expect(fit(run, { ...fitOptions, facts: { epochs } }).messages).toEqual(messages);
      }),
      { numRuns: 100 },
    );
  });
});

describe('onlyForced', () => {
  it('masks nothing by itself, however eager the policy', () => {
    const run = history(30, 400);
    expect(fit(run, { format: chat, policy: onlyForced(slidingWindow({ turns: 1 })) }).messages).toEqual(run);
  });
});

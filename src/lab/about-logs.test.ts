import { describe, expect, it } from 'vitest';
import { aboutLogs, dollarSentence, nextSentence } from './about-logs.ts';
import type { ModelRuns, ReplayResult, RunResult } from './replay-result.ts';

const runs = Array.from({ length: 30 }, () => ({}) as RunResult);
const RESULT: ReplayResult = { version: 1, prices: ['by model'], policies: [], runs, total: {}, skipped: [] };

describe('dollarSentence', () => {
  const dollars = { policy: 'break-even', before: 41.2, after: 29.8, runs: 212 };

  it('has the days and the sessions', () => {
    expect(dollarSentence({ ...dollars, days: 14 })).toBe(
      'Input with break-even: $41.20 → $29.80 (−28 %) over 14 days, 212 sessions.',
    );
    expect(dollarSentence({ ...dollars, runs: 1 })).toBe(
      'Input with break-even: $41.20 → $29.80 (−28 %) in 1 session.',
    );
  });

  it('says what costs more, and what changes nothing', () => {
    expect(dollarSentence({ ...dollars, after: 45.32 })).toContain('$41.20 → $45.32 (+10 %)');
    expect(dollarSentence({ ...dollars, after: 41.2 })).toContain('(0 %)');
    expect(dollarSentence({ ...dollars, before: 0, after: 0 })).toContain('(0 %)');
  });
});

describe('aboutLogs', () => {
  it('says that the logs hold everything, not that 0k tokens are missing', () => {
    const counts = { hiddenTokens: 0, replayedTokens: 1_800_000, countedTokens: 1_800_000 };
    const [, sentence] = aboutLogs({ ...RESULT, inferred: { runs: 3, requests: 95, ...counts } });
    expect(sentence).toBe(
      "Inferred from the provider's usage in 3 of 30 runs: the logs hold the whole input. The provider counted 1.8M for the same requests.",
    );
  });

  it('names at most six models, and counts the runs without prices', () => {
    const models: ModelRuns[] = Array.from({ length: 8 }, (_, i) => ({
      model: `model-${i}`,
      prices: 'gpt-5',
      runs: 3,
      hasDollars: true,
    }));
    expect(aboutLogs({ ...RESULT, models: [...models, { runs: 6, hasDollars: false }] })).toEqual([
      expect.stringMatching(
        /^Prices by the model in each log: model-0 at gpt-5 \(3 runs\), .*model-5 at gpt-5 \(3 runs\), and 2 more; 6 runs of models with unknown prices are counted in tokens only/,
      ),
    ]);
  });

  it('has nothing to say about logs at prices that were asked for, without usage', () => {
    expect(aboutLogs({ ...RESULT, prices: ['gpt-5'], models: [{ model: 'a', runs: 30, hasDollars: false }] })).toEqual(
      [],
    );
  });
});

describe('nextSentence', () => {
  it('is empty where there is nothing to do', () => {
    expect(nextSentence(RESULT)).toBe('');
    expect(nextSentence({ ...RESULT, prices: ['tokens'], runs: [] })).toBe('');
  });

  it.each([
    [0.15, '(would save about $14.00 a month if masked texts are rarely needed again)'],
    [-0.05, '(would save about $14.00 a month)'],
  ])('promises a sum without a condition only if recalls leave a saving: %d', (change, said) => {
    const total = { tokensSent: 1, cost: {}, saving: {}, savingWithRecalls: { 'by model': change } };
    const dollars = { policy: 'break-even', before: 42, after: 33, runs: 23, days: 19 };
    const next = { command: 'npx palimpsest run -- claude', dollarsPerMonth: 14 };
    expect(nextSentence({ ...RESULT, total: { 'break-even': total }, dollars, next })).toBe(
      `Next: npx palimpsest run -- claude ${said}`,
    );
  });
});

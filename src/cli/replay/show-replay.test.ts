import { describe, expect, it } from 'vitest';
import type { PolicyResult, ReplayResult } from '../../lab/replay-result.ts';
import { percent, progressBar, showReplay } from './show-replay.ts';

function result(masks: number, epochs: number, any: number): PolicyResult {
  const misses = { edit: 0, identifier: 0, any, calls: 40 };
  return { tokensSent: 0, peakTokens: 0, masks, epochs, cost: {}, misses };
}

const run = { file: 'a.json', run: 0, format: 'messages' as const, turns: 600, tokens: 9, observationShare: 0.5 };
const REPLAYED: ReplayResult = {
  version: 1,
  prices: ['anthropic-5m', 'none'],
  policies: ['none', 'break-even', 'optimum'],
  runs: [
    { ...run, results: { none: result(0, 0, 0), 'break-even': result(700, 3, 1), optimum: result(5, 1, 0) } },
    { ...run, results: { none: result(0, 0, 0), 'break-even': result(800, 4, 2), optimum: result(5, 1, 0) } },
  ],
  total: {
    none: { tokensSent: 1_234_567.5, cost: {}, saving: { 'anthropic-5m': 0, none: 0 } },
    'break-even': { tokensSent: 654_321.2, cost: {}, saving: { 'anthropic-5m': -0.3149, none: -0.0004 } },
    optimum: { tokensSent: 1000, cost: {}, saving: { 'anthropic-5m': -0.4, none: 0.125 } },
  },
  skipped: [],
};

describe('showReplay', () => {
  it('is a table, and a sentence for each price list', () => {
    expect(showReplay(REPLAYED)).toBe(
      [
        '2 runs, 1,200 turns. Input cost against sending everything:',
        '',
        'policy      anthropic-5m     none  tokens sent  masked  epochs  misses / 100 calls',
        'none               0.0 %    0.0 %    1,234,568       0       0                 0.0',
        'break-even       −31.5 %    0.0 %      654,321   1,500       7                 3.8',
        'optimum          −40.0 %  +12.5 %        1,000      10       2                 0.0',
        '',
        'Where a policy decides by the prices, its counts are those at anthropic-5m.',
        '',
        'anthropic-5m  a cached token costs 0.1 of the base price, a new one 1.25; unused, it is cached for 5 min',
        'none          a provider without a prompt cache: every token costs the same',
        'none          sends everything; all others are compared with it',
        'break-even    masks old results in batches, when waiting has cost about what masking costs',
        'optimum       the cheapest times to mask, known only after the run; no agent can use it',
        'epoch         a request that changes earlier messages: the provider caches the rest again',
        'miss          a call that quotes text which only a masked result held',
        '',
        'optimum knows the future of masking only. A policy can cost less: it may also make results smaller when they are first sent, or mask some kinds of results sooner.',
        '',
        'break-even saves 31 % of the input cost at anthropic-5m prices; in 3.8 of 100 calls the agent would have had to look something up again.',
        'At none prices no policy saves anything on these runs: leave them as they are.',
        '',
      ].join('\n'),
    );
  });

  it('is right for one run, and for none', () => {
    expect(showReplay({ ...REPLAYED, runs: REPLAYED.runs.slice(1) })).toMatch(/^1 run, 600 turns\./);
    const empty = showReplay({ ...REPLAYED, runs: [], total: {} });
    expect(empty).toBe('There is no run to replay.\n');
  });

  it('names the first five that were skipped, and counts the others', () => {
    const skipped = Array.from({ length: 7 }, (_, i) => ({ file: `${i}.json`, reason: 'it is broken' }));
    const shown = showReplay({ ...REPLAYED, skipped });
    expect(shown).toContain('\n7 skipped:\n  0.json: it is broken\n');
    expect(shown).toContain('  4.json: it is broken\n  … and 2 more; --json lists all\n\nbreak-even saves');
    expect(shown).not.toContain('5.json');
    expect(showReplay({ ...REPLAYED, skipped: skipped.slice(0, 5) })).not.toContain('more; --json');
  });
});

describe('percent', () => {
  it.each([
    [0, '0.0 %'],
    [-0.0004, '0.0 %'],
    [0.0004, '0.0 %'],
    [-0.3149, '−31.5 %'],
    [1.2, '+120.0 %'],
    [-1, '−100.0 %'],
  ])('%d is %s', (share, text) => {
    expect(percent(share)).toBe(text);
  });
});

describe('progressBar', () => {
  it('fills from left to right', () => {
    expect(progressBar(0, 8)).toBe('[........................] 0 of 8 files');
    expect(progressBar(3, 8)).toBe('[#########...............] 3 of 8 files');
    expect(progressBar(8, 8)).toBe('[########################] 8 of 8 files');
    expect(progressBar(0, 0)).toBe('[########################] 0 of 0 files');
  });
});

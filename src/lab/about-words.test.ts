import { describe, expect, it } from 'vitest';
import { aboutWords } from './about-words.ts';

const wordsOf = (policies: readonly string[], prices: readonly string[]): string[] =>
  aboutWords({ policies, prices, total: {} }).map(({ word }) => word);

describe('aboutWords', () => {
  it('explains the price lists and policies of a table, and no others', () => {
    expect(wordsOf(['none', 'break-even:clean=false', 'optimum'], ['anthropic-5m', 'by model'])).toEqual([
      ...['anthropic-5m', 'none', 'break-even', 'optimum', 'epoch', 'miss'],
    ]);
    expect(wordsOf(['polling'], ['tokens'])).toEqual(['epoch', 'miss']);
  });

  it('explains recalls where they are priced', () => {
    const none = { tokensSent: 0, cost: {}, saving: {}, savingWithRecalls: { x: 0 } };
    expect(aboutWords({ policies: ['none'], prices: ['x'], total: { none } }).at(-1)?.word).toBe('with recalls');
  });

  it('takes the figures of a price list from the list', () => {
    expect(aboutWords({ policies: [], prices: ['anthropic-5m', 'deepseek', 'none'], total: {} }).slice(0, 3)).toEqual([
      {
        word: 'anthropic-5m',
        meaning: 'a cached token costs 0.1 of the base price, a new one 1.25; unused, it is cached for 5 min',
      },
      {
        word: 'deepseek',
        meaning: 'a cached token costs 0.02 of the base price, a new one 1; unused, it is cached for 2 h',
      },
      { word: 'none', meaning: 'a provider without a prompt cache: every token costs the same' },
    ]);
  });
});

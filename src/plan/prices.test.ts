import { describe, expect, it } from 'vitest';
import { breakEven } from './policies/break-even.ts';
import { type OwnPrices, type PriceName, priceLists, pricesOf } from './prices.ts';

describe('every price list', () => {
  it.each(Object.entries(priceLists))('%s has its name, a date, a source and prices that make sense', (name, list) => {
    expect(list.name).toBe(name);
    expect(list.date).toMatch(/^20\d\d-\d\d-\d\d$/);
    expect(Number.isNaN(Date.parse(list.date))).toBe(false);
    expect(list.source).toMatch(name === 'none' ? /./ : /^https:\/\//);
    expect(list.read).toBeGreaterThan(0);
    expect(list.read).toBeLessThanOrEqual(list.write);
    expect(list.write).toBeGreaterThanOrEqual(1);
    expect(list.lifeMs).toBeGreaterThanOrEqual(name === 'none' ? 0 : 300_000);
    expect(list.leastTokens).toBeGreaterThanOrEqual(0);
    expect(list.lookup.kind === 'markers').toBe(name.startsWith('anthropic'));
  });
  it('is for all: nobody can change one', () => {
    for (const list of Object.values(priceLists))
      expect([Object.isFrozen(list), Object.isFrozen(list.lookup)]).toEqual([true, true]);
  });
  it('has the numbers of DESIGN.md section 7', () => {
    const of = (name: PriceName): [number, number] => [priceLists[name].read, priceLists[name].write];
    expect(of('anthropic-5m')).toEqual([0.1, 1.25]);
    expect(of('anthropic-1h')).toEqual([0.1, 2]);
    expect(of('gpt-5')).toEqual([0.1, 1]);
    expect(of('gemini')).toEqual([0.1, 1]);
    expect(of('gpt-4.1')).toEqual([0.25, 1]);
    expect(of('deepseek')).toEqual([0.02, 1]);
    expect(of('none')).toEqual([1, 1]);
  });
});

describe('own prices', () => {
  const pricesOfPolicy = (prices: OwnPrices) => breakEven({ prices }).prices;

  it('have a cache that never dies, has no least size and finds any prefix, where they do not say otherwise', () => {
    const defaults = { lifeMs: Number.POSITIVE_INFINITY, leastTokens: 0, lookup: { kind: 'prefix', stepTokens: 1 } };
    expect(pricesOfPolicy({ read: 0.2, write: 1 })).toMatchObject({ name: 'own', read: 0.2, write: 1, ...defaults });
    const empty = { name: undefined, lifeMs: undefined, leastTokens: undefined, lookup: undefined };
    expect(pricesOfPolicy({ read: 0.2, write: 1, ...empty } as never)).toMatchObject({ name: 'own', ...defaults });
  });

  it.each<NonNullable<OwnPrices['lookup']>>([
    { kind: 'markers', lookBackBlocks: 20 },
    { kind: 'prefix', stepTokens: 128 },
  ])('say how their cache finds a prefix: %j', (lookup) => {
    expect(pricesOfPolicy({ read: 0.1, write: 1.25, lookup })?.lookup).toEqual(lookup);
  });

  it.each([
    ['markers', 'the options of break-even prices lookup'],
    [{}, "option kind to be one of 'markers', 'prefix' but found undefined"],
    [{ kind: 'marker' }, "option kind to be one of 'markers', 'prefix' but found 'marker'"],
    [{ kind: 'markers' }, 'lookBackBlocks to be a whole number of 0 or more but found undefined'],
    [{ kind: 'markers', lookBackBlocks: Number.POSITIVE_INFINITY }, 'lookBackBlocks to be a whole number of 0 or more'],
    [{ kind: 'prefix', stepTokens: 0 }, 'stepTokens to be a whole number of 1 or more but found 0'],
    [{ kind: 'prefix', lookBackBlocks: 20 }, 'but found lookBackBlocks'],
    [{ kind: 'prefix', stepToken: 20 }, 'did you mean stepTokens?'],
  ])('refuse a lookup that is none: %j', (lookup, said) => {
    expect(() => breakEven({ prices: { read: 0.1, write: 1, lookup } as never })).toThrow(
      expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringContaining(said) }),
    );
  });
});

describe('pricesOf', () => {
  it.each<[string, PriceName]>([
    ['claude-sonnet-5', 'anthropic-5m'],
    ['Claude-Opus-4-5-20251101', 'anthropic-5m'],
    ['anthropic/claude-haiku-4.5', 'anthropic-5m'],
    ['us.anthropic.claude-sonnet-4-20250514-v1:0', 'anthropic-5m'],
    ['gpt-5', 'gpt-5'],
    ['GPT-5-mini', 'gpt-5'],
    ['openai/gpt-5.1-codex', 'gpt-5'],
    ['gpt-5.5', 'gpt-5'],
    ['gpt-5.6', 'gpt-5.6'],
    ['gpt-5.6-codex', 'gpt-5.6'],
    ['gpt-6', 'gpt-5.6'],
    ['gpt-4.1-mini', 'gpt-4.1'],
    ['o3', 'gpt-4.1'],
    ['o4-mini', 'gpt-4.1'],
    ['gpt-4o-2024-08-06', 'gpt-4o'],
    ['chatgpt-4o-latest', 'gpt-4o'],
    ['o1', 'gpt-4o'],
    ['gemini-3-pro', 'gemini'],
    ['models/gemini-2.5-flash', 'gemini'],
    ['deepseek-chat', 'deepseek'],
    ['deepseek/deepseek-v3.2', 'deepseek'],
  ])('takes %s for %s', (model, name) => {
    expect(pricesOf(model)).toBe(priceLists[name]);
  });
  it.each(['', 'llama-4-maverick', 'gpt-oss-120b', 'grok-4', 'qwen3-coder', 'mistral-large', 'my-model'])(
    'does not know those of %s',
    (model) => {
      expect(pricesOf(model)).toBeUndefined();
    },
  );
});

import { describe, expect, it } from 'vitest';
import { breakEven } from './policies/break-even.ts';
import { inputCost, type OwnPrices, type PriceName, priceLists, pricesOf, toPrices } from './prices.ts';

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
    expect(list.lookup.kind).toBe(name.startsWith('anthropic') ? 'markers' : 'prefix');
  });
  it('is shared: it cannot be changed', () => {
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

describe('a price list', () => {
  const said = (prices: unknown): string => {
    try {
      toPrices('break-even', prices);
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };

  it('is found by its name, and a name that is nearly one gets a suggestion', () => {
    expect(toPrices('break-even', 'gpt-5')).toBe(priceLists['gpt-5']);
    expect(said('gpt-55')).toBe(
      "Expected break-even option prices to be a known price list (did you mean gpt-5?) but found 'gpt-55'",
    );
    expect(said('toString')).toContain(`one of ${Object.keys(priceLists).join(', ')}`);
  });

  it.each([null, undefined, 5, true])('is not %j', (prices) => {
    expect(said(prices)).toContain('break-even option prices to be a price list or its name');
  });

  it.each([
    [{ write: 1 }, 'break-even prices option read'],
    [{ read: 1 }, 'break-even prices option write'],
    [{ read: -1, write: 1 }, 'break-even prices option read'],
    [{ read: 1, write: 1, lifeMs: -1 }, 'lifeMs to be a number of 0 or more'],
    [{ read: 1, write: 1, lifeMs: '5' }, 'lifeMs to be a number of 0 or more'],
    [{ read: 1, write: 1, leastTokens: 0.5 }, 'leastTokens'],
    [{ read: 1, write: 1, name: 5 }, 'name'],
    [{ read: 1, write: 1, date: 5 }, 'date'],
    [{ read: 1, write: 1, source: 5 }, 'source'],
    [{ read: 1, write: 1, writes: { short: 1 } }, 'break-even prices writes option hour'],
    [{ read: 1, write: 1, writes: { hour: 1 } }, 'break-even prices writes option short'],
    [{ read: 1, write: 1, writes: { short: 1, hour: -1 } }, 'break-even prices writes option hour'],
  ])('is not %j', (prices, problem) => {
    expect(said(prices)).toContain(problem);
  });

  it('of one’s own says all that a named one says', () => {
    const own = { name: 'mine', read: 0.2, write: 1, writes: { short: 1, hour: 2 }, lifeMs: 0, leastTokens: 5 };
    const lookup = { kind: 'prefix', stepTokens: 1 };
    expect(toPrices('x', own)).toEqual({ ...own, lookup, date: '', source: 'the caller' });
    expect(Object.keys(toPrices('x', { read: 1, write: 1, lookup: { stepTokens: 1, kind: 'prefix' } }).lookup)).toEqual(
      ['kind', 'stepTokens'],
    );
  });

  it('tells how long a cached prefix lives, its least size and its steps', () => {
    const facts = Object.values(priceLists).map(({ name, lifeMs, leastTokens, lookup }) => [
      name,
      lifeMs / 60_000,
      leastTokens,
      'stepTokens' in lookup ? lookup.stepTokens : lookup.lookBackBlocks,
    ]);
    expect(facts).toEqual([
      ['anthropic-5m', 5, 1024, 20],
      ['anthropic-1h', 60, 1024, 20],
      ['gpt-5', 5, 1024, 128],
      ['gpt-5.6', 30, 1024, 128],
      ['gpt-4.1', 5, 1024, 128],
      ['gpt-4o', 5, 1024, 128],
      ['gemini', 5, 2048, 1],
      ['deepseek', 120, 0, 1],
      ['none', 0, 0, 1],
    ]);
    expect(priceLists['anthropic-5m'].writes).toEqual({ short: 1.25, hour: 2 });
    expect(Object.isFrozen(priceLists['anthropic-5m'].writes)).toBe(true);
    expect(priceLists.none.source).toBe('every token is billed alike');
  });
});

describe('inputCost', () => {
  const rates = { read: 0.1, write: 1.25, writes: { short: 1.5, hour: 2 } };

  it('is that of a write for all tokens that were not read, where no more is told', () => {
    expect(inputCost({ cached: 1000, written: 100 }, rates)).toBe(100 + 125);
  });
  it('is the base price for tokens that were neither read nor written', () => {
    expect(inputCost({ cached: 1000, written: 100, uncached: 60 }, rates)).toBe(100 + 60 + 50);
    expect(inputCost({ cached: 1000, written: 100, uncached: 60 }, { ...rates, base: 2 })).toBe(100 + 120 + 50);
  });
  it('tells writes for an hour from the others, where provider and prices do', () => {
    const split = { cached: 1000, written: 100, uncached: 10, hourWritten: 40 };
    expect(inputCost(split, rates)).toBe(100 + 10 + 50 * 1.5 + 40 * 2);
    expect(inputCost(split, { read: 0.1, write: 1.25 })).toBe(100 + 10 + 90 * 1.25);
    expect(inputCost({ ...split, hourWritten: 0 }, rates)).toBe(100 + 10 + 90 * 1.5);
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
    ['o3-mini', 'gpt-4o'],
    ['gpt5', 'gpt-5'],
    ['gpt4o', 'gpt-4o'],
    ['gpt4.1', 'gpt-4.1'],
    ['codex-mini-latest', 'gpt-5'],
    ['gpt-5.10', 'gpt-5.6'],
    ['gpt5.6', 'gpt-5.6'],
    ['claude', 'anthropic-5m'],
    ['gemini-3-pro', 'gemini'],
    ['models/gemini-2.5-flash', 'gemini'],
    ['deepseek-chat', 'deepseek'],
    ['deepseek/deepseek-v3.2', 'deepseek'],
  ])('takes %s for %s', (model, name) => {
    expect(pricesOf(model)).toBe(priceLists[name]);
  });
  it.each([
    '',
    'llama-4-maverick',
    'gpt-oss-120b',
    'grok-4',
    'qwen3-coder',
    'mistral-large',
    'my-model',
    'solo1',
    'o12',
    'turbo3',
    'o45',
  ])('does not know those of %s', (model) => {
    expect(pricesOf(model)).toBeUndefined();
  });
});

import { describe, expect, it } from 'vitest';
import { policies } from '../plan/policies/index.ts';
import { priceLists } from '../plan/prices.ts';
import { readPrices, readReplayPolicy } from './replay-policy.ts';

const prices = priceLists['gpt-5'];

/** Most makers have defaults for all; this one must be told its budget. */
const withDefaults = (name: string): string => (name === 'graduated' ? 'graduated:max-input-chars=9' : name);

describe('readReplayPolicy', () => {
  it.each(Object.keys(policies).map(withDefaults))('reads %s, and keeps its words', (text) => {
    const policy = readReplayPolicy(text);
    expect(policy).toMatchObject({ name: text, isOptimum: false, isPriced: text === 'break-even' });
    // gemini-cli is opencode's rule with other numbers.
    const name = text === 'gemini-cli' ? 'protect-tokens' : text.split(':')[0];
    expect(policy.policy(prices).name).toBe(name);
  });

  it('reads none, which is never', () => {
    expect(readReplayPolicy('none')).toMatchObject({ name: 'none', isOptimum: false, isPriced: false });
    expect(readReplayPolicy('none').policy(prices).name).toBe('never');
  });

  it('plays break-even at each price list, unless it has one of its own', () => {
    expect(readReplayPolicy('break-even:window=3')).toMatchObject({ isPriced: true });
    expect(readReplayPolicy('break-even:window=3').policy(priceLists['anthropic-1h']).cacheLifeMs).toBe(3_600_000);
    expect(readReplayPolicy('break-even:prices=deepseek')).toMatchObject({ isPriced: false });
    expect(readReplayPolicy('break-even:prices=deepseek').policy(prices).cacheLifeMs).toBe(7_200_000);
  });

  it('reads optimum with the options of the class it bounds: the plain window of 10 by itself', () => {
    expect(readReplayPolicy('optimum')).toMatchObject({ name: 'optimum', isOptimum: true, isPriced: false });
    expect(readReplayPolicy('optimum').policy(prices)).toMatchObject({ window: 10 });
    expect(readReplayPolicy('optimum').policy(prices).toolUse).toBeUndefined();
    const other = readReplayPolicy('optimum:window=20,window-by-kind=true').policy(prices);
    expect(other).toMatchObject({ window: 20 });
    expect(other.toolUse).toBeDefined();
  });

  it.each([
    ['', 'known are'],
    ['sliding', 'known are'],
    ['sliding-windw', 'did you mean sliding-window?'],
    ['optimun', 'did you mean optimum?'],
    ['toString', 'option policy'],
    ['__proto__', 'option policy'],
    ['none:turns=3', 'an option of never'],
    ['never:turns=3', 'an option of never'],
    ['polling:turn=3', 'did you mean turns?'],
    ['polling:turns=-1', 'turns'],
    ['break-even:windw=3', 'did you mean window?'],
    ['break-even:window=x', 'window'],
    ['break-even:prices=gpt5', 'did you mean gpt-5?'],
    ['optimum:turns=3', 'turns'],
    ['optimum:window=1.5', 'window'],
    ['optimum:max-result-tokens=900', 'maxResultTokens'],
    ['graduated', 'maxInputChars'],
  ])('throws BAD_OPTION for %j', (text, said) => {
    expect(() => readReplayPolicy(text)).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }));
    expect(() => readReplayPolicy(text)).toThrow(said);
  });
});

describe('readPrices', () => {
  it.each(Object.keys(priceLists))('reads %s', (name) => {
    expect(readPrices(name)).toBe(priceLists[name as keyof typeof priceLists]);
  });

  it('reads prices of one’s own, and keeps their words', () => {
    expect(readPrices('mine:read=0.2,write=1.5')).toMatchObject({
      name: 'mine:read=0.2,write=1.5',
      read: 0.2,
      write: 1.5,
    });
    expect(readPrices('mine:write=1,read=0,life-ms=60000')).toMatchObject({ read: 0, write: 1, lifeMs: 60_000 });
  });

  // With a life of 0, `--cache-life listed` found every cache dead, and said that masking is free.
  it('takes a cache of one’s own for one that does not die, if nothing is said', () => {
    expect(readPrices('mine:read=0.2,write=1.5').lifeMs).toBe(Number.POSITIVE_INFINITY);
  });

  it.each([
    ['gpt5', 'did you mean gpt-5?'],
    ['anthropic', 'anthropic-5m'],
    ['zzzzzzzzzzzzzz', 'one of anthropic-5m'],
    ['toString', 'prices'],
    ['', 'prices'],
    ['mine:', 'mine:read=…,write=…'],
    ['mine:read=0.1', 'mine:read=…,write=…'],
    ['mine:read=0.1,write=cheap', 'write'],
    ['mine:read=-1,write=1', 'read'],
    ['mine:read=0.1,write=Infinity', 'write'],
    ['mine:read=0.1,write=1,reed=2', 'did you mean read?'],
  ])('throws BAD_OPTION for %j', (text, said) => {
    expect(() => readPrices(text)).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }));
    expect(() => readPrices(text)).toThrow(said);
  });
});

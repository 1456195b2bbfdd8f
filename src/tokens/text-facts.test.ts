import { describe, expect, it } from 'vitest';
import { factsOf } from './text-facts.ts';

/** A counter that remembers how often it was asked. */
function spy() {
  const seen: number[] = [];
  const counter = (text: string): number => {
    seen.push(text.length);
    return text.length;
  };
  return { counter, seen };
}

const LONG = 'a text of more than ninety-six characters, '.repeat(3);

describe('factsOf', () => {
  it('counts each long text once, however often it is asked for', () => {
    const { counter, seen } = spy();
    const facts = factsOf(counter);
    expect([facts(LONG).tokens, facts(`${LONG}`).tokens, facts(LONG).tokens]).toEqual(Array(3).fill(LONG.length));
    expect(seen).toEqual([LONG.length]);
  });

  it('keeps what was worked out of a text with it', () => {
    const facts = factsOf(spy().counter);
    facts(LONG).lines = 7;
    expect(facts(LONG).lines).toBe(7);
  });

  it('shares its memory between all who use the same counter, and with nobody else', () => {
    const [one, other] = [spy(), spy()];
    factsOf(one.counter)(LONG);
    factsOf(one.counter)(LONG);
    factsOf(other.counter)(LONG);
    expect([one.seen.length, other.seen.length]).toEqual([1, 1]);
  });

  it('keeps nothing of short texts: counting them is quicker than looking', () => {
    const { counter, seen } = spy();
    const facts = factsOf(counter);
    facts('short').lines = 7;
    expect(facts('short').lines).toBeUndefined();
    expect(seen).toEqual([5, 5]);
  });

  it('tells texts apart that differ in one character, wherever it stands', () => {
    const facts = factsOf((text) => text.indexOf('!'));
    const dots = '.'.repeat(700);
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < dots.length; i++) expect(facts(`${dots.slice(0, i)}!${dots.slice(i + 1)}`).tokens).toBe(i);
    }
  });

  it('is bounded: what is asked for again stays, what is not is forgotten', () => {
    const { counter, seen } = spy();
    const facts = factsOf(counter);
    const [kept, forgotten] = [`kept ${LONG}`, `forgotten ${LONG}`];
    facts(kept);
    facts(forgotten);
    const large = 'x'.repeat(30 * 1024 * 1024);
    for (let i = 0; i < 8; i++) {
      facts(large + i);
      facts(kept);
    }
    seen.length = 0;
    facts(kept);
    expect(seen).toEqual([]);
    facts(forgotten);
    expect(seen).toEqual([forgotten.length]);
  });
});

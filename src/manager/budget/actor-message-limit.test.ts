import { describe, expect, it } from 'vitest';
import { PalimpsestError } from '../../errors.ts';
import { actorMessageLimit } from './actor-message-limit.ts';

describe('actorMessageLimit', () => {
  it.each([
    [1, 100],
    [10_199, 100],
    [10_200, 102],
    [20_199, 200],
    [150_000, 1500],
    [200_000, 2000],
    [1_000_000, 2000],
  ])('of %d tokens is %d: two messages for every 200, between 100 and 2000', (tokens, messages) => {
    expect(actorMessageLimit(tokens)).toBe(messages);
  });

  it('is 1000 where no model is known', () => {
    expect(actorMessageLimit()).toBe(1000);
  });

  it.each([0, -1, 1.5, Number.NaN])('refuses %d', (tokens) => {
    expect(() => actorMessageLimit(tokens)).toThrow(PalimpsestError);
  });
});

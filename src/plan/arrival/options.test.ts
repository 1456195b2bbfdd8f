import { describe, expect, it } from 'vitest';
import { arrivalRules, toArrival } from './options.ts';

describe('toArrival', () => {
  it('turns everything off unless an option says otherwise', () => {
    const off = { clean: false, references: false, shellOutput: undefined, truncate: undefined };
    expect(toArrival()).toEqual(off);
    expect(toArrival(undefined, {})).toEqual(off);
    expect(toArrival({ clean: false, references: false, shellOutput: false, truncate: false })).toEqual(off);
  });

  it('takes each option from the first that sets it, also if that is false', () => {
    expect(
      toArrival(
        { clean: true, shellOutput: false },
        { clean: false, references: true, shellOutput: 500 },
        { truncate: 900 },
      ),
    ).toEqual({ clean: true, references: true, shellOutput: undefined, truncate: 900 });
  });

  it('shortens the output of a shell to 2,000 tokens, or to the number given', () => {
    expect(toArrival({ shellOutput: true }).shellOutput).toBe(2000);
    expect(toArrival({ shellOutput: 500 }).shellOutput).toBe(500);
  });
});

it('a limit is false or a whole number above 0, and `true` is one for shells only', () => {
  for (const value of [false, 1, 2000]) {
    expect(arrivalRules.truncate.check(value)).toBe(true);
    expect(arrivalRules.shellOutput.check(value)).toBe(true);
  }
  for (const value of [0, -1, 1.5, '2000', null]) {
    expect(arrivalRules.truncate.check(value)).toBe(false);
    expect(arrivalRules.shellOutput.check(value)).toBe(false);
  }
  expect(arrivalRules.truncate.check(true)).toBe(false);
  expect(arrivalRules.shellOutput.check(true)).toBe(true);
});

import { describe, expect, it } from 'vitest';
import { UsageError } from './io.ts';
import { parseOptions, readCount } from './parse-options.ts';

const OPTIONS = {
  policy: { type: 'string', multiple: true },
  window: { type: 'string' },
  json: { type: 'boolean' },
} as const;

describe('parseOptions', () => {
  it('reads flags and files, in any order', () => {
    const { values, positionals } = parseOptions(['a', '--policy', 'x', '--json', 'b', '--policy=y'], OPTIONS);
    expect({ ...values }).toEqual({ policy: ['x', 'y'], json: true });
    expect(positionals).toEqual(['a', 'b']);
  });

  it('takes all behind -- for files', () => {
    expect(parseOptions(['--', '--json'], OPTIONS).positionals).toEqual(['--json']);
  });

  it.each([
    ['--polcy', 'did you mean --policy?'],
    ['--windows=3', 'did you mean --window?'],
    ['--Json', 'did you mean --json?'],
  ])('%s: names the nearest option', (flag, said) => {
    expect(() => parseOptions([flag], OPTIONS)).toThrow(UsageError);
    expect(() => parseOptions([flag], OPTIONS)).toThrow(said);
  });

  it.each(['--zzzzzzzzzz', '-z', '--toString'])('%s: says that it is unknown, and nothing else', (flag) => {
    expect(() => parseOptions([flag], OPTIONS)).toThrow(new UsageError(`unknown option ${flag}`));
  });

  it.each([['--zzzzzzzzzz'], ['-z'], ['--toString'], ['--window'], ['--json=yes'], ['--window', '--json']])(
    '%s: what cannot be read is a mistake of the caller, told in one line',
    (...args) => {
      expect(() => parseOptions(args, OPTIONS)).toThrow(UsageError);
      expect(() => parseOptions(args, OPTIONS)).not.toThrow('did you mean');
    },
  );
});

describe('readCount', () => {
  it.each([
    ['1', 1, 1],
    ['200000', 1, 200_000],
    ['0', 0, 0],
    ['007', 0, 7],
  ])('reads %j', (text, least, count) => {
    expect(readCount('--window', text, least)).toBe(count);
  });

  it.each(['', ' ', '-1', '1.5', '1e3', '0x10', 'NaN', 'ten', '１'])('refuses %j', (text) => {
    expect(() => readCount('--window', text, 0)).toThrow(UsageError);
    expect(() => readCount('--window', text, 0)).toThrow(
      `expected --window to be a whole number of 0 or more but found '${text}'`,
    );
  });

  it('refuses less than the least', () => {
    expect(() => readCount('--context-limit', '0')).toThrow('a whole number of 1 or more');
  });
});

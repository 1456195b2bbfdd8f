import { describe, expect, it } from 'vitest';
import {
  atPrices,
  formatAgo,
  formatBytes,
  formatChange,
  formatCount,
  formatExactShare,
  formatMs,
  formatPath,
  formatPlural,
  formatRate,
  formatShare,
  formatTokens,
} from './format.ts';

/** As it is read: the narrow space that does not break is a space. */
const read = (text: string): string => text.replaceAll('\u202f', ' ');

describe('numbers on a page', () => {
  it.each([
    [0, '0'],
    [999, '999'],
    [999.7, '1.0k'],
    [1000, '1.0k'],
    [9949, '9.9k'],
    [9950, '10k'],
    [123_456, '123k'],
    [1_234_499, '1,234k'],
    [9_999_499, '9,999k'],
    [9_999_500, '10.0M'],
    [732_040_000, '732.0M'],
    [-1500, '−1.5k'],
    [-0.2, '0'],
  ])('%d tokens are %s', (tokens, text) => {
    expect(formatTokens(tokens)).toBe(text);
  });

  it.each([
    [-0.314, '−31 %'],
    [0.16, '+16 %'],
    [1.22, '+122 %'],
    [-0.004, '−0.4 %'],
    [0.0094, '+0.9 %'],
    [0.0096, '+1 %'],
    [-0.0004, '0 %'],
    [0, '0 %'],
    [-0, '0 %'],
  ])('a change of %d is %s', (share, text) => {
    expect(read(formatChange(share))).toBe(text);
  });

  it('tell a share, a rate and a count', () => {
    expect(read(formatShare(0.714))).toBe('71 %');
    expect([0.4, 0.005, 1, 0.07].map(formatExactShare).map(read)).toEqual(['40 %', '0.5 %', '100 %', '7 %']);
    expect(formatRate(5.61)).toBe('5.6');
    expect(formatCount(10_577)).toBe('10,577');
  });

  it('are a dash where there is none: JSON writes null for what could not be divided', () => {
    for (const format of [
      formatTokens,
      formatChange,
      formatShare,
      formatRate,
      formatCount,
      formatMs,
      formatBytes,
      formatAgo,
    ]) {
      expect([null, undefined, Number.NaN, Number.POSITIVE_INFINITY].map(format)).toEqual(['–', '–', '–', '–']);
    }
  });

  it.each([
    [0.123, '0.12 ms'],
    [0.994, '0.99 ms'],
    [0.996, '1.0 ms'],
    [9.96, '10 ms'],
    [999, '999 ms'],
    [12_345, '12.3 s'],
  ])('%d ms are %s', (ms, text) => {
    expect(read(formatMs(ms))).toBe(text);
  });

  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.0 KB'],
    [9960, '10 KB'],
    [1_234_499, '1,234 KB'],
    [12_345_678, '12.3 MB'],
  ])('%d bytes are %s', (bytes, text) => {
    expect(read(formatBytes(bytes))).toBe(text);
  });

  it.each([
    [-500, 'just now'],
    [9999, 'just now'],
    [47_000, '40 s ago'],
    [119_000, '1 min ago'],
    [3_600_000, '1 h ago'],
    [200_000_000, '2 d ago'],
  ])('%d ms ago is %s', (ms, text) => {
    expect(read(formatAgo(ms))).toBe(text);
  });

  it('go with a word', () => {
    expect([0, 1, 1234].map((count) => formatPlural(count, 'run'))).toEqual(['0 runs', '1 run', '1,234 runs']);
  });
});

it('atPrices names the list, or that there is no cache', () => {
  expect([atPrices('none'), atPrices('gpt-5')]).toEqual(['without a prompt cache', 'at gpt-5 prices']);
});

describe('formatPath', () => {
  it.each([
    ['run.jsonl', 'run.jsonl'],
    ['logs/run.jsonl', 'logs/run.jsonl'],
    ['/home/me/logs/run.jsonl', '…/logs/run.jsonl'],
    ['C:\\Users\\me\\logs\\run.jsonl', '…/logs/run.jsonl'],
  ])('shows of %s the end', (path, text) => {
    expect(formatPath(path)).toBe(text);
  });
});

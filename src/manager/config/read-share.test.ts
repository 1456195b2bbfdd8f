import { expect, it } from 'vitest';
import { readShare } from './read-share.ts';

it('reads percents and numbers of 0 to 1', () => {
  expect(['10%', '0.5 %', '100%', '0%', '0.1', '.25', 0.1, 1, 0].map(readShare)).toEqual([
    ...[0.1, 0.005, 1, 0],
    ...[0.1, 0.25, 0.1, 1, 0],
  ]);
});

it('takes nothing else: 10 could be ten percent, or a mistake', () => {
  expect(['10', 10, '101%', '-1%', '1e-1', '', 'ten', '%', -0.1].map(readShare)).toEqual(Array(9).fill(undefined));
});

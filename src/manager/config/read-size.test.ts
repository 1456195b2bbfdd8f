import { expect, it } from 'vitest';
import { readSize } from './read-size.ts';

it.each([
  [4096, 4096],
  ['4096', 4096],
  ['500MB', 500_000_000],
  ['10 GB', 10_000_000_000],
  ['1.5G', 1_500_000_000],
  ['2TiB', 2 * 1024 ** 4],
  ['64kB', 64_000],
  ['0', undefined],
  ['10XB', undefined],
  ['-5GB', undefined],
  ['', undefined],
])('%j is %j bytes', (size, bytes) => {
  expect(readSize(size)).toBe(bytes);
});

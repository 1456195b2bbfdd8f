import fc from 'fast-check';
import { expect, it } from 'vitest';
import { HashTable } from './hash-table.ts';

it('answers like a map, whatever the hashes are', () => {
  const hash = fc.oneof(fc.integer(), fc.integer({ min: -40, max: 40 }));
  fc.assert(
    fc.property(fc.array(fc.tuple(hash, fc.integer({ min: 1, max: 2 ** 31 - 1 }))), (entries) => {
      const table = new HashTable();
      const map = new Map<number, number>();
      for (const [key, value] of entries) {
        table.reserve(1);
        expect(table.set(key, value)).toBe(map.get(key) ?? 0);
        map.set(key, value);
      }
      for (const [key, value] of map) expect(table.get(key)).toBe(value);
      expect(table.get(41)).toBe(map.get(41) ?? 0);
    }),
  );
});

it.each([10, 5000])('knows nothing once it was cleared, and has room for %i again', (room) => {
  const table = new HashTable();
  for (const round of [1, 2]) {
    for (let hash = 1; hash <= 3000; hash++) {
      table.reserve(1);
      expect(table.set(hash, round)).toBe(0);
    }
    table.clear(room);
    for (let hash = 1; hash <= 3000; hash++) expect(table.get(hash)).toBe(0);
  }
});

it('goes on at the first slot when the last one is taken', () => {
  const table = new HashTable();
  // Times the first multiplier, these are -1, -2, -3: all belong into the last slot.
  const hashes = [-1, -2, -3].map((n) => Math.imul(n, inverse(0x9e3779b1)));
  for (const [i, hash] of hashes.entries()) expect(table.set(hash, i + 1)).toBe(0);
  expect(hashes.map((hash) => table.get(hash))).toEqual([1, 2, 3]);
});

it('stays quick for hashes that were made for one slot', () => {
  const count = 60_000;
  const ordinary = Array.from({ length: count }, (_, i) => Math.imul(i + 1, 0x85ebca6b));
  // Times the first multiplier, these are 1, 2, 3, …: the slot is given by the upper bits.
  const crafted = Array.from({ length: count }, (_, i) => Math.imul(i + 1, inverse(0x9e3779b1)));
  const fill = (hashes: readonly number[]): number => {
    const start = process.cpuUsage();
    const table = new HashTable();
    table.reserve(count);
    for (const [i, hash] of hashes.entries()) table.set(hash, i + 1);
    const areFound = hashes.every((hash, i) => table.get(hash) === i + 1);
    const time = process.cpuUsage(start).user / 1000;
    expect(areFound).toBe(true);
    return time;
  };
  const times = Array.from({ length: 3 }, () => [fill(ordinary), fill(crafted)] as const);
  // Without another multiplier, it takes a thousand times as long.
  const least = (of: 0 | 1): number => Math.min(...times.map((pair) => pair[of]));
  expect(least(1)).toBeLessThan(50 * least(0) + 50);
}, 60_000);

/** The odd number that gives 1 when multiplied with an odd one, by 32 bits. */
function inverse(odd: number): number {
  let found = odd;
  for (let i = 0; i < 5; i++) found = Math.imul(found, 2 - Math.imul(odd, found));
  return found;
}

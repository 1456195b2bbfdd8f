import { describe, expect, it } from 'vitest';
import { readTime } from './read-time.ts';

const NOW = Date.UTC(2026, 10, 18);
const DAY_MS = 86_400_000;

describe('readTime', () => {
  it.each([
    ['2d', NOW - 2 * DAY_MS],
    ['2026-11-01', Date.UTC(2026, 10, 1)],
    ['2024-02-29', Date.UTC(2024, 1, 29)],
    ['2026-11-01T08:00Z', Date.UTC(2026, 10, 1, 8)],
    ['2026-11-01T00:30+02:00', Date.UTC(2026, 9, 31, 22, 30)],
  ])('reads %s', (text, time) => {
    expect(readTime(text, NOW)).toBe(time);
  });

  it.each(['2026-02-30', '2026-02-29', '2026-04-31T08:00Z', '2026-13-01', '2026-00-10', '2026-11-01T25:00Z'])(
    'refuses %s, a time that does not exist',
    (text) => {
      expect(readTime(text, NOW)).toBeUndefined();
    },
  );

  it.each(['yesterday', '7', '7m', '2026', ''])('refuses %j', (text) => {
    expect(readTime(text, NOW)).toBeUndefined();
  });
});

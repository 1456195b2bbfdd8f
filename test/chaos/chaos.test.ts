import { beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt } from '../support/modules.ts';
import { createRandom } from './random.ts';
import { runRound } from './round.ts';
import { KINDS } from './world.ts';

beforeAll(ensureBuilt, 240_000);

describe('a gateway with workers and an embedded store', () => {
  it('loses nothing and answers every client while everything goes wrong', { timeout: 240_000 }, async () => {
    const progress: string[] = [];
    const report = await runRound({
      store: 'embedded',
      kinds: KINDS,
      seed: 14,
      seconds: 20,
      clients: 3,
      workers: 2,
      largestBytes: 1_000_000,
      mostPauseMs: 1000,
      onProgress: (line) => progress.push(line),
    });
    expect(report.violations, progress.join('\n')).toEqual([]);
    expect(report.placeholders).toBeGreaterThan(0);
    expect(Object.keys(report.disturbances).length).toBeGreaterThan(3);
  });
});

describe('the choices of a chaos run', () => {
  it('are the same for the same seed', () => {
    const drawn = (seed: number) => {
      const random = createRandom(seed).fork('disturbances');
      const draw = random.deck(['a', 'b', 'c', 'd', 'e']);
      return Array.from({ length: 20 }, draw);
    };
    expect(drawn(7)).toEqual(drawn(7));
    expect(drawn(7)).not.toEqual(drawn(8));
    expect(new Set(drawn(7).slice(0, 5)).size).toBe(5);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type OptimumInput, optimum, requestsOf } from './optimum.ts';
import { costOf } from './simulate.ts';

const never = (): boolean => false;

/** Requests of 100, 200, 300 and 400; a result of 50 behind the first 100 may become nothing from request 3 on. */
const SMALL: OptimumInput = {
  sizes: [100, 200, 300, 400],
  candidates: [{ from: 3, position: 110, gain: 50 }],
  read: 0.1,
  write: 1,
  billedBefore: 0,
  isColdAt: never,
};

describe('optimum', () => {
  it('waits where an epoch does not pay', () => {
    // 100 + (10 + 100) + (20 + 100) + (30 + 100)
    const { cost, epochs } = optimum(SMALL);
    expect(cost).toBeCloseTo(460, 9);
    expect(epochs).toEqual([]);
  });

  it('acts where it does', () => {
    // At request 4 nothing after 110 was cheap: 100 + 200 + 300 + 350 without a cache.
    expect(optimum({ ...SMALL, read: 1 })).toEqual({ cost: 100 + 200 + 250 + 350, epochs: [3] });
    // A larger gain: request 3 has 110 in the cache and 10 to write, request 4 has 120 and 100.
    const { cost, epochs } = optimum({ ...SMALL, candidates: [{ from: 3, position: 110, gain: 180 }] });
    expect(cost).toBeCloseTo(100 + (10 + 100) + (11 + 10) + (12 + 100), 9);
    expect(epochs).toEqual([3]);
  });

  it('is free at a request whose cache has died', () => {
    const { cost, epochs } = optimum({ ...SMALL, isColdAt: (request) => request === 4 });
    expect(cost).toBeCloseTo(100 + (10 + 100) + (20 + 100) + 350, 9);
    expect(epochs).toEqual([4]);
  });

  it('bills nothing that was billed before, and nothing as cached after it', () => {
    const { cost, epochs } = optimum({ ...SMALL, billedBefore: 2 });
    expect(cost).toBeCloseTo(250 + (25 + 100), 9);
    expect(epochs).toEqual([3]);
  });

  it('has nothing to do where nothing was sent', () => {
    expect(optimum({ ...SMALL, sizes: [], candidates: [] })).toEqual({ cost: 0, epochs: [] });
    expect(requestsOf({ ...SMALL, sizes: [], candidates: [] }, [])).toEqual([]);
  });

  it('does not act on what never becomes eligible', () => {
    expect(optimum({ ...SMALL, read: 1, candidates: [{ from: 9, position: 110, gain: 50 }] }).epochs).toEqual([]);
  });
});

interface Turn {
  readonly text: number;
  readonly result: number;
  /** The share of the result that a mask saves; 0 where there can be none. */
  readonly share: number;
  /** How many requests it must wait until it may go. A younger one may go sooner. */
  readonly wait: number;
}

interface Case {
  readonly head: number;
  readonly turns: readonly Turn[];
  readonly input: OptimumInput;
}

/** Requests that grow, with results between their texts that may go some time after they came. */
const anyCase = ({ maxTurns }: { readonly maxTurns: number }): fc.Arbitrary<Case> =>
  fc
    .record({
      head: fc.integer({ min: 0, max: 2000 }),
      turns: fc.array(
        fc.record({
          text: fc.integer({ min: 0, max: 300 }),
          result: fc.integer({ min: 0, max: 3000 }),
          share: fc.constantFrom(0, 0.5, 0.99),
          wait: fc.nat({ max: 5 }),
        }),
        { maxLength: maxTurns },
      ),
      read: fc.constantFrom(0, 0.02, 0.1, 0.5, 1),
      write: fc.constantFrom(1, 1.25, 2),
      billedBefore: fc.nat({ max: 3 }),
      cold: fc.array(fc.integer({ min: 1, max: 13 }), { maxLength: 2 }),
    })
    .map(({ head, turns, read, write, billedBefore, cold }) => {
      const sizes = [head];
      const candidates: { from: number; position: number; gain: number }[] = [];
      for (const [i, { text, result, share, wait }] of turns.entries()) {
        const position = (sizes[i] as number) + text;
        if (share > 0) candidates.push({ from: i + 2 + wait, position, gain: share * result });
        sizes.push(position + result);
      }
      const isColdAt = (request: number): boolean => cold.includes(request);
      return { head, turns, input: { sizes, candidates, read, write, billedBefore, isColdAt } };
    });

const anyInput = anyCase({ maxTurns: 12 }).map(({ input }) => input);

/** Tries all sets of requests, and bills their parts one by one. */
function cheapest({ head, turns, input }: Case): number {
  const { read, write, billedBefore, isColdAt } = input;
  let least = Number.POSITIVE_INFINITY;
  for (let set = 0; set < 2 ** (turns.length + 1); set++) {
    const masked = new Set<number>();
    let [cost, before] = [0, [] as number[]];
    for (let request = 1; request <= turns.length + 1; request++) {
      if (set & (1 << (request - 1)))
        for (const [i, { share, wait }] of turns.entries()) if (share > 0 && i + 2 + wait <= request) masked.add(i);
      // A part that is masked is another part, whatever its size: told by a sign.
      const now = [head];
      for (const [i, { text, result, share }] of turns.slice(0, request - 1).entries())
        now.push(text, masked.has(i) ? -(1 - share) * result - 1e-9 : result);
      const changed = before.findIndex((part, i) => part !== now[i]);
      const same = changed < 0 ? before : before.slice(0, changed);
      const cached = request === billedBefore + 1 || isColdAt(request) ? 0 : sum(same);
      if (request > billedBefore) cost += read * cached + write * (sum(now) - cached);
      before = now;
    }
    least = Math.min(least, cost);
  }
  return least;
}

const sum = (parts: readonly number[]): number => parts.reduce((all, part) => all + Math.abs(part), 0);

it('optimum is the cheapest of all sets of requests, also where younger results may go sooner', () => {
  fc.assert(
    fc.property(anyCase({ maxTurns: 9 }), (given) => {
      expect(optimum(given.input).cost).toBeCloseTo(cheapest(given), 3);
    }),
    { numRuns: 200 },
  );
});

describe('requestsOf', () => {
  it('gives the requests that cost what optimum says', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const { cost, epochs } = optimum(input);
        const isColdAt = (index: number): boolean => input.isColdAt(input.billedBefore + 1 + index);
        expect(costOf(requestsOf(input, epochs), input, isColdAt)).toBeCloseTo(cost, 6);
      }),
      { numRuns: 500 },
    );
  });

  it('costs less at no other schedule', () => {
    fc.assert(
      fc.property(anyInput, fc.uniqueArray(fc.integer({ min: 1, max: 13 })), (input, other) => {
        const isColdAt = (index: number): boolean => input.isColdAt(input.billedBefore + 1 + index);
        const requests = requestsOf(
          input,
          other.filter((request) => request <= input.sizes.length),
        );
        expect(optimum(input).cost).toBeLessThanOrEqual(costOf(requests, input, isColdAt) + 1e-6);
      }),
      { numRuns: 500 },
    );
  });

  it('tells every request, and where the cache ends', () => {
    const input = { ...SMALL, candidates: [{ from: 3, position: 110, gain: 180 }] };
    expect(requestsOf(input, [3])).toEqual([
      { size: 100, cached: 0, isEpoch: false },
      { size: 200, cached: 100, isEpoch: false },
      { size: 120, cached: 110, isEpoch: true },
      { size: 220, cached: 120, isEpoch: false },
    ]);
    expect(requestsOf({ ...input, billedBefore: 2 }, [3])).toEqual([
      { size: 120, cached: 0, isEpoch: true },
      { size: 220, cached: 120, isEpoch: false },
    ]);
  });
});

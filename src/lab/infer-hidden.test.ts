import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inferHidden } from './infer-hidden.ts';
import type { ReplyFacts } from './run.ts';

const usage = (prompt: number, cached = 0): ReplyFacts => ({ usage: { prompt, cached, output: 50 } });

/** A context whose truth is known: each request adds text, and some hidden text of its own. */
interface Made {
  readonly hidden: number;
  readonly scale: number;
  /** The text that each request adds, by the counter. */
  readonly steps: readonly number[];
  /** Hidden in every turn: thinking, reminders. */
  readonly perTurn: number;
  /** Requests whose usage is missing, a zero, or has a picture of this many tokens. */
  readonly odd: readonly ('missing' | number | undefined)[];
}

function replay({ hidden, scale, steps, perTurn, odd }: Made) {
  let text = 0;
  const sizes = steps.map((step) => {
    text += step;
    return text;
  });
  const replies = sizes.map((size, i): ReplyFacts => {
    const extra = odd[i % odd.length];
    if (extra === 'missing') return {};
    return usage(Math.round(hidden + scale * size + perTurn * i + (extra ?? 0)));
  });
  return { sizes, replies, carriedTurns: 0 };
}

const made = (more: { maxPerTurn: number }): fc.Arbitrary<Made> =>
  fc.record({
    hidden: fc.integer({ min: 0, max: 60_000 }),
    scale: fc.double({ min: 0.8, max: 3, noNaN: true }),
    // Small steps and large ones, as of any agent.
    steps: fc.array(fc.oneof(fc.integer({ min: 20, max: 300 }), fc.integer({ min: 500, max: 8000 })), {
      minLength: 24,
      maxLength: 80,
    }),
    perTurn: fc.integer({ min: 0, max: more.maxPerTurn }),
    odd: fc.constantFrom<Made['odd']>(
      [undefined],
      [undefined, undefined, undefined, 'missing'],
      [...Array.from({ length: 11 }, () => undefined), 1500],
    ),
  });

/** Enough text for a slope, and large steps beside small ones. */
const isTelling = ({ steps }: Made): boolean => {
  const large = steps.filter((step) => step >= 500).length;
  return large >= 10 && steps.length - large >= 10;
};

describe('inferHidden, where the truth is known', () => {
  it('finds the hidden tokens and the scale, though usages are missing or have pictures in them', () => {
    fc.assert(
      fc.property(made({ maxPerTurn: 0 }).filter(isTelling), (truth) => {
        const found = inferHidden(replay(truth));
        expect(found?.scale).toBeCloseTo(truth.scale, 1);
        const all = truth.hidden + truth.scale * truth.steps.reduce((sum, step) => sum + step, 0);
        expect(Math.abs((found?.hiddenTokens ?? 0) - truth.hidden)).toBeLessThan(0.03 * all + 200);
      }),
    );
  });

  it('counts thinking of every turn as hidden, and not as text', () => {
    fc.assert(
      fc.property(made({ maxPerTurn: 400 }).filter(isTelling), (truth) => {
        const found = inferHidden(replay({ ...truth, odd: [undefined] }));
        expect(found?.scale).toBeGreaterThan(0.9 * truth.scale);
        expect(found?.scale).toBeLessThan(1.25 * truth.scale + 0.05);
      }),
    );
  });

  it('all requests together come within 5 % of what the provider counted', () => {
    fc.assert(
      fc.property(made({ maxPerTurn: 400 }).filter(isTelling), (truth) => {
        const found = inferHidden(replay({ ...truth, odd: [undefined] }));
        const { replayedTokens = 0, countedTokens = 1 } = found ?? {};
        expect(Math.abs(replayedTokens / countedTokens - 1)).toBeLessThan(0.05);
      }),
    );
  });
});

describe('inferHidden, whatever the log says', () => {
  it('gives no negative hidden part and a scale within bounds', () => {
    const anyReply = fc.oneof(
      fc.constant<ReplyFacts>({}),
      fc
        .record({ prompt: fc.integer({ min: 1, max: 2_000_000 }), cached: fc.integer({ min: 0, max: 2_000_000 }) })
        .map(({ prompt, cached }) => usage(prompt, cached)),
    );
    const anyRequest = fc.record({ step: fc.double({ min: 0, max: 1e6, noNaN: true }), reply: anyReply });
    fc.assert(
      fc.property(fc.array(anyRequest, { maxLength: 40 }), fc.nat(5), (requests, carriedTurns) => {
        let text = 0;
        const sizes = requests.map(({ step }) => {
          text += step;
          return text;
        });
        const replies = requests.map(({ reply }) => reply);
        const found = inferHidden({ sizes, replies, carriedTurns });
        const counted = replies.slice(carriedTurns).filter((reply) => reply.usage);
        expect(found === undefined).toBe(counted.length === 0);
        if (!found) return;
        expect(found.hiddenTokens).toBeGreaterThanOrEqual(0);
        expect(found.hiddenTokens).toBeLessThan(Number.POSITIVE_INFINITY);
        expect(found.scale).toBeGreaterThanOrEqual(0.5);
        expect(found.scale).toBeLessThanOrEqual(4);
        expect(found.cachedAtStart).toBeLessThanOrEqual(found.hiddenTokens);
        expect(found.requests).toBe(counted.length);
      }),
    );
  });

  it('a single request has all that is not text as hidden', () => {
    expect(inferHidden({ sizes: [1000], replies: [usage(21_000, 15_000)], carriedTurns: 0 })).toEqual({
      hiddenTokens: 20_000,
      scale: 1,
      cachedAtStart: 15_000,
      requests: 1,
      countedTokens: 21_000,
      replayedTokens: 21_000,
    });
  });

  it('an agent that drops its old thinking now and then changes the scale little', () => {
    const steps = Array.from({ length: 60 }, (_, i) => (i % 2 === 0 ? 100 : 2000));
    const { sizes, replies } = replay({ hidden: 10_000, scale: 1.4, steps, perTurn: 0, odd: [undefined] });
    // 300 tokens of thinking in each turn, all of them dropped every ten turns.
    const thinking = replies.map((reply, i) => usage((reply.usage?.prompt ?? 0) + 300 * (i % 10)));
    const found = inferHidden({ sizes, replies: thinking, carriedTurns: 0 });
    expect(found?.scale).toBeCloseTo(1.4, 1);
    expect(found?.hiddenTokens).toBeGreaterThan(10_000);
    expect(found?.hiddenTokens).toBeLessThan(13_000);
  });

  it('replies that a compaction carried over tell nothing: their requests were others', () => {
    const replies = [usage(90_000), usage(90_000), usage(12_000)];
    const found = inferHidden({ sizes: [100, 200, 2000], replies, carriedTurns: 2 });
    expect(found).toMatchObject({ requests: 1, countedTokens: 12_000, hiddenTokens: 10_000 });
  });

  it('where the log has more text than the provider counted, nothing is hidden', () => {
    const sizes = [10_000, 12_000, 14_000, 16_000, 18_000, 20_000];
    const replies = sizes.map((size) => usage(0.8 * size));
    expect(inferHidden({ sizes, replies, carriedTurns: 0 })).toMatchObject({ hiddenTokens: 0, scale: 0.8 });
  });
});

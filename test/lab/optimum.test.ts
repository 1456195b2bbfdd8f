import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatMessage } from '../../src/index.ts';
import { type ReplaySetting, replayContext } from '../../src/lab/replay-context.ts';
import { readPrices, readReplayPolicy } from '../../src/lab/replay-policy.ts';
import type { Context } from '../../src/lab/run.ts';
import { priceLists } from '../../src/plan/prices.ts';
import { anyContext, chars } from '../support/logs/contexts.ts';

const anyPrices = fc.oneof(
  fc.constantFrom(...Object.keys(priceLists)),
  fc
    .record({ read: fc.constantFrom(0, 0.05, 0.3, 1), write: fc.constantFrom(0.5, 1, 1.25, 2) })
    .map(({ read, write }) => `own:read=${read},write=${write},life-ms=300000`),
);

/** What all of one class share: the rule by which results may be masked. */
const anyClass = fc.record({
  window: fc.nat({ max: 4 }),
  byKind: fc.boolean(),
  minTokens: fc.constantFrom(0, 80, 400),
});

const anySetting = fc.record({
  systemTokens: fc.constantFrom(0, 2000),
  cacheLife: fc.constantFrom('endless' as const, 'listed' as const, 300_000),
  hiddenTokens: fc.constantFrom(0, 5000),
  cachedAtStart: fc.constantFrom(0, 3000),
});

type PlainSetting = Omit<ReplaySetting, 'counter' | 'policies' | 'prices'>;

const RUNS = Number(process.env.PALIMPSEST_RUNS ?? 200);

function costs(context: Context, names: readonly string[], prices: string, setting: PlainSetting): number[] {
  const policies = names.map(readReplayPolicy);
  const played = replayContext(context, { counter: chars, policies, prices: [readPrices(prices)], ...setting });
  return played.map(({ cost }) => cost[prices] as number);
}

interface EagerClass {
  readonly window: number;
  readonly byKind: boolean;
  readonly minTokens: number;
  readonly arrival: string;
}

/** The cost of masking at once everything that may be masked, which is a schedule of the class. */
function sentByEager(context: Context, eager: EagerClass, prices: string, setting: PlainSetting): number {
  const { window, byKind, minTokens, arrival } = eager;
  const options = `window=${window},window-by-kind=${byKind},min-tokens=${minTokens},${arrival}`;
  return costs(context, [`break-even:prices=none,${options}`], prices, setting)[0] as number;
}

describe('optimum', () => {
  it('is never above a policy of its class', () => {
    fc.assert(
      fc.property(
        anyContext({ maxTurns: 20 }),
        anyClass,
        anyPrices,
        anySetting,
        fc.integer({ min: 1, max: 5 }),
        (context, { window, byKind, minTokens }, prices, setting, every) => {
          const common = `window-by-kind=${byKind},min-tokens=${minTokens},clean=false,references=false`;
          const [best = 0, ...others] = costs(
            context,
            [
              `optimum:window=${window},${common}`,
              `break-even:window=${window},${common}`,
              `break-even:window=${window},${common},threshold=0,max-loss=100`,
              // The sliding window, in the words of the house.
              `break-even:prices=none,window=${window},${common}`,
              `polling:turns=${window},every=${every},${common}`,
              'none',
            ],
            prices,
            setting,
          );
          for (const cost of others) expect(best).toBeLessThanOrEqual(cost + 1e-6);
        },
      ),
      { numRuns: RUNS },
    );
  });

  it('with arrival, is arrival alone where nothing may be masked, and never above masking at once', () => {
    const arrival = 'clean=true,references=true';
    fc.assert(
      fc.property(anyContext({ maxTurns: 20 }), anyClass, anyPrices, anySetting, (context, given, prices, setting) => {
        const { window, byKind, minTokens } = given;
        const rule = `optimum:window=${window},window-by-kind=${byKind},min-tokens=${minTokens},${arrival}`;
        const wide = `optimum:window=99,min-tokens=${minTokens},${arrival}`;
        const [best = 0, unmasked = 0, alone = 0] = costs(context, [rule, wide, `never:${arrival}`], prices, setting);
        expect(unmasked).toBeCloseTo(alone, 6);
        expect(best).toBeLessThanOrEqual(sentByEager(context, { ...given, arrival }, prices, setting) + 1e-6);
      }),
      { numRuns: RUNS },
    );
  });

  it('is the cheapest of all sets of requests at which to act', () => {
    fc.assert(
      fc.property(
        anyContext({ maxTurns: 12 }),
        fc.nat({ max: 4 }),
        anyPrices,
        anySetting,
        (context, window, prices, setting) => {
          const [best] = costs(context, [`optimum:window=${window}`], prices, setting);
          expect(best).toBeCloseTo(cheapest(context, window, prices, setting), 6);
        },
      ),
      { numRuns: Math.min(RUNS, 500) },
    );
  });
});

/** A request as it goes out: text after text. */
type Request = readonly string[];

/** Tries every schedule, and bills what it sends, text by text. Knows nothing of how the lab does it. */
function cheapest(
  context: Context,
  window: number,
  prices: string,
  { systemTokens, cacheLife, hiddenTokens = 0, cachedAtStart = 0 }: PlainSetting,
): number {
  const { read, write, lifeMs } = readPrices(prices);
  const life = cacheLife === 'endless' ? Number.POSITIVE_INFINITY : cacheLife === 'listed' ? lifeMs : cacheLife;
  const turns = turnsOf(context);
  const requests = turns.length - 1;
  const cold = idleBefore(context).map((idle) => idle > life);
  const padding = Math.max(hiddenTokens, systemTokens - sizeOf((turns[0] as Part[]).map(({ text }) => text)));
  let least = Number.POSITIVE_INFINITY;
  for (let set = 0; set < 2 ** requests; set++) {
    let [cost, masked] = [0, -1];
    let before: Request = [];
    for (let request = 1; request <= requests; request++) {
      if (set & (1 << (request - 1))) masked = request - 1 - window;
      const now = requestOf(turns, request, masked);
      const isFirst = request === context.carriedTurns + 1;
      const changed = before.findIndex((text, i) => text !== now[i]);
      const same = changed < 0 ? before : before.slice(0, changed);
      const size = padding + sizeOf(now);
      const held = isFirst ? Math.min(cachedAtStart, size) : sizeOf(same) + (request > 1 ? padding : 0);
      const cached = cold[request - 1] ? 0 : held;
      if (request > context.carriedTurns) cost += read * cached + write * (size - cached);
      before = now;
    }
    least = Math.min(least, cost);
  }
  return least;
}

/** All texts before a reply; the results of the turns up to `masked` as their placeholders. */
const requestOf = (turns: readonly (readonly Part[])[], request: number, masked: number): Request =>
  turns.slice(0, request).flatMap((parts, turn) => parts.map((part) => (turn <= masked ? part.hidden : part.text)));

const sizeOf = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + text.length / 4, 0);

interface Part {
  readonly text: string;
  /** The same text where it is never masked. */
  readonly hidden: string;
}

/** Turn 0, then the turns, each as its texts. */
function turnsOf({ messages }: Context): Part[][] {
  const turns: Part[][] = [[]];
  const calls = new Map<string, { name: string; subject: string }>();
  for (const { role, content, toolCalls = [], toolCallId = '' } of messages) {
    if (role === 'assistant') turns.push([]);
    const hidden = role === 'tool' ? placeholderOf(content, calls.get(toolCallId)) : content;
    turns.at(-1)?.push({ text: content, hidden });
    for (const call of toolCalls) {
      calls.set(call.id, { name: call.name, subject: SUBJECTS[call.arguments] ?? '?' });
      for (const text of [call.name, call.arguments]) turns.at(-1)?.push({ text, hidden: text });
    }
  }
  return turns;
}

const SUBJECTS: Readonly<Record<string, string>> = {
  '{"path":"src/a.ts"}': ' src/a.ts',
  '{"path":"src/a.ts","offset":10,"limit":20}': ' src/a.ts',
  '{"command":"npm test"}': ' npm test',
  '{"pattern":"needle"}': ' needle',
  '{"path":"src/a.ts","old":"a","new":"b"}': ' src/a.ts',
  '{}': '',
};

/** What a result of more than 80 tokens becomes, in the words of DESIGN.md section 6.3. */
function placeholderOf(text: string, call: { name: string; subject: string } | undefined): string {
  if (text.length / 4 <= 80 || !call) return text;
  const lines = text.split('\n').filter((line, i, all) => i < all.length - 1 || line !== '').length;
  return `[${call.name}${call.subject}: ${lines} line${lines === 1 ? '' : 's'}, ${text.length} chars masked]`;
}

/** Before each request, how long ago the reply before it was. */
function idleBefore({ messages, times }: Context): number[] {
  const idle: number[] = [];
  let last: number | undefined;
  messages.forEach(({ role }: ChatMessage, i) => {
    if (role !== 'assistant') return;
    const asked = messages[i - 1]?.role === 'assistant' ? times[i] : times[i - 1];
    idle.push(last === undefined ? 0 : (asked as number) - last);
    last = times[i];
  });
  return idle;
}

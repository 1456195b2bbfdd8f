import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { breakEven, type ChatMessage, fit } from '../../src/index.ts';
import { readRuns } from '../../src/lab/readers/read-runs.ts';
import type { Context } from '../../src/lab/run.ts';
import { simulate } from '../../src/lab/simulate.ts';
import type { EpochRecord, Policy } from '../../src/plan/policy.ts';
import { type PriceName, priceLists } from '../../src/plan/prices.ts';
import { CORPUS, hasCorpus } from '../support/corpus.ts';
import { anyContext, chars } from '../support/logs/contexts.ts';

// With the same counter, breakEven in the lab and through `fit`, turn by turn, takes the same masks at the same requests
// and sends the same bytes.

const RUNS = Number(process.env.PALIMPSEST_RUNS ?? 100);
const LISTS = Object.keys(priceLists) as PriceName[];

/** The requests of a context as the lab says they are: the messages before each reply, results as they arrived or masked. */
function requestsInLab(context: Context, policy: Policy, isColdAt?: (request: number) => boolean): ChatMessage[][] {
  const { maskedAt, arrived, placeholders } = simulate(context, policy, { counter: chars, systemTokens: 0 }, isColdAt);
  return prefixesOf(context).map((prefix, i) => {
    let result = -1;
    return prefix.map((message) => {
      if (message.role !== 'tool') return message;
      result += 1;
      const isMasked = (maskedAt[result] as number) <= i + 1;
      const content = isMasked ? placeholders.get(result) : arrived.get(result);
      return content === undefined ? message : { ...message, content };
    });
  });
}

/** What stands before each reply. */
const prefixesOf = ({ messages }: Context): ChatMessage[][] =>
  messages.flatMap(({ role }, i) => (role === 'assistant' ? [messages.slice(0, i)] : []));

interface Through {
  /** Each request as new objects, as if another process had read the history. */
  readonly isFresh?: boolean;
  isColdAt?(request: number): boolean;
}

/** The same, asked of `fit` before each reply, as an agent would. */
function requestsThroughFit(context: Context, policy: Policy, { isFresh = false, isColdAt }: Through = {}) {
  const epochs: EpochRecord[] = [];
  return prefixesOf(context).map((prefix, i) => {
    const history = isFresh ? structuredClone(prefix) : prefix;
    const isCold = isColdAt?.(i + 1) ?? false;
    const facts = isColdAt ? { facts: { idleMs: isCold ? 2 : 0, cacheLifeMs: 1, epochs: [...epochs] } } : {};
    const { messages, report } = fit(history, { format: 'chat', counter: chars, policy, ...facts });
    if (report.record) epochs.push(report.record);
    return messages;
  });
}

describe('break-even in the lab and through fit', () => {
  const options = fc.record({
    prices: fc.constantFrom(...LISTS),
    window: fc.nat({ max: 5 }),
    windowByKind: fc.boolean(),
  });

  it('sends the same bytes, request by request', () => {
    fc.assert(
      fc.property(anyContext({ maxTurns: 24 }), options, fc.boolean(), (context, given, isFresh) => {
        const inLab = requestsInLab(context, breakEven(given));
        expect(requestsThroughFit(context, breakEven(given), { isFresh })).toEqual(inLab);
      }),
      { numRuns: RUNS },
    );
  });

  it('sends the same bytes where caches die, if fit is told and given its own records again', () => {
    const deaths = fc.uniqueArray(fc.integer({ min: 1, max: 24 }), { maxLength: 3 });
    fc.assert(
      fc.property(anyContext({ maxTurns: 24 }), options, deaths, fc.boolean(), (context, given, cold, isFresh) => {
        const isColdAt = (request: number): boolean => cold.includes(request);
        const inLab = requestsInLab(context, breakEven(given), isColdAt);
        expect(requestsThroughFit(context, breakEven(given), { isFresh, isColdAt })).toEqual(inLab);
      }),
      { numRuns: RUNS },
    );
  });

  it('tells in the lab the sizes of what fit sends', () => {
    fc.assert(
      fc.property(anyContext({ maxTurns: 24 }), options, (context, given) => {
        const { requests } = simulate(context, breakEven(given), { counter: chars, systemTokens: 0 });
        const sizes = requestsThroughFit(context, breakEven(given)).slice(context.carriedTurns).map(sizeOf);
        expect(requests.map(({ size }) => size)).toEqual(sizes.map((size) => expect.closeTo(size, 6)));
      }),
      { numRuns: RUNS },
    );
  });
});

describe.skipIf(!hasCorpus)('on real runs (skipped where ../shared/corpus is absent)', () => {
  /** One long context of each agent: to fit every prefix of all would take minutes. */
  const contexts = new Map<string, Context>();
  const LONGEST = 150;

  beforeAll(async () => {
    for await (const context of readRuns([CORPUS])) {
      const known = contexts.get(context.format)?.messages.length ?? 0;
      const { length } = context.messages;
      if (length > known && length <= LONGEST) contexts.set(context.format, context);
    }
  });

  it('there are some of nearly every agent', () => {
    expect(contexts.size).toBeGreaterThan(8);
  });

  it.each(['anthropic-5m', 'gpt-4.1'] as const)('sends the same bytes at %s prices', (prices) => {
    let [masks, arrivals] = [0, 0];
    for (const context of contexts.values()) {
      const inLab = requestsInLab(context, breakEven({ prices }));
      expect(requestsThroughFit(context, breakEven({ prices })), context.file).toEqual(inLab);
      const { arrived, placeholders } = simulate(context, breakEven({ prices }), { counter: chars, systemTokens: 0 });
      masks += placeholders.size;
      arrivals += arrived.size;
    }
    expect(masks).toBeGreaterThan(50);
    expect(arrivals).toBeGreaterThan(50);
  });
});

function sizeOf(messages: readonly ChatMessage[]): number {
  const calls = messages.flatMap(({ toolCalls = [] }) => toolCalls);
  const texts = [...messages.map(({ content }) => content), ...calls.flatMap((call) => [call.name, call.arguments])];
  return texts.reduce((sum, text) => sum + text.length / 4, 0);
}

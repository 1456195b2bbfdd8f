import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { settings } from '../../../test/support/cases.ts';
import { changedTurns, history, prose, range, results, toolTurn, user } from '../../../test/support/chat.ts';
import { formatNames, longStory, story, write } from '../../../test/support/histories.ts';
import { anyBreakEven } from '../../../test/support/policies.ts';
import {
  type ChatMessage,
  createPlanner,
  type FitOptions,
  fit,
  never,
  type Policy,
  slidingWindow,
} from '../../index.ts';
import type { RequestView } from '../policy.ts';
import { type BreakEvenOptions, breakEven } from './break-even.ts';

const counter = (text: string): number => text.length / 4;

interface Turn {
  readonly tool?: string;
  readonly args?: string;
  /** The size of the result. */
  readonly tokens?: number;
}

const task: ChatMessage = { role: 'user', content: prose(4000) };

/** A reply of 1000 tokens with its call, and a result of 1000: 996 + 1 for the name `bash` + 3 for the arguments. */
function turnOf(index: number, { tool = 'bash', args = '{"n":"1234"}', tokens = 1000 }: Turn = {}): ChatMessage[] {
  const call = { id: `c${index}`, name: tool, arguments: args };
  return [
    { role: 'assistant', content: prose(4000 - tool.length - args.length), toolCalls: [call] },
    { role: 'tool', toolCallId: `c${index}`, content: prose(4 * tokens, `${index} `) },
  ];
}

/** A task of 1000 tokens, and turns of 2000 tokens each. */
const talk = (turns: number, special: Readonly<Record<number, Turn>> = {}): ChatMessage[] => [
  task,
  ...range(1, turns).flatMap((turn) => turnOf(turn, special[turn])),
];

/** 10 tokens, so that a mask of a result saves 990. */
const placeholder = '[forty characters that say: it is gone.]';
/** Cached tokens at ¼, all others at 1¼: to write a cached one again costs 1 more than to read it. */
const prices = { read: 0.25, write: 1.25, lifeMs: 300_000 };

/** The arithmetic of the tests: a window of 3 turns for all kinds, no limit to the loss. */
const policyOf = (options: BreakEvenOptions = {}): Policy =>
  breakEven({ prices, window: 3, windowByKind: false, maxLoss: 1, placeholder, ...options });
const fitted = (messages: readonly ChatMessage[], options: BreakEvenOptions = {}, more: FitOptions = {}) =>
  fit(messages, { format: 'chat', counter, policy: policyOf(options), ...more });
const decisionOn = (turns: number, options: BreakEvenOptions = {}) => fitted(talk(turns), options).report.decision;
const maskedOn = (turns: number, options: BreakEvenOptions = {}): number[] =>
  changedTurns(talk(turns), fitted(talk(turns), options).messages);

describe('breakEven', () => {
  it('counts what the arithmetic below counts', () => {
    expect(counter(placeholder)).toBe(10);
    const { byKind } = fitted(talk(1)).report;
    expect(byKind.user.before.tokens).toBe(1000);
    expect(byKind.observation.before.chars).toBe(4000);
  });

  it('waits where no result has left the window', () => {
    for (const turns of [0, 1, 2, 3])
      expect(decisionOn(turns)).toEqual({
        act: 'wait',
        because: 'no result that could be masked has left the window',
      });
  });

  it('waits while the rent is below the price', () => {
    // On request 4 the first result could go. 7000 tokens are cached: the task and three turns.
    expect(decisionOn(4)).toEqual({
      act: 'wait',
      because: 'masking now would cost more than it saves (waiting has cost 248 tokens, masking costs 4.0k)',
      gain: 990,
      // One request has carried it: ¼ · 990.
      rent: 247.5,
      // Before it are the task and a reply, 2000. After the edit: 7000 − 2000 − 990, each for 1¼ instead of ¼.
      price: 4010,
      // 1¼ · 7000 written once; ¼ for each turn on each request since: 4 · 1000 + (3 + 2 + 1) · 2000 = 16,000.
      spent: 1.25 * 7000 + 0.25 * 16_000,
    });
    expect(decisionOn(5)).toMatchObject({
      act: 'wait',
      gain: 2 * 990,
      // The first was carried twice, the second once.
      rent: 0.25 * (2 + 1) * 990,
      price: 9000 - 2000 - 2 * 990,
    });
    // ¼ · (7 + 6 + … + 1) · 990 = 6930 is below 0.7 · (19,000 − 2000 − 7 · 990) = 7049.
    expect(decisionOn(10)).toMatchObject({ act: 'wait', rent: 6930, price: 10_070 });
    expect(maskedOn(10)).toEqual([]);
  });

  it('masks everything that has left the window on the request on which the rent reaches the price', () => {
    // ¼ · (8 + … + 1) · 990 = 8910 is above 0.7 · (21,000 − 2000 − 8 · 990) = 7756.
    expect(decisionOn(11)).toMatchObject({
      act: 'mask',
      because: 'masking is worth its cost (waiting has cost 8.9k tokens, masking costs 11k)',
      masked: 8,
      rent: 8910,
      price: 11_080,
      gain: 7920,
    });
    expect(maskedOn(11)).toEqual(range(1, 8));
  });

  it('acts sooner with a lower threshold, and later with a higher one', () => {
    const firstAct = (threshold: number) =>
      range(1, 30).find((turns) => decisionOn(turns, { threshold }).act === 'mask');
    // The rent is ¼ · 990 · k(k + 1)/2 with k results waiting, the price 1010 t − 30 on request t = k + 3.
    expect(firstAct(0)).toBe(4);
    expect(firstAct(0.7)).toBe(11);
    expect(firstAct(1)).toBe(13);
    // Where the rent just reaches the share of the price, it acts: 0 of 0 where cached tokens are free.
    expect(decisionOn(4, { threshold: 0, prices: { read: 0, write: 1 } })).toMatchObject({ act: 'mask', rent: 0 });
    // On request 12 it is 11,137.50 of 12,090, on request 13 13,612.50 of 13,100.
    expect(decisionOn(12, { threshold: 1 })).toMatchObject({ act: 'wait', rent: 11_137.5, price: 12_090 });
    expect(decisionOn(13, { threshold: 1 })).toMatchObject({ act: 'mask', rent: 13_612.5, price: 13_100 });
  });

  it('starts the rent from zero after an epoch', () => {
    expect(decisionOn(12)).toEqual({
      act: 'wait',
      because: 'masking now would cost more than it saves (waiting has cost 248 tokens, masking costs 4.0k)',
      gain: 990,
      rent: 247.5,
      // Turns 9 to 11 are cached behind the first 8, as the first three were on request 4.
      price: 4010,
      // A masked result counts as its placeholder from the start: the task, 8 turns of 1010 and 3 of 2000.
      spent:
        1.25 * (1000 + 8 * 1010 + 3 * 2000) +
        0.25 * (12 * 1000 + (11 + 10 + 9 + 8 + 7 + 6 + 5 + 4) * 1010 + (3 + 2 + 1) * 2000),
    });
    // The second epoch comes 8 requests later, as the first came 8 after the window was full, and masks as many.
    expect(fitted(talk(18)).report.epoch).toBe(1);
    expect(fitted(talk(19)).report).toMatchObject({ epoch: 2, decision: { act: 'mask', masked: 8 } });
    expect(maskedOn(19)).toEqual(range(1, 16));
    expect(fitted(talk(20)).report.lastChange).toMatchObject({ act: 'mask', masked: 8, rent: 8910 });
  });

  it('leaves alone in an epoch what its options protect, and what is too small', () => {
    const special = { 2: { tool: 'grep' }, 3: { tokens: 80 }, 4: { tokens: 81 } };
    const messages = talk(30, special);
    const { messages: sent, report } = fitted(messages, { keepTools: ['grep'] });
    expect(report.epoch).toBeGreaterThan(0);
    const masked = changedTurns(messages, sent);
    expect(masked).toEqual(range(1, masked.at(-1) ?? 0).filter((turn) => turn !== 2 && turn !== 3));
  });

  it('waits while too much would be lost if the conversation ended now', () => {
    // An epoch on request 11 costs 11,080 − ¼ · 7920 = 9100 more than none; 56,500 were spent, of which a tenth may go.
    expect(decisionOn(11, { maxLoss: 0.1 })).toEqual({
      act: 'wait',
      because: 'too much would be lost if the conversation ended now',
      rent: 8910,
      price: 11_080,
      gain: 7920,
      spent: 1.25 * 21_000 + 0.25 * (11 * 1000 + 55 * 2000),
    });
    expect(decisionOn(11, { maxLoss: 9100 / 56_500 - 0.001 }).act).toBe('wait');
    expect(decisionOn(11, { maxLoss: 9100 / 56_500 + 0.001 }).act).toBe('mask');
    // 762.5 t + 712.5 is lost on request t, and 250 t² + 2500 t − 1250 spent: a tenth of that is enough from 23 on.
    expect(decisionOn(22, { maxLoss: 0.1 }).act).toBe('wait');
    expect(decisionOn(23, { maxLoss: 0.1 })).toMatchObject({ act: 'mask', masked: 20 });
    expect(maskedOn(30, { maxLoss: 0 })).toEqual([]);
  });

  it('allows a tenth to be lost by itself, and up to 15 % where cached tokens are cheap or free', () => {
    // An epoch on request 4 costs (write − read) · 4010 − read · 990, with any task before it.
    const on = (taskTokens: number, own: { read: number; write: number }) => {
      const messages = [{ ...task, content: prose(4 * taskTokens) }, ...talk(4).slice(1)];
      const policy = breakEven({ prices: own, window: 3, windowByKind: false, placeholder, threshold: 0 });
      return fit(messages, { format: 'chat', counter, policy }).report.decision;
    };
    // Free: 4010 of what was written once, the task and three turns.
    expect(on(20_700, { read: 0, write: 1 })).toMatchObject({ act: 'wait', price: 4010, spent: 26_700 });
    expect(on(20_800, { read: 0, write: 1 })).toMatchObject({ act: 'mask', price: 4010, spent: 26_800 });
    // At 0.05, 12.5 %: 0.95 · 4010 − 49.5 = 3760 of task + 6000 + 0.05 · (4 · task + 12,000).
    expect(on(19_500, { read: 0.05, write: 1 })).toMatchObject({ act: 'wait', spent: 1.2 * 19_500 + 6600 });
    expect(on(19_600, { read: 0.05, write: 1 })).toMatchObject({ act: 'mask', spent: 1.2 * 19_600 + 6600 });
    // At ¼: 4010 − 247.5 = 3762.5 of 1¼ · (task + 6000) + ¼ · (4 · task + 12,000).
    expect(on(11_980, prices)).toMatchObject({ act: 'wait', spent: 2.25 * 11_980 + 10_500 });
    expect(on(12_100, prices)).toMatchObject({ act: 'mask', spent: 2.25 * 12_100 + 10_500 });
  });

  it('is the sliding window where nothing is cached', () => {
    for (const none of ['none' as const, { read: 1, write: 1 }]) {
      const options = { prices: none, maxLoss: 0 };
      for (const turns of range(0, 12)) {
        const sliding = slidingWindow({ turns: 3, placeholder });
        const { messages } = fit(talk(turns), { format: 'chat', counter, policy: sliding });
        expect(fitted(talk(turns), options).messages).toEqual(messages);
      }
    }
  });

  it('waits where tokens cost nothing', () => {
    expect(decisionOn(30, { prices: { read: 0, write: 0 } })).toMatchObject({
      act: 'wait',
      because: 'tokens cost nothing',
    });
  });

  it('masks at once where a cached token costs more than a new one', () => {
    expect(decisionOn(4, { prices: { read: 2, write: 1 } })).toMatchObject({ act: 'mask', price: 0 });
  });

  it('masks at once what no request has carried yet: that costs nothing', () => {
    for (const turns of range(1, 4)) {
      expect(decisionOn(turns, { window: 0, maxLoss: 0 })).toMatchObject({ act: 'mask', price: 0, masked: 1 });
      expect(maskedOn(turns, { window: 0, maxLoss: 0 })).toEqual(range(1, turns));
      // Also where the mask saves nothing: nothing is lost either.
      const free = { window: 0, maxLoss: 0, prices: { read: 0, write: 1 } };
      expect(decisionOn(turns, free)).toMatchObject({ act: 'mask', price: 0, rent: 0 });
    }
  });

  it('counts the gain of what no request has carried yet, but no price for it', () => {
    // Results of edits may go at once. The first result waits, and so does the edit behind it.
    const messages = talk(4, { 4: { tool: 'edit', args: '{"n":"1234"}' } });
    const { decision } = fitted(messages, { windowByKind: { shell: 1, edit: 0 } }).report;
    expect(decision).toMatchObject({ act: 'wait', gain: 2 * 990, rent: 0.25 * 2 * 990, price: 4010 });
  });

  describe('and a read that a newer one covers', () => {
    const read = { tool: 'read', args: '{"path":"a"}' };
    const byKind = { window: 10, windowByKind: true };

    it('masks it in its turn if little comes after it', () => {
      // On request 2 the first read ends what is cached: only its placeholder must be written again.
      const { decision } = fitted(talk(2, { 1: read, 2: read }), byKind).report;
      expect(decision).toMatchObject({ act: 'mask', masked: 1, gain: 990, price: 10, rent: 247.5 });
    });
    it('lets it wait where that costs more than it saves', () => {
      // 5000 are cached, 2000 of them before it: 5000 − 2000 − 990.
      const { decision } = fitted(talk(3, { 1: read, 3: read }), byKind).report;
      expect(decision).toMatchObject({ act: 'wait', gain: 990, price: 2010, rent: 247.5 });
      // Request n carries it for the (n − 2)th time, and has 2000 more behind it than the one before.
      const on = (turns: number) => fitted(talk(turns, { 1: read, 3: read }), byKind).report.decision;
      expect(on(4)).toMatchObject({ act: 'wait', rent: 0.25 * 2 * 990, price: 4010 });
    });
    it('does not take it for covered where kinds make no difference', () => {
      const { decision } = fitted(talk(3, { 1: read, 3: read }), { window: 10 }).report;
      expect(decision.because).toBe('no result that could be masked has left the window');
    });
  });

  it('lets the results of each kind go after its share of the window', () => {
    const tools = ['read', 'grep', 'bash', 'edit', 'think'];
    const special = Object.fromEntries(tools.map((tool, i) => [i + 1, { tool, args: '{"n":"1234"}' }]));
    // Nothing cached costs more than anything else, so that each goes as soon as it may.
    const firstMasked = (turn: number) =>
      range(1, 40).find((turns) => {
        const messages = talk(turns, special);
        return changedTurns(
          messages,
          fitted(messages, { prices: 'none', window: 15, windowByKind: true }).messages,
        ).includes(turn);
      });
    expect(range(1, 5).map(firstMasked)).toEqual([1 + 15, 2 + 10, 3 + 5, 4 + 3, 5 + 15]);
  });

  it('masks under a hard limit whatever the price', () => {
    // 1000 + 4 · 2000 tokens and their framing do not fit into 9000; with two results masked they are below 80 % of it.
    const cut = (policy: Policy) => fit(talk(4), { format: 'chat', counter, policy, maxTokens: 9000 });
    const { report, messages } = cut(policyOf());
    expect(report.decision).toMatchObject({ act: 'over-limit', stage: 'masking', limit: 9000 });
    // The cut rewrites the cache from the first result on, so it takes the third along: the next cut comes later.
    expect(changedTurns(talk(4), messages)).toEqual([1, 2, 3]);
    expect(changedTurns(talk(4), cut(never()).messages)).toEqual([1, 2]);
  });

  it('computes its totals again after the budget has masked', () => {
    // Request 7 is above 13,500 and is cut: the first five results go. Request 8 fits, and the sixth waits alone.
    const on = (turns: number) => fitted(talk(turns), { window: 2 }, { maxTokens: 13_500 });
    expect(on(6).report.decision).toMatchObject({ act: 'wait', gain: 4 * 990 });
    expect(on(7).report.decision.act).toBe('over-limit');
    expect(changedTurns(talk(7), on(7).messages)).toEqual(range(1, 5));
    expect(on(8).report.decision).toMatchObject({ act: 'wait', gain: 990, rent: 247.5, price: 2010 });
  });

  it('makes results smaller when they arrive, unless its options say otherwise', () => {
    const file = range(1, 40)
      .map((n) => `${n}\tconst value${n} = compute(${n});`)
      .join('\n');
    const read = (id: string, output: string) => toolTurn({ id, tool: 'read', args: '{"path":"src/a.ts"}', output });
    const colours = toolTurn({ id: 'c', output: '\u001b[31mred\u001b[0m' });
    const messages = [user('Fix it.'), ...read('a', file), ...colours, ...read('b', file)];
    const changed = (options: BreakEvenOptions) =>
      changedTurns(messages, fit(messages, { policy: breakEven({ windowByKind: false, ...options }) }).messages);
    expect(changed({})).toEqual([2, 3]);
    expect(changed({ references: false })).toEqual([2]);
    expect(changed({ clean: false })).toEqual([3]);
    expect(changed({ clean: false, references: false })).toEqual([]);
  });

  it('is named in its errors', () => {
    expect(breakEven().name).toBe('break-even');
    expect(() => breakEven([] as never)).toThrow('Expected the options of break-even to be an object');
    expect(() => breakEven({ window: -1 })).toThrow('break-even option window');
    expect(() => breakEven({ prices: 5 as never })).toThrow('break-even option prices');
  });

  it('is what fit does where no policy is given, at the prices of the model', () => {
    const messages = history(40);
    expect(fit(messages).messages).toEqual(fit(messages, { policy: breakEven() }).messages);
    expect(fit(messages).report).toEqual(fit(messages, { policy: breakEven({ prices: 'anthropic-5m' }) }).report);
    expect(fit(messages).report.maskedCount).toBeGreaterThan(0);
    for (const [model, list] of [
      ['gpt-4o', 'gpt-4o'],
      ['deepseek-chat', 'deepseek'],
      ['nobody-knows', 'anthropic-5m'],
    ] as const) {
      const policy = breakEven({ prices: list });
      expect(fit(messages, { model }).report).toEqual(fit(messages, { model, policy }).report);
    }
    expect(fit(messages, { model: 'gpt-4o' }).report).not.toEqual(fit(messages, { model: 'deepseek-chat' }).report);
  });
});

describe('what the caller knows about the cache', () => {
  const cold = { idleMs: 2, cacheLifeMs: 1 };

  // A record was found only on the very list that it was taken on: a question behind it undid the epoch.
  it('keeps an epoch when another message comes before the reply', () => {
    const first = fit(history(12).slice(0, -10), { facts: cold });
    const epochs = first.report.record ? [first.report.record] : [];
    expect(first.report.maskedCount).toBeGreaterThan(0);
    const asked = [...history(12).slice(0, -10), { role: 'user' as const, content: 'and?' }];
    expect(fit(asked, { facts: { epochs } }).messages.slice(0, first.messages.length)).toEqual(first.messages);
  });

  it('answers the same on a list that it remembers, with facts made again or changed in place', () => {
    const messages = history(14);
    const facts: { idleMs: number; cacheLifeMs: number; epochs: { turns: number; messages: number }[] } = {
      idleMs: 0,
      cacheLifeMs: 1,
      epochs: [],
    };
    for (const idleMs of [0, 0, 2, 2, 0]) {
      facts.idleMs = idleMs;
      const found = fit(messages, { facts });
      expect(found).toEqual(fit(structuredClone(messages), { facts: structuredClone(facts) }));
      if (found.report.record) facts.epochs.push(found.report.record);
    }
  });

  it.each([null, [], { idle: 5 }, { epochs: [{ turns: 1 }] }, { idleMs: -1 }])('refuses facts such as %j', (facts) => {
    expect(() => fit(history(2), { facts: facts as never })).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }));
  });
});

describe('breakEven on a cold cache', () => {
  const idle = { facts: { idleMs: 300_001 } };

  it('takes an epoch, since that is free then, and returns its record', () => {
    const { report, messages } = fitted(talk(5), {}, idle);
    expect(report.decision).toMatchObject({ act: 'cold-cache', masked: 2, rent: 742.5, price: 5020 });
    expect(report.decision.because).toBe('the cache has expired, so masking costs nothing extra');
    expect(report.record).toEqual({ turns: 5, messages: 11 });
    expect(changedTurns(talk(5), messages)).toEqual([1, 2]);
  });
  it('does not where the cache lives still, or its life is unknown', () => {
    for (const facts of [{ idleMs: 300_000 }, { idleMs: 900_000, cacheLifeMs: 1_000_000 }, {}])
      expect(fitted(talk(5), {}, { facts }).report).not.toHaveProperty('record');
    const own = { prices: { read: 0.25, write: 1.25 } };
    expect(fitted(talk(5), own, { facts: { idleMs: 1e12 } }).report.decision.act).toBe('wait');
    expect(fitted(talk(5), own, { facts: { idleMs: 2, cacheLifeMs: 1 } }).report.decision.act).toBe('cold-cache');
  });
  it('takes none where nothing can be masked, and records none', () => {
    const { report } = fitted(talk(3), {}, idle);
    expect(report.decision.act).toBe('wait');
    expect(report).not.toHaveProperty('record');
  });
  it('sends the same bytes again on the grown history, where its record is given back', () => {
    const cold = fitted(talk(5), {}, idle);
    const epochs = cold.report.record ? [cold.report.record] : [];
    for (const turns of range(5, 9)) {
      const { messages, report } = fitted(talk(turns), {}, { facts: { epochs } });
      expect(messages.slice(0, cold.messages.length)).toEqual(cold.messages);
      expect(report.epoch).toBe(1);
    }
    // Without it the rent would still be too low.
    expect(maskedOn(9)).toEqual([]);
    // The rent starts from zero with it: on request 6 the third result waits alone.
    expect(fitted(talk(6), {}, { facts: { epochs } }).report.decision).toMatchObject({ gain: 990, rent: 247.5 });
  });
  it('replays several records, each on its own request', () => {
    const first = fitted(talk(5), {}, idle).report.record;
    const epochs = first ? [first] : [];
    const second = fitted(talk(8), {}, { facts: { ...idle.facts, epochs } });
    expect(second.report).toMatchObject({ epoch: 2, record: { turns: 8, messages: 17 } });
    const both = { facts: { epochs: [...epochs, { turns: 8, messages: 17 }] } };
    expect(fitted(talk(8), {}, both).messages).toEqual(second.messages);
    expect(fitted(talk(9), {}, both).messages.slice(0, 17)).toEqual(second.messages);
  });
  it('changes nothing that was fitted when it is fed back without the record', () => {
    const cold = fitted(talk(5), {}, idle);
    const grown = [...cold.messages, ...talk(9).slice(11)];
    const epochs = cold.report.record ? [cold.report.record] : [];
    expect(fitted(grown).messages).toEqual(fitted(talk(9), {}, { facts: { epochs } }).messages);
  });
});

describe('the account of breakEven', () => {
  /** The same policy without its memory: on each request it reads its account off the whole history. */
  const forgetful = (policy: Policy): Policy => ({
    ...policy,
    step: (_state, request) => policy.step(policy.init(), request),
  });

  it('is kept turn by turn as it would be read off the whole', () => {
    const numRuns = Number(process.env.PALIMPSEST_RUNS ?? 1000);
    const anyFormat = fc.constantFrom(...formatNames);
    fc.assert(
      fc.property(fc.oneof(longStory, story), anyBreakEven, settings, anyFormat, (tale, { policy }, given, format) => {
        const kept = createPlanner<object>({ ...given, policy, format });
        const again = createPlanner<object>({ ...given, policy: forgetful(policy), format });
        const { head, turns } = write(tale, format);
        for (const part of [head, ...turns]) expect(kept.add(...part)).toEqual(again.add(...part));
      }),
      { numRuns },
    );
  });

  it('is read off the whole after the texts of old edits were shortened', () => {
    const args = JSON.stringify({ path: 'a.ts', old_string: prose(2000, 'old '), new_string: 'new' });
    const special = Object.fromEntries(range(2, 20).map((turn) => [turn, { tool: 'edit', args }]));
    const policy = policyOf({ oldTexts: true });
    const kept = createPlanner<ChatMessage>({ format: 'chat', counter, policy });
    const again = createPlanner<ChatMessage>({ format: 'chat', counter, policy: forgetful(policy) });
    kept.add(task);
    again.add(task);
    for (const turn of range(1, 20)) {
      const messages = turnOf(turn, special[turn]);
      expect(kept.add(...messages)).toEqual(again.add(...messages));
    }
    expect(kept.report().edits.clip).toBeGreaterThan(0);
  });

  it('counts a request once, even if it is asked about it twice', () => {
    const policy = policyOf();
    const asked: [unknown, unknown][] = [];
    const twice: Policy = {
      ...policy,
      step(state, request) {
        const first = policy.step(state, request);
        if (first.because.act === 'wait') asked.push([first, policy.step(first.state, request)]);
        return first;
      },
    };
    fit(talk(10), { format: 'chat', counter, policy: twice });
    expect(asked).toHaveLength(11);
    for (const [first, second] of asked) expect(second).toEqual(first);
  });
});

describe('the work of breakEven', () => {
  /** How often a policy looked at something of the request. */
  function counted(policy: Policy): { readonly policy: Policy; looks: number } {
    const work = { policy, looks: 0 };
    const look = <T>(value: T): T => {
      work.looks += 1;
      return value;
    };
    const watched = (request: RequestView): RequestView => ({
      ...request,
      get turns() {
        return request.turns;
      },
      get omitted() {
        return request.omitted;
      },
      get text() {
        return look(request.text);
      },
      get carried() {
        return look(request.carried);
      },
      observations: new Proxy(request.observations, {
        get: (list, key) =>
          typeof key === 'string' && /^\d+$/.test(key) ? look(list[Number(key)]) : Reflect.get(list, key),
      }),
      textOf: (turn) => look(request.textOf(turn)),
      textBefore: (observation) => look(request.textBefore(observation)),
      gain: (observation) => look(request.gain(observation)),
      maskable: (observation) => look(request.maskable(observation)),
    });
    work.policy = { ...policy, step: (state, request) => policy.step(state, watched(request)) };
    return work;
  }

  it('grows with what is new, not with the history, while thousands of results wait', () => {
    let counts = 0;
    const counter = (text: string): number => {
      counts += 1;
      return text.length / 4;
    };
    const work = counted(policyOf({ threshold: 1e9, windowByKind: true }));
    const planner = createPlanner<ChatMessage>({ format: 'chat', counter, policy: work.policy });
    const kinds = ['bash', 'read', 'grep', 'edit', 'think'];
    const readsAgain = { tool: 'read', args: '{"path":"a"}' };
    planner.add(task);
    const spent = range(1, 2000).map((turn) => {
      const before = [work.looks, counts] as const;
      const { report } = planner.add(
        ...turnOf(turn, turn % 7 === 0 ? readsAgain : { tool: kinds[turn % 5] ?? 'bash' }),
      );
      expect(report.decision.act).toBe('wait');
      return { looks: work.looks - before[0], counts: counts - before[1] };
    });
    const most = (from: number, to: number) => {
      const some = spent.slice(from, to);
      return { looks: Math.max(...some.map((s) => s.looks)), counts: Math.max(...some.map((s) => s.counts)) };
    };
    expect(most(1900, 2000)).toEqual(most(100, 200));
    expect(most(1900, 2000).looks).toBeLessThan(60);
    expect(most(1900, 2000).counts).toBeLessThan(20);
    expect(Number(planner.report().decision.gain)).toBeGreaterThan(1900 * 900);
  });

  it('grows with what is new where every read refers to older ones, which are masked in groups', () => {
    const work = counted(policyOf({ windowByKind: true, clean: true, references: true }));
    const planner = createPlanner<ChatMessage>({ format: 'chat', counter, policy: work.policy });
    planner.add(task);
    const spent = range(1, 2000).map((turn) => {
      const before = work.looks;
      const lines = range(1, 40 - (turn % 5)).map((n) => `${n}→const value${n} = compute(${n * (turn % 4)});`);
      const [id, file] = [`call_${turn}`, `src/file-${turn % 4}.ts`];
      const call = { id, name: 'read', arguments: JSON.stringify({ path: file }) };
      planner.add(
        { role: 'assistant', content: '', toolCalls: [call] },
        { role: 'tool', toolCallId: id, content: lines.join('\n') },
      );
      return work.looks - before;
    });
    const mostIn = (from: number, to: number): number => Math.max(...spent.slice(from, to));
    expect(planner.report().epoch).toBeGreaterThan(20);
    expect(planner.report().edits.shape).toBeGreaterThan(0);
    expect(mostIn(1500, 2000)).toBeLessThanOrEqual(mostIn(100, 600));
  });
});

it('breakEven shows its placeholders in the house style where none is given', () => {
  const messages = talk(11);
  const { messages: sent } = fit(messages, {
    counter,
    policy: breakEven({ prices, window: 3, windowByKind: false, maxLoss: 1 }),
  });
  expect(results(sent)[0]).toBe('[bash 1234: 1 line, 4000 chars masked]');
});

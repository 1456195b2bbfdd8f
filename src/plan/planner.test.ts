import { describe, expect, it } from 'vitest';
import {
  answer,
  contents,
  history,
  parallelCalls,
  prose,
  range,
  reply,
  results,
  system,
  toolTurn,
  user,
} from '../../test/support/chat.ts';
import {
  type ChatMessage,
  createPlanner,
  type Edit,
  type FitOptions,
  fit,
  hybrid,
  never,
  type Policy,
  slidingWindow,
} from '../index.ts';

const plannerOf = (options: FitOptions = {}) => createPlanner<ChatMessage>({ format: 'chat', ...options });
const segments = (edits: readonly Edit[]): number[] =>
  edits.flatMap((edit) => (edit.kind === 'replace' ? [edit.segment] : []));
const turnOf = (list: readonly ChatMessage[], turn: number): ChatMessage[] => list.slice(2 * turn, 2 * turn + 2);

/** Turns whose decisions are large and whose results are nothing to mask. */
const decisions = (turns: number): ChatMessage[] => [
  system('You are a careful engineer.'),
  user('Fix the build.'),
  ...range(1, turns).flatMap((n) => toolTurn({ id: `c${n}`, text: prose(1000, `step ${n} `), output: 'ok' })),
];

describe('planner.add', () => {
  it('answers only the new edits', () => {
    const planner = plannerOf({ policy: slidingWindow({ turns: 1 }) });
    const messages = history(4);
    planner.add(...messages.slice(0, 2));
    const added = range(1, 4).map((turn) => segments(planner.add(...turnOf(messages, turn)).edits));
    // Each turn has three segments: reply, call and result; system and task come before.
    expect(added).toEqual([[], [4], [7], [10]]);
    expect(segments(planner.plan().edits)).toEqual([4, 7, 10]);
  });
  it('answers all that a call of several turns decided', () => {
    const planner = plannerOf({ policy: slidingWindow({ turns: 1 }) });
    expect(segments(planner.add(...history(4)).edits)).toEqual([4, 7, 10]);
  });
  it('answers nothing where nothing is new', () => {
    const planner = plannerOf({ policy: slidingWindow({ turns: 1 }) });
    planner.add(...history(4));
    expect(planner.add().edits).toEqual([]);
  });
  it('answers nothing where nothing changes', () => {
    const planner = plannerOf({ policy: slidingWindow({ turns: 10 }) });
    for (const message of history(8)) expect(planner.add(message).edits).toEqual([]);
  });
  it('answers drops and notes with the turn that caused them', () => {
    const planner = plannerOf({ maxTokens: 1500, policy: never() });
    const messages = decisions(8);
    planner.add(...messages.slice(0, 2));
    const kinds = range(1, 8).map((turn) => planner.add(...turnOf(messages, turn)).edits.map(({ kind }) => kind));
    const first = kinds.findIndex((list) => list.length > 0);
    expect(kinds[first]).toEqual(['drop', 'insert']);
    expect(kinds.slice(0, first)).toEqual(Array(first).fill([]));
  });
  it('answers the running report', () => {
    const planner = plannerOf({ policy: slidingWindow({ turns: 1 }) });
    const messages = history(5);
    planner.add(...messages.slice(0, 2));
    for (const turn of range(1, 5)) {
      const { report } = planner.add(...turnOf(messages, turn));
      expect(report).toEqual(fit(messages.slice(0, 2 + 2 * turn), { policy: slidingWindow({ turns: 1 }) }).report);
      expect(planner.report()).toEqual(report);
    }
  });
});

describe('a decision that was not sent yet', () => {
  it('is taken back by messages that come before the reply', () => {
    // Two results of 1000 characters do not fit, one does: with the first alone nothing must go.
    const messages = [system('s'), user('t'), ...toolTurn({ id: 'a', output: prose(3000) }), parallelCalls('b', 'c')];
    const planner = plannerOf({ policy: slidingWindow({ turns: 0, minTokens: 0 }) });
    planner.add(...messages);
    const early = planner.add(answer('b', prose(3000)));
    expect(results(planner.messages()).at(-1)).toBe('[Observation omitted for brevity]');
    expect(early.report.maskedCount).toBe(2);
    planner.add(answer('c', prose(3000)));
    expect(planner.report()).toEqual(
      fit([...messages, answer('b', prose(3000)), answer('c', prose(3000))], {
        policy: slidingWindow({ turns: 0, minTokens: 0 }),
      }).report,
    );
    expect(planner.report().epoch).toBe(0);
  });
  it('is taken back even where it dropped turns', () => {
    const options = { maxTokens: 1500, policy: never() };
    const messages = decisions(5);
    const planner = plannerOf(options);
    planner.add(...messages);
    const dropped = planner.add(user(prose(1600)));
    expect(dropped.edits.map(({ kind }) => kind)).toContain('drop');
    const whole = [...messages, user(prose(1600)), user('Never mind.')];
    planner.add(user('Never mind.'));
    expect({ plan: planner.plan(), report: planner.report(), hidden: planner.hidden }).toEqual(
      (({ plan, report, hidden }) => ({ plan, report, hidden }))(fit(whole, options)),
    );
  });
  it('is taken back in the messages too', () => {
    const base = slidingWindow({ turns: 0, minTokens: 0 });
    const step: Policy['step'] = (state, request) => {
      const mask = request.observations.length === 3 ? request.observations.map(({ segment }) => segment) : [];
      return { state, mask, because: { act: 'wait', because: 'a test' } };
    };
    const planner = plannerOf({ policy: { ...base, step } });
    planner.add(...history(2), parallelCalls('b', 'c'), answer('b', prose(3000)));
    expect(planner.report().maskedCount).toBe(3);
    expect(planner.messages()).not.toEqual(planner.ledger.messages);
    planner.add(answer('c', prose(3000)));
    expect(planner.report().maskedCount).toBe(0);
    expect(planner.messages()).toEqual(planner.ledger.messages);
  });
  it('is made in the messages too, though a policy threw before', () => {
    let isBroken = false;
    const base = slidingWindow({ turns: 1 });
    const step: Policy['step'] = (state, request) => {
      if (isBroken) throw new Error('broken');
      return base.step(state, request);
    };
    const messages = history(4);
    const planner = plannerOf({ policy: { ...base, step } });
    planner.add(...messages.slice(0, -1));
    isBroken = true;
    expect(() => planner.add(...messages.slice(-1))).toThrow('broken');
    planner.messages();
    isBroken = false;
    planner.add();
    expect(planner.messages()).toEqual(fit(messages, { policy: base }).messages);
  });
  it('stays once a reply came', () => {
    const planner = plannerOf({ policy: slidingWindow({ turns: 0, minTokens: 0 }) });
    planner.add(...history(1), reply('Done.'));
    const { text } = planner.plan().edits[0] as { text: string };
    planner.add(user('More.'), reply('Yes.'));
    expect(planner.plan().edits[0]).toMatchObject({ text });
  });
});

describe('a planner', () => {
  it('plans what fit plans, however the messages are cut into calls', () => {
    const messages = [...history(12), user('And?'), ...toolTurn({ id: 'z', output: prose(2500) })];
    for (const options of [
      { maxTokens: 1600 },
      { maxTokens: 1600, policy: never() },
      { maxTokens: 800, policy: never() },
      { policy: hybrid({ window: 2, summarizeEvery: 3 }) },
    ]) {
      const whole = fit(messages, options);
      for (const size of [1, 2, 3, 5, 7, messages.length]) {
        const planner = plannerOf(options);
        for (let i = 0; i < messages.length; i += size) planner.add(...messages.slice(i, i + size));
        expect(planner.plan()).toEqual(whole.plan);
        expect(planner.messages()).toEqual(whole.messages);
        expect(planner.hidden).toEqual(whole.hidden);
        expect(planner.report()).toEqual(whole.report);
      }
    }
  });
  it('goes on after a budget that it could not keep', () => {
    const planner = plannerOf({ maxTokens: 200 });
    const over = planner.add(user(prose(2000))).report;
    expect(over.tokens.after).toBeGreaterThan(200);
    expect(over.decision).toMatchObject({ act: 'over-limit', limit: 200 });
    expect(contents(planner.messages())).toEqual([prose(2000)]);
    planner.add(reply('ok'), user('next'));
    expect(planner.messages()).toHaveLength(3);
  });
  it('has nothing to say before the first message', () => {
    const planner = plannerOf({ policy: slidingWindow() });
    expect(planner.messages()).toEqual([]);
    expect(planner.plan()).toEqual({ version: 1, edits: [] });
    expect(planner.report()).toMatchObject({ epoch: 0, tokens: { before: 0, after: 0 } });
  });
});

describe('what is answered again', () => {
  it('a caller who writes into a report does not change the next one', () => {
    const messages = history(14);
    const { report } = fit(messages, { policy: slidingWindow() });
    expect(() => Object.assign(report.tokens, { before: 0 })).toThrow(TypeError);
    expect(fit(messages, { policy: slidingWindow() }).report).toEqual(report);
  });

  it('a policy of the caller that adds to the masks of a window does not change other windows', () => {
    const window = slidingWindow({ turns: 30 });
    const eager: Policy = {
      ...window,
      step(state, request) {
        const step = window.step(state, request);
        (step.mask as number[]).push(request.observations[0]?.segment ?? 0);
        return step;
      },
    };
    expect(() => fit(history(14), { policy: eager })).toThrow(TypeError);
    expect(fit(history(14), { policy: slidingWindow({ turns: 20 }) }).messages).toEqual(history(14));
  });

  it('a reason that holds a value of the caller, even a cyclic one, is not frozen', () => {
    const own: { self?: unknown } = {};
    own.self = own;
    const policy: Policy = {
      init: () => 0,
      step: (state) => ({ state, mask: [], because: { act: 'wait', because: 'x', own } }),
    };
    expect(fit(history(3), { policy }).report.decision.own).toBe(own);
    expect(Object.isFrozen(own)).toBe(false);
  });
});

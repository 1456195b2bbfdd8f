import { describe, expect, it } from 'vitest';
import { changedTurns, history, prose, results, toolTurn, user } from '../../../test/support/chat.ts';
import type { PalimpsestError } from '../../errors.ts';
import { chat } from '../../formats/chat.ts';
import type { ChatMessage } from '../../message.ts';
import { breakEven } from '../../plan/policies/break-even.ts';
import { oldestBatch } from '../../plan/policies/oldest-batch.ts';
import { handleOf } from '../../store/handle.ts';
import { Calibration } from './calibration.ts';
import { ContextManager } from './context-manager.ts';
import type { ContextManagerOptions, ContextSource } from './context-manager-options.ts';
import { forceEpoch, onlyForced } from './force-epoch.ts';
import { restartNotice, windDownNotice } from './notices.ts';

const errorOf = (run: () => unknown): PalimpsestError | undefined => {
  try {
    run();
  } catch (error) {
    return error as PalimpsestError;
  }
  return undefined;
};

/** A window of 1000 tokens, and a manager that knows no messages. */
const blind = (options: ContextManagerOptions<ChatMessage> = {}): ContextManager =>
  new ContextManager({ contextLimit: 1000, ...options });
const used = (manager: ContextManager, promptTokens: number): ContextManager => {
  manager.recordUsage({ promptTokens, completionTokens: 10 });
  return manager;
};
const types = (manager: ContextManager, ...prompts: number[]): string[] =>
  prompts.map((promptTokens) => used(manager, promptTokens).evaluate().type);

/** One that knows a history of 20 turns of about 1000 tokens each. */
function watching(options: ContextManagerOptions<ChatMessage> = {}): { manager: ContextManager; run: ChatMessage[] } {
  const run = history(20, 4000);
  const manager = new ContextManager({ contextLimit: 20_000, format: chat, ...options });
  manager.setMessages(run);
  return { manager, run };
}

describe('ContextManager', () => {
  describe('decides', () => {
    it('by the thresholds, at and below each of them', () => {
      expect(types(blind(), 699)).toEqual(['continue']);
      expect(types(blind(), 700)).toEqual(['mask']);
      expect(types(blind(), 899)).toEqual(['mask']);
      expect(types(blind(), 899, 900)).toEqual(['mask', 'wind-down']);
    });

    it('by the threshold as it is given, although 0.55 * 100 is more than 55', () => {
      const at55 = blind({ contextLimit: 100, softThreshold: 0.55 });
      expect(types(at55, 54, 55)).toEqual(['continue', 'mask']);
      const hard55 = blind({ contextLimit: 100, softThreshold: 0.5, hardThreshold: 0.55 });
      expect([54, 55].map((tokens) => used(hard55, tokens).isHard)).toEqual([false, true]);
    });

    it('to mask, then to wind down, then to restart', () => {
      const manager = blind();
      expect(used(manager, 500).evaluate()).toEqual({ type: 'continue' });
      expect(used(manager, 750).evaluate()).toEqual({ type: 'mask', count: 3 });
      expect(used(manager, 920).evaluate()).toEqual({ type: 'wind-down', notice: windDownNotice(92) });
      expect(used(manager, 930).evaluate()).toEqual({ type: 'restart', carryover: undefined });
    });

    it('to mask first after a jump over the hard threshold', () => {
      expect(types(blind(), 500, 950, 950, 950)).toEqual(['continue', 'mask', 'wind-down', 'restart']);
      // One turn after a mask that had brought it below the soft threshold.
      const { manager } = watching();
      used(manager, 15_000).evaluate();
      manager.maskOldest();
      expect(used(manager, 19_000).evaluate().type).toBe('mask');
    });

    it('to wind down anew only once it had fallen below the soft threshold', () => {
      expect(types(blind(), 750, 920, 800, 920)).toEqual(['mask', 'wind-down', 'mask', 'restart']);
      expect(types(blind(), 750, 920, 650, 750, 920)).toEqual(['mask', 'wind-down', 'continue', 'mask', 'wind-down']);
    });

    it('nothing where nothing is left to mask, and says so; at the hard threshold it winds down', () => {
      const manager = new ContextManager({ contextLimit: 1000, format: chat });
      manager.setMessages([user('Hello.')]);
      expect(used(manager, 800).evaluate()).toEqual({ type: 'continue', because: 'nothing-to-mask' });
      expect(used(manager, 950).evaluate().type).toBe('wind-down');
      expect(used(manager, 950).evaluate()).toMatchObject({ type: 'restart', carryover: [user('Hello.')] });
    });

    it('to wait for a whole batch, unless less is enough or the window is nearly full', () => {
      const { manager, run } = watching();
      manager.setMessages(run.slice(0, 16));
      expect(used(manager, 17_000).evaluate()).toEqual({ type: 'continue', because: 'too-little-to-mask' });
      expect(used(manager, 14_500).evaluate()).toEqual({ type: 'mask', count: 2 });
      const other = watching().manager;
      other.setMessages(run.slice(0, 16));
      expect(used(other, 18_500).evaluate()).toEqual({ type: 'mask', count: 2 });
    });

    it('that it is full once the restarts are used up', () => {
      const manager = blind({ maxRestarts: 1, format: chat });
      manager.setMessages([user('Hello.')]);
      expect(types(manager, 750, 920, 920)).toEqual(['continue', 'wind-down', 'restart']);
      manager.restart();
      expect(types(manager, 750, 920)).toEqual(['continue', 'wind-down']);
      expect(used(manager, 920).evaluate()).toEqual({ type: 'context-full', because: 'max-restarts' });
      expect(errorOf(() => manager.restart())?.code).toBe('RESTART_LIMIT');
    });
  });

  describe('knows how full the window is', () => {
    it('from what the provider counted last, which is the whole context and not an increment', () => {
      const manager = blind();
      manager.recordUsage({ promptTokens: 300, completionTokens: 10 });
      manager.recordUsage({ promptTokens: 500, completionTokens: 20 });
      expect([manager.promptTokens, manager.completionTokens, manager.usagePct]).toEqual([500, 30, 50]);
    });

    it('from usage as a provider writes it, cached tokens included', () => {
      const manager = blind();
      manager.recordUsage({ usage: { input_tokens: 20, cache_read_input_tokens: 700, output_tokens: 5 } });
      expect(manager.usagePct).toBe(72);
      manager.recordUsage({ prompt_eval_count: 450, eval_count: 5 });
      expect(manager.usagePct).toBe(45);
    });

    it('from what the provider counted last, and an estimate of what came since', () => {
      const { manager, run } = watching();
      manager.recordUsage({ promptTokens: 5000, completionTokens: 1 });
      const more = toolTurn({ id: 'c21', output: prose(4000) });
      manager.setMessages([...run, ...more]);
      const added = new ContextManager({ format: chat });
      added.setMessages(more);
      expect(manager.promptTokens).toBe(5000 + added.promptTokens);
      manager.setMessages(run);
      expect(manager.promptTokens).toBe(5000);
    });

    it('by what it counted alone, where it is told of the messages only later', () => {
      const manager = blind({ format: chat });
      manager.recordUsage({ promptTokens: 500, completionTokens: 1 });
      manager.setMessages(history(5, 400));
      expect(manager.promptTokens).toBe(500);
    });

    it('by an estimate of what would be sent, where the provider told nothing', () => {
      const { manager } = watching();
      const estimated = manager.promptTokens;
      expect(estimated).toBeGreaterThan(10_000);
      manager.recordUsage({ promptTokens: 5000, completionTokens: 1 });
      expect(manager.promptTokens).toBe(5000);
      manager.recordUsage(undefined);
      expect(manager.promptTokens).toBe(estimated);
    });

    it('by the last count, where it knows no messages and the provider told nothing', () => {
      const manager = blind();
      expect(types(manager, 950, 950)).toEqual(['mask', 'wind-down']);
      manager.recordUsage(undefined);
      expect(manager.promptTokens).toBe(950);
      expect(manager.evaluate().type).toBe('restart');
    });

    it('with the system prompt and the tools that stand beside the messages', () => {
      const plain = watching().manager.promptTokens;
      const tools = [{ name: 'bash', description: prose(400) }];
      expect(watching({ system: prose(4000) }).manager.promptTokens).toBeGreaterThan(plain + 500);
      expect(watching({ tools }).manager.promptTokens).toBeGreaterThan(plain + 50);
    });

    it('with the window of its model, or of a table of your own, or 128,000', () => {
      expect(new ContextManager().contextLimit).toBe(128_000);
      expect(new ContextManager({ model: 'claude-sonnet-5' }).contextLimit).toBe(200_000);
      expect(new ContextManager({ model: 'my-llm', contextWindows: { 'my-llm': 4096 } }).contextLimit).toBe(4096);
    });
  });

  describe('masks', () => {
    it('the oldest results, so many as are asked for, and tells the model what it freed', () => {
      const { manager, run } = watching();
      manager.recordUsage({ promptTokens: 15_000, completionTokens: 0 });
      const { messages, masked, notice, reclaimedPct, hidden } = manager.maskOldest(2);
      expect([masked, changedTurns(run, messages)]).toEqual([2, [1, 2]]);
      expect(results(messages)[0]).toBe('[bash result masked -- 4000 bytes of output]');
      expect(hidden.map(({ text }) => text)).toEqual(results(run).slice(0, 2));
      expect(reclaimedPct).toBeGreaterThan(5);
      expect(notice).toBe(
        `[Context compressed: 2 observations masked this round, 2 total, ~${Math.round(reclaimedPct)}% context reclaimed]`,
      );
      expect(manager.usagePct).toBeCloseTo(75 - reclaimedPct, 1);
    });

    it('enough to fall below the soft threshold, and at least a batch', () => {
      const { manager } = watching();
      const action = used(manager, 17_500).evaluate();
      if (action.type !== 'mask') throw new Error(action.type);
      expect(action.count).toBeGreaterThanOrEqual(4);
      expect(manager.maskOldest(action.count).masked).toBe(action.count);
      expect(manager.usagePct).toBeLessThan(70);
      expect(manager.evaluate()).toEqual({ type: 'continue' });
      const one = watching({ maskBatch: 3 });
      expect(used(one.manager, 14_001).evaluate()).toEqual({ type: 'mask', count: 3 });
    });

    it('enough by the threshold as it is given, although 0.55 * 100 is more than 55', () => {
      const tokensOf = (text: string): number => (text.startsWith('output') ? 2 : 0);
      const run = Array.from({ length: 12 }, (_, i) => toolTurn({ id: `c${i}`, output: `output ${i} ${prose(400)}` }));
      const options = { contextLimit: 100, softThreshold: 0.55, maskBatch: 1, format: chat, carryoverTurns: 1 };
      const manager = new ContextManager<ChatMessage>({ ...options, counter: tokensOf });
      manager.setMessages([user('Go.'), ...run.flat()]);
      manager.recordUsage({ promptTokens: 59, completionTokens: 0 });
      manager.maskOldest();
      expect(manager.evaluate()).toEqual({ type: 'continue' });
      expect(manager.promptTokens).toBe(53);
    });

    it('never a result in the turns that a restart would carry over, or in the window of the policy', () => {
      const { manager, run } = watching();
      expect(changedTurns(run, manager.maskOldest(100).messages).at(-1)).toBe(15);
      const wide = watching({ policy: oldestBatch({ window: 12 }) });
      expect(changedTurns(wide.run, wide.manager.maskOldest(100).messages).at(-1)).toBe(8);
    });

    it('nothing twice, and says nothing where nothing was masked', () => {
      const { manager } = watching();
      expect(manager.maskOldest(100).masked).toBe(15);
      expect(manager.maskOldest(100)).toMatchObject({ masked: 0, total: 15, notice: undefined, reclaimedPct: 0 });
      expect(used(manager, 15_000).evaluate()).toEqual({ type: 'continue', because: 'nothing-to-mask' });
    });

    it('nothing where it knows no messages: it refuses, so that no caller goes on with an empty list', () => {
      const manager = used(blind(), 950);
      for (const ask of [() => manager.maskOldest(3), () => manager.carryover(), () => manager.restart()])
        expect(errorOf(ask)).toMatchObject({ code: 'BAD_INPUT', message: expect.stringContaining('setMessages') });
      expect(manager.sessionNumber).toBe(1);
      expect(used(manager, 760).evaluate()).toEqual({ type: 'mask', count: 3 });
    });

    it('nothing in an empty list, which is a list that it knows', () => {
      const manager = used(blind({ format: chat }), 950);
      manager.setMessages([]);
      expect(manager.maskOldest(3)).toMatchObject({ masked: 0, messages: [] });
      expect(manager.restart()).toMatchObject({ sessionNumber: 2, carryover: [] });
    });

    it('with handles where what is hidden is stored', () => {
      const { manager, run } = watching({ recall: true });
      const { messages, hidden } = manager.maskOldest(1);
      expect(results(messages)[0]).toContain(handleOf(results(run)[0] ?? ''));
      expect(hidden[0]?.handle).toBe(handleOf(results(run)[0] ?? ''));
    });

    it('and goes on from lists that it masked before', () => {
      const { manager, run } = watching();
      const { messages } = manager.maskOldest(3);
      const longer = [...messages, ...toolTurn({ id: 'c21', output: prose(4000) })];
      manager.setMessages(longer);
      const second = manager.maskOldest(3);
      expect(changedTurns(run, second.messages)).toEqual([1, 2, 3, 4, 5, 6]);
      expect(second.total).toBe(6);
    });
  });

  describe('before a request is sent', () => {
    it('tells that it would not fit', () => {
      const manager = blind({ format: chat });
      expect(manager.preflight([user(prose(400))])).toMatchObject({ fits: true });
      const tooLong = manager.preflight([user(prose(40_000))]);
      expect(tooLong.fits).toBe(false);
      expect(tooLong.usagePct).toBeGreaterThan(100);
    });

    it('learns from what the provider counts how its estimates compare', () => {
      const { manager, run } = watching({ model: 'm' });
      const { tokens } = manager.preflight(run);
      manager.recordUsage({ promptTokens: 2 * tokens, completionTokens: 1 });
      expect(manager.preflight(run).tokens).toBe(2 * tokens);
      expect(manager.calibration.ratio('m')).toBeCloseTo(2);
    });

    it('shares what it learned with other managers, each model apart', () => {
      const calibration = new Calibration({ m: { ratio: 1.5, samples: 3 } });
      const plain = watching({ model: 'other', calibration }).manager.promptTokens;
      expect(watching({ model: 'm', calibration }).manager.promptTokens).toBe(Math.round(1.5 * plain));
    });

    it('reckons what a mask saves in real tokens too', () => {
      const calibration = new Calibration({ m: { ratio: 2, samples: 3 } });
      const { manager } = watching({ model: 'm', calibration, contextLimit: 40_000 });
      const plain = watching();
      const saved = plain.manager.maskOldest(3).reclaimedPct;
      expect(manager.maskOldest(3).reclaimedPct).toBeCloseTo(saved);
    });
  });

  describe('restarts', () => {
    it('with the task and the last turns, and counts the sessions', () => {
      const { manager, run } = watching({ carryoverTurns: 2 });
      expect(manager.restart()).toEqual({
        sessionNumber: 2,
        carryover: [...run.slice(0, 2), ...run.slice(-4)],
        notice: restartNotice(2),
        hidden: [],
      });
      expect([manager.sessionNumber, manager.maskedTotal, manager.completionTokens]).toEqual([2, 0, 0]);
      expect(manager.usagePct).toBeLessThan(20);
      expect(manager.evaluate()).toEqual({ type: 'continue' });
    });

    it('within their budget in real tokens, where the provider counts more than we estimate', () => {
      const calibration = new Calibration({ m: { ratio: 3, samples: 5 } });
      const { manager } = watching({ model: 'm', calibration, carryoverTurns: 15 });
      manager.restart();
      expect(manager.promptTokens).toBeLessThanOrEqual(7000 + 100);
      expect(manager.evaluate()).toEqual({ type: 'continue' });
    });

    it('with the handles of results that it had to cut, and their originals to store', () => {
      const { manager, run } = watching({ contextLimit: 4000, recall: true, carryoverTokens: 300, carryoverTurns: 1 });
      const { carryover, hidden } = manager.restart();
      const whole = run.at(-1)?.content ?? '';
      expect(hidden.map(({ text }) => text)).toEqual([whole]);
      expect(carryover.at(-1)?.content).toContain(`(both) · ${handleOf(whole)}]`);
    });

    it('into a session that is below the soft threshold, however large the last turns are', () => {
      const { manager } = watching({ contextLimit: 4000 });
      manager.restart();
      expect(manager.usagePct).toBeLessThan(70);
    });
  });

  it('tells the model what is new, and nothing where nothing is', () => {
    const { manager } = watching();
    expect(manager.notice()).toBeUndefined();
    used(manager, 14_100);
    const { notice } = manager.maskOldest(3);
    expect(manager.notice()).toBe(notice);
    expect(manager.evaluate()).toEqual({ type: 'continue' });
    expect(manager.notice()).toBeUndefined();
    types(manager, 18_500, 18_500);
    expect(manager.notice()).toBe(windDownNotice(92.5));
    manager.restart();
    expect(manager.notice()).toBe(restartNotice(2));
  });

  it('goes on from its state, as plain data', () => {
    const manager = blind();
    types(manager, 750, 920);
    const state = JSON.parse(JSON.stringify(manager.state()));
    expect(state).toMatchObject({ sessionNumber: 1, promptTokens: 920, completionTokens: 20, isWindingDown: true });
    expect(blind({ state }).evaluate().type).toBe('restart');
  });

  describe('with a session', () => {
    const sessionOf = (messages: readonly ChatMessage[]): ContextSource<ChatMessage> & { forced: number } => {
      let view: readonly ChatMessage[] = messages;
      return {
        format: chat,
        forced: 0,
        messages: () => messages,
        view: () => view,
        force(goal) {
          const epoch = forceEpoch(view, goal, { format: chat, policy: onlyForced(breakEven()) });
          view = epoch.messages;
          this.forced += epoch.masked;
          return epoch;
        },
      };
    };

    it('sees what it would send, forces its epochs, and carries over from whole results', () => {
      const run = history(20, 4000);
      const session = sessionOf(run);
      const manager = new ContextManager({ contextLimit: 20_000, session, policy: breakEven(), carryoverTurns: 17 });
      const before = manager.promptTokens;
      const { masked } = manager.maskOldest(3);
      expect([masked, session.forced]).toEqual([3, 3]);
      expect(manager.promptTokens).toBeLessThan(before);
      expect(results([...manager.carryover()])).not.toContainEqual(expect.stringContaining('masked'));
    });
  });

  describe('refuses', () => {
    it.each([
      [{ contextLimit: 0 }, 'contextLimit'],
      [{ contextLimit: Number.NaN }, 'contextLimit'],
      [{ softThreshold: 0 }, 'softThreshold'],
      [{ softThreshold: 70 }, 'softThreshold'],
      [{ hardThreshold: 1.1 }, 'hardThreshold'],
      [{ carryoverTurns: -1 }, 'carryoverTurns'],
      [{ carryoverTokens: 700 }, 'carryoverTokens'],
      [{ maskBatch: 0 }, 'maskBatch'],
      [{ maskBatch: 1.5 }, 'maskBatch'],
      [{ maxRestarts: -1 }, 'maxRestarts'],
      [{ softTreshold: 0.5 }, 'softThreshold'],
      [{ contextWindows: { m: Number.NaN } }, 'contextWindows'],
      [{ policy: { step: () => {} } as never }, 'policy'],
      [{ state: { sessionNumber: Number.NaN } as never }, 'state'],
      [{ state: { promptTokens: -5 } as never }, 'state'],
      [{ state: { isWindingDown: 'no' } as never }, 'state'],
    ])('%j', (options, name) => {
      const error = errorOf(() => new ContextManager({ contextLimit: 1000, ...options }));
      expect(error?.code).toBe('BAD_OPTION');
      expect(error?.message).toContain(name);
    });

    it('a carryover that is not below what the soft threshold allows, in whole tokens', () => {
      const options = { contextLimit: 100, softThreshold: 0.55, carryoverTokens: 55 };
      expect(errorOf(() => new ContextManager(options))?.message).toContain('allows (55)');
      expect(() => new ContextManager({ ...options, carryoverTokens: 54 })).not.toThrow();
    });

    it('a soft threshold that is not below the hard one, in these words', () => {
      expect(errorOf(() => new ContextManager({ softThreshold: 0.95 }))?.message).toBe(
        'Expected softThreshold to be below hardThreshold (0.9) but found 0.95',
      );
    });

    it('to mask half a result', () => {
      expect(errorOf(() => watching().manager.maskOldest(1.5))?.code).toBe('BAD_OPTION');
    });

    it('to mask with an option that is unknown or no flag', () => {
      const { manager } = watching();
      expect(errorOf(() => manager.maskOldest(1, { insideWindow: 'yes' as never }))?.message).toContain('insideWindow');
      expect(errorOf(() => manager.maskOldest(1, { inside: true } as never))?.message).toContain('found inside');
    });
  });
});

import { describe, expect, it } from 'vitest';
import { history, pair, prose, range, toolTurn, user } from '../../test/support/chat.ts';
import {
  type ChatMessage,
  clearToolUses,
  createPlanner,
  type FitOptions,
  firstAndLast,
  fit,
  graduated,
  hybrid,
  type Kind,
  oldestBatch,
  type Report,
  slidingWindow,
} from '../index.ts';

const KINDS: readonly Kind[] = ['system', 'user', 'reasoning', 'action', 'observation'];
const messages = [...history(24), user('Use tabs.'), ...toolTurn({ id: 'z', output: prose(900), tool: 'read' })];
const settings: readonly [string, FitOptions][] = [
  ['nothing', {}],
  ['slidingWindow', { policy: slidingWindow({ turns: 3 }) }],
  ['slidingWindow with handles', { policy: slidingWindow({ turns: 3 }), recall: true }],
  ['firstAndLast', { policy: firstAndLast() }],
  ['oldestBatch', { policy: oldestBatch({ window: 2 }) }],
  ['clearToolUses', { policy: clearToolUses({ trigger: 2000 }) }],
  ['hybrid', { policy: hybrid({ window: 2, summarizeEvery: 6 }) }],
  ['graduated', { policy: graduated({ maxInputChars: 5000 }) }],
  ['a budget', { maxTokens: 2500, system: prose(200), tools: [{ name: 'bash' }] }],
  ['a small budget', { maxTokens: 600 }],
  ['another counter', { maxTokens: 6000, counter: (text) => Math.ceil(text.length / 2) }],
];
const sum = (report: Report, when: 'before' | 'after', measure: 'tokens' | 'chars'): number =>
  KINDS.reduce((total, kind) => total + report.byKind[kind][when][measure], 0);

describe.each(settings)('the numbers of a report add up: %s', (_, options) => {
  const { report, plan, messages: fitted } = fit(messages, options);
  const framing = 4;
  const beside = fit([], { ...options, format: 'chat', maxTokens: 1_000_000 }).report.tokens.before;

  it('kinds, framing and overhead add up to the whole', () => {
    expect(sum(report, 'before', 'tokens') + framing * messages.length + beside).toBe(report.tokens.before);
    expect(sum(report, 'after', 'tokens') + framing * fitted.length + beside).toBe(report.tokens.after);
    expect(sum(report, 'before', 'chars')).toBe(report.chars.before);
    expect(sum(report, 'after', 'chars')).toBe(report.chars.after);
  });
  it('what it says of the fitted list is what that list says when it is read again', () => {
    const { policy: _policy, maxTokens: _max, ...others } = options;
    const again = fit(fitted, others).report;
    expect(again.tokens.before).toBe(report.tokens.after);
    expect(again.chars.before).toBe(report.chars.after);
    for (const kind of KINDS) expect(again.byKind[kind].before).toEqual(report.byKind[kind].after);
  });
  it('no size is negative or more than it was, notes apart', () => {
    for (const kind of KINDS) {
      const { before, after } = report.byKind[kind];
      expect(Math.min(before.tokens, before.chars, after.tokens, after.chars)).toBeGreaterThanOrEqual(0);
      if (kind !== 'system') expect(after.tokens).toBeLessThanOrEqual(before.tokens);
    }
  });
  it('drops and notes are those of the plan', () => {
    const dropped = plan.edits.reduce((total, edit) => total + (edit.kind === 'drop' ? edit.to - edit.from : 0), 0);
    expect(report.edits.drop).toBe(dropped);
    expect(report.edits.insert).toBe(plan.edits.filter(({ kind }) => kind === 'insert').length);
    expect(fitted.length).toBe(messages.length - dropped + report.edits.insert);
  });
  it('masks and clips are those of the plan; what was masked and then left out was masked all the same', () => {
    const replaced = plan.edits.filter((edit) => edit.kind === 'replace');
    expect(report.edits.mask).toBe(replaced.filter(({ why }) => why === 'mask').length);
    expect(report.edits.clip).toBe(replaced.filter(({ why }) => why !== 'mask').length);
    expect(report.maskedCount).toBeGreaterThanOrEqual(report.edits.mask);
    if (report.edits.drop > 0 || report.edits.clip > 0) return expect(report.epoch).toBeGreaterThan(0);
    expect(report.maskedCount).toBe(report.edits.mask);
    expect(report.maskedChars).toBe(report.chars.before - report.chars.after);
  });
  it('is the same for a history that is fitted again, with nothing done', () => {
    const again = fit(fitted, options);
    expect(again.report.edits).toEqual({ mask: 0, clip: 0, shape: 0, drop: 0, insert: 0 });
    expect(again.report.tokens).toEqual({ before: report.tokens.after, after: report.tokens.after });
    expect(again.report.epoch).toBe(0);
  });
});

/** The reports and requests of a history sent turn by turn. */
function turnByTurn(list: readonly ChatMessage[], options: FitOptions): { report: Report; sent: ChatMessage[] }[] {
  const planner = createPlanner<ChatMessage>({ ...options, format: 'chat' });
  const steps = [];
  for (let i = 0; i < list.length; i += 2) {
    const { report } = planner.add(...list.slice(i, i + 2));
    steps.push({ report, sent: planner.messages() });
  }
  return steps;
}
const tokensOf = (list: readonly ChatMessage[], options: FitOptions): number => {
  const { policy: _policy, maxTokens: _max, ...others } = options;
  return fit(list, { ...others, format: 'chat' }).report.tokens.before;
};
const commonLength = (a: readonly ChatMessage[], b: readonly ChatMessage[]): number => {
  let length = 0;
  while (length < a.length && JSON.stringify(a[length]) === JSON.stringify(b[length])) length += 1;
  return length;
};

describe.each(settings)('turn by turn: %s', (_, options) => {
  const steps = turnByTurn(history(24), options);

  it('cached is what two requests have in common, and cached + rewritten the whole of the last one', () => {
    for (const [i, { report, sent }] of steps.entries()) {
      const last = steps[i - 1]?.sent ?? [];
      const common = i === 0 ? 0 : tokensOf(sent.slice(0, commonLength(last, sent)), options);
      expect([i, report.cache.cached]).toEqual([i, common]);
      expect(report.cache.cached + report.cache.rewritten).toBe(steps[i - 1]?.report.tokens.after ?? 0);
    }
  });
  it('the epoch counts the requests that changed what was there, and cacheMarkers names where', () => {
    let epoch = 0;
    for (const [i, { report, sent }] of steps.entries()) {
      const last = steps[i - 1]?.sent ?? [];
      const common = commonLength(last, sent);
      if (common < last.length) {
        epoch += 1;
        expect(report.cacheMarkers).toHaveLength(1);
        expect(report.lastChange).toBeUndefined();
      } else expect(report.cacheMarkers).toEqual([]);
      expect([i, report.epoch]).toEqual([i, epoch]);
    }
  });
});

describe('frontier', () => {
  it('is the message of the first result that could be masked and is not', () => {
    const { report } = fit(history(8), { policy: slidingWindow({ turns: 3 }) });
    // System, task, then two messages a turn: the result of turn 6 is message 13.
    expect(report.frontier).toBe(13);
    expect(fit(history(8)).report.frontier).toBe(3);
  });
  it('passes over results that cannot be masked: small ones, and those without a call', () => {
    const list: ChatMessage[] = [
      user('t'),
      ...pair('a', 'ok'),
      { role: 'tool', content: prose(900) },
      ...pair('b', prose(900)),
    ];
    expect(fit(list).report.frontier).toBe(5);
  });
  it('is not there where all is masked, or nothing can be', () => {
    expect(fit(history(4), { policy: slidingWindow({ turns: 0 }) }).report.frontier).toBeUndefined();
    expect(fit([user('t')]).report.frontier).toBeUndefined();
  });
});

describe('lastChange', () => {
  it('tells of the request that changed something, on those that follow and not on itself', () => {
    const acts = turnByTurn(history(8), { policy: oldestBatch({ count: 3, window: 1 }) }).map(({ report }) => [
      report.decision.act,
      report.lastChange?.act,
    ]);
    expect(acts.slice(3)).toEqual([
      ['wait', undefined],
      ['mask', undefined],
      ['wait', 'mask'],
      ['wait', 'mask'],
      ['mask', undefined],
      ['wait', 'mask'],
    ]);
  });
});

describe('sizes by kind', () => {
  it('belong to the kind that says it', () => {
    const { byKind } = fit([...history(1)]).report;
    expect(byKind.system.before.chars).toBe('You are a careful engineer.'.length);
    expect(byKind.user.before.chars).toBe('Fix the build.'.length);
    expect(byKind.reasoning.before.chars).toBe('step 1'.length);
    expect(byKind.action.before.chars).toBe('{}'.length);
    expect(byKind.observation.before.chars).toBe(1000);
  });
  it('are never negative where notes of ours come back in the role of a user', () => {
    const list = (from: number, to: number): object[] =>
      range(from, to).flatMap((i) => [
        {
          role: 'assistant',
          content: [
            { type: 'text', text: prose(300, `${i}`) },
            { type: 'tool_use', id: `c${i}`, name: 'b', input: {} },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: `c${i}`, content: prose(400) }] },
      ]);
    const task = { role: 'user', content: 'task' };
    const once = fit([task, ...list(1, 40)], { format: 'anthropic', maxTokens: 3000 });
    expect(JSON.stringify(once.messages)).toContain('Conversation summary');
    const twice = fit([...once.messages, ...list(41, 42)], { format: 'anthropic', maxTokens: 400 }).report;
    for (const kind of KINDS) {
      expect([kind, twice.byKind[kind].after.tokens >= 0, twice.byKind[kind].after.chars >= 0]).toEqual([
        kind,
        true,
        true,
      ]);
    }
  });
});

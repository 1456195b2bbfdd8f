import { describe, expect, it } from 'vitest';
import {
  answer,
  changedTurns,
  codeOf,
  contents,
  history,
  parallelCalls,
  prose,
  range,
  reply,
  results,
  system,
  toolTurn,
  unpaired,
  user,
} from '../../test/seeds/support.ts';
import { chat } from '../formats/chat.ts';
import type { ChatMessage } from '../message.ts';
import { fit } from '../plan/fit.ts';
import { firstAndLast } from '../plan/policies/first-and-last.ts';
import { graduated } from '../plan/policies/graduated.ts';
import { never } from '../plan/policies/never.ts';
import { handleOf } from '../store/handle.ts';
import { loopBudget, loopPolicy } from './loop-budget.ts';

describe('loopBudget', () => {
  it('is what the reply and a margin of a tenth leave of the input', () => {
    expect(loopBudget({ maxInputTokens: 150_000, maxOutputTokens: 8192 })).toBe(150_000 - 8192 - 15_000);
    expect(loopBudget({ maxInputTokens: 100_000 })).toBe(100_000 - 4096 - 10_000);
    expect(loopBudget({ model: 'claude-sonnet-5', maxOutputTokens: 0 })).toBe(180_000);
    expect(loopBudget({ model: 'mine', contextWindows: { mine: 32_768 } })).toBe(32_768 - 4096 - 3276);
    expect(loopBudget()).toBe(128_000 - 4096 - 12_800);
  });

  it.each([
    { maxInputTokens: 0 },
    { maxInputTokens: Number.NaN },
    { maxOutputTokens: -1 },
    { maxInputTokens: 4000, maxOutputTokens: 4000 },
  ])('refuses %j', (options) => {
    expect(codeOf(() => loopBudget(options))).toBe('BAD_OPTION');
  });
});

describe('loopPolicy', () => {
  const fitted = (messages: readonly ChatMessage[], ...args: Parameters<typeof loopPolicy>) =>
    fit(messages, { format: chat, policy: loopPolicy(...args), handleOf });

  it('cuts a result when it arrives, to 8,000 tokens from its head, and keeps the original', () => {
    const original = prose(200_000, 'HEAD ');
    const run = [user('go'), ...toolTurn({ id: 'a', output: original })];
    const { messages, hidden } = fitted(run, never());
    expect(results(messages)[0]).toMatch(/^HEAD .*\[truncated: kept first ~8000 of ~\d+ tokens \(head\)\]$/s);
    expect(hidden).toMatchObject([{ text: original, handle: handleOf(original), why: 'clip' }]);
  });

  it.each([
    ['head', /^HEAD .*\(head\)\]$/s],
    ['tail', /^\[truncated: kept last .* TAIL$/s],
    ['both', /^HEAD .*\(both\)\].* TAIL$/s],
  ] as const)('keeps the %s of it where asked', (toolResultTruncation, expected) => {
    const run = [user('go'), ...toolTurn({ id: 'a', output: `HEAD ${prose(9000)} TAIL` })];
    const { messages } = fitted(run, never(), { maxToolResultTokens: 200, toolResultTruncation });
    expect(results(messages)[0]).toMatch(expected);
  });

  it('leaves the masks to the policy', () => {
    const run = history(12);
    const { messages } = fitted(run, firstAndLast({ keepFirst: 2, keepLast: 5 }));
    expect(changedTurns(run, messages)).toEqual([3, 4, 5, 6, 7]);
  });

  it('drops the oldest iterations as a last resort, and never the conversation before the loop', () => {
    const conversation = [
      system('You are helpful.'),
      ...range(1, 10).flatMap((n) => [user(prose(200, `question ${n} `)), reply(prose(200, `answer ${n} `))]),
      user('Now do something.'),
    ];
    const loop = range(1, 30).flatMap((n) => toolTurn({ id: `c${n}`, text: prose(400, `step ${n} `), output: 'ok' }));
    const run = [...conversation, ...loop];
    const maxTokens = 3000;
    const options = { maxTokens, conversationMessages: conversation.length };
    const { messages, report } = fitted(run, never(), options);
    expect(report.tokens.after).toBeLessThanOrEqual(maxTokens);
    expect(contents(messages)).toEqual(expect.arrayContaining(contents(conversation)));
    expect(messages.slice(-2)).toEqual(run.slice(-2));
    expect(report.edits.drop).toBeGreaterThan(0);
    expect(unpaired(messages)).toEqual([]);
    const unprotected = fitted(run, never(), { maxTokens }).messages;
    expect(contents(unprotected)).not.toEqual(expect.arrayContaining(contents(conversation)));
  });

  it('keeps the limit of a policy that has one of its own', () => {
    const policy = loopPolicy(graduated({ maxInputTokens: 500 }), { maxTokens: 9000, conversationMessages: 2 });
    expect(policy.limit).toMatchObject({ max: 500, keepMessages: 2 });
  });

  it('takes its own where that is the smaller one, and refuses it beside a limit in characters', () => {
    const policy = loopPolicy(graduated({ maxInputTokens: 9000 }), { maxTokens: 500 });
    expect(policy.limit).toMatchObject({ max: 500, measure: 'tokens' });
    const inChars = graduated({ maxInputChars: 9000 });
    expect(codeOf(() => loopPolicy(inChars, { maxTokens: 500 }))).toBe('BAD_OPTION');
    expect(loopPolicy(inChars).limit).toMatchObject({ max: 9000, measure: 'chars' });
  });

  it('holds its cut still: a request begins with the one before, but where iterations were dropped anew', () => {
    const policy = loopPolicy(never(), { maxTokens: 2000 });
    const run: ChatMessage[] = [user('go')];
    let [last, drops]: [ChatMessage[], number] = [[], 0];
    for (const n of range(1, 100)) {
      run.push(parallelCalls(`a${n}`), answer(`a${n}`, prose(300, `${n} `)));
      const { messages, report } = fit(run, { format: chat, policy, maxTokens: 2000 });
      const isHeld = last.every((message, i) => message.content === messages[i]?.content);
      if (!isHeld) drops += 1;
      expect(report.tokens.after).toBeLessThanOrEqual(2000);
      last = messages;
    }
    expect(drops).toBeGreaterThan(2);
    expect(drops).toBeLessThan(40);
  });

  it.each([{ maxToolResultTokens: 0 }, { toolResultTruncation: 'middle' as 'head' }, { maxTokens: 0 }])(
    'refuses %j',
    (options) => {
      expect(codeOf(() => loopPolicy(never(), options))).toBe('BAD_OPTION');
    },
  );
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ChatMessage, chat, HistoryReducer, type HistoryReducerOptions } from '../src/index.ts';
import { addedViolations } from '../src/laws/pairs.ts';
import { checkTask } from '../src/laws/task.ts';
import { loneSurrogates } from '../src/laws/text.ts';
import { deepFreeze } from './support/deep-freeze.ts';
import { flat, story, write } from './support/histories.ts';

const numRuns = Number(process.env.PALIMPSEST_RUNS ?? 500);

const options: fc.Arbitrary<HistoryReducerOptions> = fc.record(
  {
    maxInputChars: fc.integer({ min: 1, max: 12_000 }),
    maxInputTokens: fc.integer({ min: 1, max: 3000 }),
    preserveRecentRawTurns: fc.integer({ min: 0, max: 6 }),
    summaryMaxChars: fc.integer({ min: 1, max: 1400 }),
    observationMasking: fc.boolean(),
    maxObservationChars: fc.integer({ min: 1, max: 300 }),
  },
  { requiredKeys: ['maxInputChars'] },
);

const reduce = (messages: readonly ChatMessage[], given: HistoryReducerOptions) =>
  new HistoryReducer().reduce(messages, given);
const LONGEST_NOTICE = '[conversation truncated — 99 older messages omitted]'.length;
const charsOf = (messages: readonly ChatMessage[]): number =>
  messages.reduce((sum, message) => sum + message.content.length, 0);

const check = (law: (messages: readonly ChatMessage[], given: HistoryReducerOptions) => void): void => {
  const sample = fc.record({ story, options, openCall: fc.boolean() });
  fc.assert(
    fc.property(sample, ({ story, options: given, openCall }) => {
      const messages = flat(write(story, 'chat')) as ChatMessage[];
      const open: ChatMessage = {
        role: 'assistant',
        content: 'next',
        toolCalls: [{ id: 'open', name: 'bash', arguments: '{}' }],
      };
      law(deepFreeze(openCall ? [...messages, open] : messages), given);
    }),
    { numRuns },
  );
};

describe('HistoryReducer.reduce', () => {
  it('keeps pairs, roles and the task, splits no character, never grows', () => {
    check((messages, given) => {
      const result = reduce(messages, given);
      expect(addedViolations(chat, messages, result.messages)).toEqual([]);
      expect(checkTask(chat.view(messages), chat.view(result.messages))).toEqual([]);
      expect(result.afterTokens).toBeLessThanOrEqual(result.beforeTokens);
      if (given.maxInputTokens === undefined) expect(charsOf(result.messages)).toBeLessThanOrEqual(charsOf(messages));
      const lone = (list: readonly ChatMessage[]): number =>
        list.reduce((sum, message) => sum + loneSurrogates(message.content), 0);
      expect(lone(result.messages)).toBeLessThanOrEqual(lone(messages));
    });
  });

  it('tells the truth about what it did', () => {
    check((messages, given) => {
      const result = reduce(messages, given);
      const { maxInputTokens } = given;
      const withinBudget =
        maxInputTokens === undefined
          ? charsOf(result.messages) <= given.maxInputChars
          : result.afterTokens <= maxInputTokens;
      expect(result.withinBudget).toBe(withinBudget);
      expect(result.reduced).toBe(result.reductionStage !== undefined);
      expect(result.invariantStatus).toBe(result.reductionStage === 'fallback' ? 'fallback' : 'ok');
      if (!result.reduced) expect(result.messages).toEqual(messages);
      const left = new Set(result.messages);
      if (result.reductionStage === 'masking')
        expect([result.droppedCount, result.messages.length]).toEqual([0, messages.length]);
      for (const message of messages) {
        if (result.reductionStage === 'masking' && message.role !== 'tool') expect(left.has(message)).toBe(true);
      }
    });
  });

  it('changes nothing when it reduces what it reduced', () => {
    check((messages, given) => {
      const result = reduce(messages, given);
      expect(reduce(result.messages, given).messages).toEqual(result.messages);
    });
  });

  it('is within budget whenever system, task and the newest message fit, and a notice where others are left out', () => {
    check((messages, given) => {
      const { maxInputTokens: _unused, ...inChars } = given;
      const result = reduce(messages, inChars);
      if (result.withinBudget) return;
      const users = messages.filter((message) => message.role === 'user');
      const kept = new Set([...messages.filter((message) => message.role === 'system'), users[0], users.at(-1)]);
      // Behind the newest message stand its call and what else answers that.
      const lastReply = messages.findLastIndex((message) => message.role === 'assistant');
      const newest = messages.at(-1)?.role === 'tool' ? messages.slice(lastReply) : messages.slice(-1);
      const least = [...kept, ...newest.filter((message) => !kept.has(message))];
      const size = least.reduce(
        (sum, message) => sum + Math.min(message?.content.length ?? 0, message?.role === 'tool' ? 24 : 1e9),
        0,
      );
      // A message that is shorter than the notice about it is not left out: that would make the history longer.
      const notice = least.length < messages.length ? LONGEST_NOTICE : 0;
      expect(size + notice).toBeGreaterThan(given.maxInputChars);
    });
  });

  it('shortens even a placeholder where nothing else is left to give way', () => {
    const messages: ChatMessage[] = [
      { role: 'system', content: 'You are an agent.' },
      { role: 'assistant', content: 'Hello' },
      { role: 'user', content: 'Fix the failing test.' },
      { role: 'assistant', content: 'x'.repeat(248), toolCalls: [{ id: 'c', name: 'read_file', arguments: '{}' }] },
      { role: 'tool', content: '0: alpha\n1: alpha\n2: alpha\n3: alpha', toolCallId: 'c' },
    ];
    expect(reduce(messages, { maxInputChars: 315, preserveRecentRawTurns: 0 }).withinBudget).toBe(true);
  });

  it('leaves a placeholder that came with the history whole, however small the budget', () => {
    const placeholder = '[Observation omitted for brevity]';
    const messages: ChatMessage[] = [
      { role: 'user', content: 'Fix the failing test.' },
      { role: 'assistant', content: 'x'.repeat(240), toolCalls: [{ id: 'c', name: 'read_file', arguments: '{}' }] },
      { role: 'tool', content: placeholder, toolCallId: 'c' },
    ];
    const { messages: reduced, withinBudget } = reduce(messages, { maxInputChars: 60 });
    expect([reduced.at(-1)?.content, withinBudget]).toEqual([placeholder, false]);
  });

  it('masks more, and the same bytes, when masking alone still suffices for a longer history', () => {
    check((messages, given) => {
      const shorter = reduce(messages, given);
      const longer = reduce([...messages, { role: 'assistant', content: 'x' }, { role: 'user', content: 'y' }], given);
      if (shorter.reductionStage !== 'masking' || longer.reductionStage !== 'masking') return;
      for (const [index, message] of shorter.messages.entries()) {
        if (message !== messages[index]) expect(longer.messages[index]).toEqual(message);
      }
    });
  });
});

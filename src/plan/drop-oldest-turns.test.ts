import { describe, expect, it } from 'vitest';
import { answer, contents, history, parallelCalls, prose, reply, toolTurn, user } from '../../test/support/chat.ts';
import { deepFreeze } from '../../test/support/deep-freeze.ts';
import { type ChatMessage, fit } from '../index.ts';
import { dropOldestTurns } from './drop-oldest-turns.ts';

const tokensOf = (messages: readonly ChatMessage[]): number => fit(messages, { format: 'chat' }).report.tokens.before;
const drop = (messages: readonly ChatMessage[], maxTokens: number) =>
  dropOldestTurns(messages, { maxTokens, format: 'chat' });

describe('dropOldestTurns', () => {
  const messages = deepFreeze(history(6));

  it('leaves a list that fits as it is, in a new list', () => {
    const size = tokensOf(messages);
    const kept = drop(messages, size);
    const tokens = { before: size, after: size };
    expect(kept).toEqual({ messages, droppedCount: 0, hidden: [], tokens, withinBudget: true });
    expect(kept.messages).not.toBe(messages);
  });

  it('leaves out whole turns, oldest first, and says how many messages', () => {
    const { messages: kept, droppedCount, tokens, withinBudget } = drop(messages, tokensOf(messages) - 1);
    expect(droppedCount).toBe(2);
    expect(contents(kept).slice(0, 4)).toEqual([
      'You are a careful engineer.',
      'Fix the build.',
      '[conversation truncated — 2 older messages omitted]',
      'step 2',
    ]);
    expect([tokens, withinBudget]).toEqual([{ before: tokensOf(messages), after: tokensOf(kept) }, true]);
    expect(kept.slice(3)).toEqual(messages.slice(4));
  });

  // A question that stays with its answer was counted as left out once turns behind its answer went too.
  it('leaves out turns until the rest fits, with a question that stays at the gap', () => {
    const list = [
      user('Fix it.'),
      ...toolTurn({ id: 'a', output: prose(900) }),
      reply(prose(200)),
      user(prose(800, 'A long question: ')),
      reply('An answer.'),
      user('The newest words.'),
      ...['b', 'c', 'd', 'e'].flatMap((id) => toolTurn({ id, output: prose(300) })),
    ];
    const least = drop(list, 1).tokens.after;
    for (let max = least; max < tokensOf(list); max += 10) {
      const { messages: kept, withinBudget } = drop(list, max);
      expect(withinBudget).toBe(true);
      expect(drop(kept, max).messages).toEqual(kept);
    }
  });

  it('leaves out no more than it must', () => {
    for (let max = 300; max < tokensOf(messages); max += 50) {
      const { messages: kept, droppedCount } = drop(messages, max);
      expect(tokensOf(kept)).toBeLessThanOrEqual(max);
      const oneMore = [...messages.slice(0, 2), ...messages.slice(droppedCount)];
      expect(tokensOf(oneMore) + 12).toBeGreaterThan(max);
    }
  });

  it('never leaves out the last turn, nor what came before the first reply', () => {
    const { messages: kept, droppedCount, tokens, withinBudget } = drop(messages, 1);
    expect(droppedCount).toBe(10);
    expect([tokens.after, withinBudget]).toEqual([tokensOf(kept), false]);
    expect(kept.filter((message) => !message.content.startsWith('[conversation'))).toEqual([
      ...messages.slice(0, 2),
      ...messages.slice(-2),
    ]);
    expect(drop(messages.slice(0, 4), 1).droppedCount).toBe(0);
    expect(drop(messages.slice(0, 2), 1).droppedCount).toBe(0);
    expect(drop([], 1)).toMatchObject({ messages: [], droppedCount: 0, hidden: [], withinBudget: true });
  });

  it('keeps the turn in which the user spoke last', () => {
    const spoken = [...messages.slice(0, 6), user('Use tabs.'), ...messages.slice(6)];
    expect(contents(drop(spoken, 1).messages)).toContain('Use tabs.');
  });

  it('adds up what an earlier notice said', () => {
    const once = drop(messages, 900);
    const twice = drop(once.messages, 600);
    const omitted = once.droppedCount + twice.droppedCount;
    expect(contents(twice.messages)[2]).toBe(`[conversation truncated — ${omitted} older messages omitted]`);
  });

  it('keeps calls with results that came turns later, and keeps open calls', () => {
    const late = [
      user('t'),
      parallelCalls('a', 'b'),
      answer('a', prose(900)),
      reply('meanwhile'),
      answer('b', prose(900)),
      ...toolTurn({ id: 'c', output: prose(900) }),
      ...toolTurn({ id: 'd', output: prose(900) }),
    ];
    const { messages: kept } = drop(late, 300);
    expect(kept.some(({ content }) => content === 'meanwhile')).toBe(false);
    expect(kept.map(({ toolCallId }) => toolCallId).filter(Boolean)).toEqual(['d']);
    const open = [user('t'), parallelCalls('x'), ...history(4).slice(2)];
    expect(drop(open, 1).messages).toContain(open[1]);
  });

  it('says nothing where a notice would be larger than what it replaces', () => {
    const tiny = [user('t'), reply('a'), reply('b')];
    expect(drop(tiny, 1)).toMatchObject({ messages: tiny, droppedCount: 0, hidden: [], withinBudget: false });
  });

  it.each([null, undefined, 'text', {}, 5])('refuses %s in the place of a list', (wrong) => {
    // biome-ignore lint/suspicious/noExplicitAny: wrong on purpose
    expect(() => dropOldestTurns(wrong as any, { maxTokens: 5, format: 'chat' })).toThrowError(
      expect.objectContaining({ code: 'BAD_INPUT' }),
    );
  });
});

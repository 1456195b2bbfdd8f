import { describe, expect, it } from 'vitest';
import { chars, contextFrom, textOf, turn, user } from '../../test/support/logs/contexts.ts';
import type { ChatMessage } from '../message.ts';
import { priceLists } from '../plan/prices.ts';
import { replayContext } from './replay-context.ts';
import { readReplayPolicy } from './replay-policy.ts';
import { withRecalls } from './with-recalls.ts';

const NAME = 'handlePaymentIntent_v7';
const call = (id: string, args: string): ChatMessage => ({
  role: 'assistant',
  content: '',
  toolCalls: [{ id, name: 'bash', arguments: args }],
});
const found: ChatMessage = { role: 'tool', content: `${NAME} ${textOf(200)}`, toolCallId: 'a' };
const context = contextFrom(
  [
    user(100),
    call('a', '{"command":"ls"}'),
    found,
    ...turn('b', 50),
    call('c', `{"command":"grep ${NAME}"}`),
    { role: 'tool', content: textOf(20), toolCallId: 'c' },
    ...turn('end'),
  ],
  { times: [1, 2, 3, 4, 5, 6, 7, 8] },
);

describe('withRecalls', () => {
  it('puts a reply of 60 tokens and the whole text before the call that misses it', () => {
    const { messages, times } = withRecalls(context, [{ turn: 3, observation: 0 }]);
    expect(messages).toHaveLength(context.messages.length + 2);
    expect(messages.slice(0, 5)).toEqual(context.messages.slice(0, 5));
    const [reply, result, ...rest] = messages.slice(5);
    const { name = '', arguments: args = '' } = reply?.toolCalls?.[0] ?? {};
    expect(chars(name) + chars(args)).toBe(60);
    expect(result).toEqual({ role: 'tool', name: 'recall', content: found.content, toolCallId: 'recall 0' });
    expect(rest).toEqual(context.messages.slice(5));
    expect(times).toEqual([1, 2, 3, 4, 5, 5, 5, 6, 7, 8]);
  });

  it('changes nothing where nothing was missed', () => {
    expect(withRecalls(context, [])).toEqual(context);
  });
});

describe('a replay with recalls', () => {
  const setting = {
    counter: chars,
    systemTokens: 0,
    policies: ['none', 'sliding-window:turns=1'].map(readReplayPolicy),
    prices: [priceLists.none],
    cacheLife: 'endless' as const,
  };

  it('adds the request, the text until it is masked again, and 60 tokens of output', () => {
    const [none, window] = replayContext(context, { ...setting, recalls: true });
    expect(none?.costWithRecalls).toEqual(none?.cost);
    expect(window?.misses.any).toBe(1);
    expect([...(window?.placeholders.keys() ?? [])]).toEqual([0]);
    // Requests 1 to 3 are as before; then the recall, one more request, and the last one, in which it is masked again.
    const sizes = window?.requests.map(({ size }) => size) ?? [];
    const text = chars(found.content);
    const mask = chars(window?.placeholders.get(0) ?? '');
    const [third = 0, last = 0] = sizes.slice(2);
    const afterRecall = third + 60 + text;
    const end = last + 60 + mask;
    const cost = (sizes[0] ?? 0) + (sizes[1] ?? 0) + third + afterRecall + end;
    expect(window?.costWithRecalls.none).toBeCloseTo(cost + 5 * 60, 0);
  });

  it('is not there unless it is asked for', () => {
    for (const { costWithRecalls } of replayContext(context, setting)) expect(costWithRecalls).toEqual({});
  });
});

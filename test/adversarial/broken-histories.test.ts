import { describe, expect, it } from 'vitest';
import { type ChatMessage, createPlanner, formatByName, HistoryReducer, slidingWindow } from '../../src/index.ts';
import { addedViolations } from '../../src/laws/pairs.ts';
import { deepFreeze } from '../support/deep-freeze.ts';
import {
  type Event,
  head,
  prose,
  settings,
  survive,
  surviveAll,
  turns,
  writable,
  write,
} from '../support/hostile-histories.ts';

describe('broken and unusual histories', () => {
  const many = (count: number, event: (i: number) => Event): Event[] =>
    Array.from({ length: count }, (_, i) => event(i));
  const cases: Readonly<Record<string, readonly Event[]>> = {
    'one message': [{ user: 'hello' }],
    'only a system prompt': [{ system: 'S' }],
    'only a long system prompt': [{ system: prose(3000) }],
    'only replies': many(8, (i) => ({ says: `${i} ${prose(300)}` })),
    'only user messages': many(8, (i) => ({ user: `${i} ${prose(300)}` })),
    'only results': many(8, (i) => ({ result: `c${i}`, text: prose(600) })),
    'only open calls': many(8, (i) => ({ says: prose(300), calls: [`c${i}`] })),
    'a result without a call at the start': [{ result: 'ghost', text: prose(900) }, ...head, ...turns(1, 8)],
    'a result without a call in the middle': [
      ...head,
      ...turns(1, 4),
      { result: 'ghost', text: prose(900) },
      ...turns(5, 9),
    ],
    'a result without a call at the end': [...head, ...turns(1, 8), { result: 'ghost', text: prose(900) }],
    'a call without a result in the middle': [
      ...head,
      ...turns(1, 3),
      { says: 'lost', calls: ['lost'] },
      ...turns(4, 9),
    ],
    'one of two calls without a result': [
      ...head,
      ...turns(1, 3),
      { says: 'two', calls: ['a', 'b'] },
      { result: 'b', text: prose(900) },
      ...turns(4, 9),
    ],
    'a result before its call': [...head, { result: 'c5', text: prose(900) }, ...turns(1, 8)],
    'two results for one call': [...head, ...turns(1, 3), { result: 'c3', text: prose(900) }, ...turns(4, 9)],
    'the same id in every turn': [
      ...head,
      ...many(9, () => ({ says: 's', calls: ['x'] })).flatMap((call) => [call, { result: 'x', text: prose(900) }]),
    ],
    'the same id twice in one reply': [
      ...head,
      { says: 'twice', calls: ['x', 'x'] },
      { result: 'x', text: prose(900) },
      { result: 'x', text: prose(700) },
      ...turns(1, 8),
    ],
    'an open call at the end': [...head, ...turns(1, 8), { says: 'now', calls: ['open'] }],
    'several open calls, one answered': [
      ...head,
      ...turns(1, 8),
      { says: 'now', calls: ['p', 'q', 'r'] },
      { result: 'q', text: prose(900) },
    ],
    'results that come turns later': [
      ...head,
      { says: 'both', calls: ['a', 'b'] },
      { result: 'a', text: prose(900) },
      ...turns(1, 3),
      { result: 'b', text: prose(900) },
      ...turns(4, 8),
    ],
    'every result one turn late': [
      ...head,
      ...many(9, (i) => ({ says: 's', calls: [`c${i}`] })).flatMap((call, i) =>
        i === 0 ? [call] : [call, { result: `c${i - 1}`, text: prose(600) }],
      ),
    ],
    'steering between parallel results': [
      ...head,
      ...turns(1, 2),
      { says: 'three', calls: ['a', 'b', 'c'] },
      { result: 'a', text: prose(700) },
      { user: 'Hurry.' },
      { result: 'b', text: prose(700) },
      { user: 'Please.' },
      { result: 'c', text: prose(700) },
      ...turns(3, 8),
    ],
    'no task before the first reply': [{ says: 'Hello, what shall I do?' }, { user: 'Fix it.' }, ...turns(1, 9)],
    'a system prompt in the middle': [...head, ...turns(1, 4), { system: 'A reminder.' }, ...turns(5, 9)],
    'the task last': [...turns(1, 9), { user: 'And this is the task.' }],
    'empty texts': [
      { system: '' },
      { user: '' },
      { says: '' },
      { says: '', calls: ['a'] },
      { result: 'a', text: '' },
      ...turns(1, 8),
    ],
    'a notice of ours without anything before it': [
      { system: '[conversation truncated — 4 older messages omitted]' },
      { user: 'Fix it.' },
      ...turns(1, 9),
    ],
  };

  it.each(Object.entries(cases))('%s: no worse than it came, in every format', (_, events) => {
    for (const format of writable) surviveAll(deepFreeze(write(events, format)), format);
    const planner = createPlanner({ format: 'chat', policy: slidingWindow({ turns: 2 }), maxTokens: 1500 });
    const list = write(events, 'chat');
    for (const message of list) planner.add(message);
    expect(addedViolations(formatByName('chat'), list, planner.messages())).toEqual([]);
  });

  it.each(['chat', 'openai-chat', 'anthropic', 'openai-responses'] as const)(
    '%s: check() reports what is broken',
    (format) => {
      const broken = (name: string): number => formatByName(format).check(write(cases[name] ?? [], format)).length;
      expect(broken('a result without a call in the middle')).toBeGreaterThan(0);
      expect(broken('a call without a result in the middle')).toBeGreaterThan(0);
      expect(broken('one of two calls without a result')).toBeGreaterThan(0);
      expect(broken('an open call at the end')).toBe(0);
    },
  );

  it('an empty list stays one', () => {
    for (const format of writable)
      for (const options of settings) expect(survive([], format, options)?.messages).toEqual([]);
  });

  it('a result that answers no call is never touched', () => {
    const list = write(cases['a result without a call in the middle'] ?? [], 'chat') as ChatMessage[];
    const ghost = list.find(({ toolCallId }) => toolCallId === 'ghost');
    for (const { messages } of surviveAll(list, 'chat').slice(0, 9)) {
      const left = messages.filter(({ toolCallId }: ChatMessage) => toolCallId === 'ghost');
      for (const message of left) expect(message).toBe(ghost);
    }
  });

  it('an open call is never left out', () => {
    for (const name of [
      'an open call at the end',
      'a call without a result in the middle',
      'several open calls, one answered',
    ]) {
      const list = write(cases[name] ?? [], 'chat') as ChatMessage[];
      const open = list.find(({ toolCalls }) => toolCalls?.some(({ id }) => ['open', 'lost', 'p'].includes(id)));
      for (const { messages } of surviveAll(list, 'chat')) expect(messages).toContain(open);
    }
  });

  it('HistoryReducer survives them too', () => {
    for (const events of Object.values(cases)) {
      const list = deepFreeze(write(events, 'chat')) as ChatMessage[];
      for (const maxInputChars of [1, 60, 700, 2500, 5000]) {
        const reduced = new HistoryReducer().reduce(list, { maxInputChars, preserveRecentRawTurns: 1 });
        expect(addedViolations(formatByName('chat'), list, reduced.messages as unknown[])).toEqual([]);
      }
    }
  });
});

import { describe, expect, it } from 'vitest';
import {
  answer,
  contents,
  history,
  parallelCalls,
  prose,
  range,
  reply,
  system,
  toolTurn,
  unpaired,
  user,
} from '../../../test/support/chat.ts';
import { PalimpsestError } from '../../errors.ts';
import { anthropic } from '../../formats/anthropic.ts';
import { chat } from '../../formats/chat.ts';
import type { ChatMessage } from '../../message.ts';
import { countTokens } from '../../tokens/count-tokens.ts';
import { sizeOfMessages } from '../budget/sizes.ts';
import { type CarryoverOptions, extractCarryover } from './carryover.ts';
import { compressedNotice, restartNotice, windDownNotice } from './notices.ts';

const carry = (messages: readonly ChatMessage[], options: CarryoverOptions<ChatMessage> = {}): ChatMessage[] =>
  extractCarryover(messages, { format: chat, ...options });
const sizeOf = (messages: readonly ChatMessage[]): number => sizeOfMessages(messages, chat, countTokens);

describe('extractCarryover', () => {
  it('holds system prompt, task and the last 5 turns, as they are', () => {
    const run = history(20);
    const carried = carry(run);
    expect(carried).toEqual([...run.slice(0, 2), ...run.slice(-10)]);
    expect(carried.every((message) => run.includes(message))).toBe(true);
  });

  it('holds the task alone where no turn is asked for', () => {
    expect(carry(history(20), { turns: 0 })).toEqual(history(0));
  });

  it('is empty where there is nothing', () => {
    expect(carry([])).toEqual([]);
  });

  it('holds all where there are no more turns', () => {
    const run = history(3);
    expect(carry(run)).toEqual(run);
  });

  it('holds what the user said last, however long ago', () => {
    const run = [...history(3), user('And mind the tests.'), ...history(30).slice(8)];
    const carried = carry(run, { turns: 2 });
    expect(contents(carried)).toContain('And mind the tests.');
    expect(carried.slice(-4)).toEqual(run.slice(-4));
    expect(unpaired(carried)).toEqual([]);
  });

  it('splits no pair, parallel calls and late results included', () => {
    const run = [
      user('go'),
      ...range(1, 6).flatMap((n) => [
        parallelCalls(`a${n}`, `b${n}`),
        answer(`b${n}`, 'x'),
        user(`s${n}`),
        answer(`a${n}`, 'y'),
      ]),
      parallelCalls('slow', 'fast'),
      answer('fast', 'ok'),
      ...range(1, 6).flatMap((n) => toolTurn({ id: `c${n}`, output: 'ok' })),
      answer('slow', 'at last'),
    ];
    for (const turns of range(0, 14)) expect([turns, unpaired(carry(run, { turns }))]).toEqual([turns, []]);
  });

  it('keeps to its budget: older turns stay behind first, then results are shortened, then the task', () => {
    const run = history(20, 4000);
    const whole = sizeOf(carry(run, { turns: 2 }));
    // A notice is reckoned with, although none is carried over.
    const two = carry(run, { turns: 5, maxTokens: whole + 20 });
    expect(two).toEqual(carry(run, { turns: 2 }));
    const one = carry(run, { turns: 5, maxTokens: 400 });
    expect(one).toHaveLength(4);
    expect(one[3]?.content).toContain('[truncated: kept');
    expect(sizeOf(one)).toBeLessThanOrEqual(400 + sizeOf(run.slice(0, 1)));
    const long = [user(prose(40_000, 'The task: ')), ...run.slice(2)];
    const cut = carry(long, { turns: 1, maxTokens: 400 });
    expect(cut[0]?.content).toMatch(/^The task: .*\[truncated: kept/s);
    expect(sizeOf(cut)).toBeLessThanOrEqual(400);
  });

  it('leaves a reply behind that is too large to go, and keeps the task and what was asked last', () => {
    const run = [user('Find the bug.'), reply(prose(40_000)), user('Well?')];
    expect(carry(run, { maxTokens: 200 })).toEqual([run[0], run[2]]);
  });

  it('leaves behind notices of ours, summaries and turns whose results are masked', () => {
    const [head, tail] = [history(2), history(9).slice(6)];
    const run = [
      ...head.slice(0, 2),
      system('[conversation truncated — 12 older messages omitted]'),
      ...head.slice(2),
      system(compressedNotice({ masked: 3, total: 3, reclaimedPct: 12 })),
      ...tail,
      ...toolTurn({ id: 'm', output: '[bash result masked -- 4000 bytes of output]' }),
      user(restartNotice(2)),
      ...toolTurn({ id: 'last', output: 'ok' }),
      system(windDownNotice(91)),
    ];
    const carried = carry(run, { turns: 20 });
    expect(carried).toEqual([...head, ...tail, ...run.slice(-3, -1)]);
  });

  it('holds a task that begins with the words of a summary, but is none', () => {
    const task = user('Conversation summary (contract): write one for me.');
    const run = [system('You are an agent.'), task, ...history(9).slice(2)];
    expect(carry(run, { turns: 1 })).toEqual([...run.slice(0, 2), ...run.slice(-2)]);
  });

  it('does not carry over a turn whose image it had to mask', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(40_000) } };
    const run = [
      { role: 'user', content: 'task' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'bash', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: [image] }] },
      { role: 'assistant', content: 'Done.' },
      { role: 'user', content: 'Go on.' },
    ];
    const options = { format: anthropic, maxTokens: 80 };
    const carried = extractCarryover(run, options);
    expect(carried).toEqual([run[0], ...run.slice(-2)]);
    expect(extractCarryover(carried, options)).toEqual(carried);
  });

  it('carries the newest words of the user where the reply before them is too large', () => {
    const run = [
      { role: 'user', content: 'task' },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: prose(4000) },
          { type: 'tool_use', id: 't', name: 'bash', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 't', content: 'ok' },
          { type: 'text', text: 'deploy only on Fridays' },
        ],
      },
    ];
    expect(extractCarryover(run, { format: anthropic, maxTokens: 80 })).toEqual([
      run[0],
      { role: 'user', content: [{ type: 'text', text: 'deploy only on Fridays' }] },
    ]);
  });

  it('refuses a counter that answers no number', () => {
    const counter = (): number => Number.NaN;
    expect(() => carry(history(20), { maxTokens: 100, counter })).toThrow(/what the option counter answers/);
  });

  it('carries messages of a provider as they are', () => {
    const run = [
      { role: 'user', content: 'go' },
      ...range(1, 9).flatMap((n) => [
        { role: 'assistant', content: [{ type: 'tool_use', id: `t${n}`, name: 'bash', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: `t${n}`, content: prose(300) }] },
      ]),
      { role: 'user', content: windDownNotice(95) },
    ];
    const carried = extractCarryover(run, { turns: 2, format: anthropic });
    expect(carried).toEqual([run[0], ...run.slice(-5, -1)]);
    expect(anthropic.check(carried)).toEqual([]);
  });

  it.each([{ turns: -1 }, { turns: 1.5 }, { maxTokens: 0 }, { maxTokens: Number.NaN }, { turn: 1 } as never])(
    'refuses %j',
    (options) => {
      expect(() => carry(history(2), options)).toThrow(PalimpsestError);
    },
  );
});

import { describe, expect, it } from 'vitest';
import type { ChatMessage } from '../message.ts';
import { breakEven } from '../plan/policies/break-even.ts';
import { never } from '../plan/policies/never.ts';
import { batchesOf } from './layout.ts';
import type { Context } from './run.ts';
import { costOf, simulate } from './simulate.ts';

// The figures of whole runs are in test/lab/simulate.test.ts.

const chars = (text: string): number => text.length / 4;
const SETTING = { counter: chars, systemTokens: 0 };

function contextOf(...roles: readonly ChatMessage['role'][]): Context {
  const messages = roles.map((role) => ({ role, content: 'x'.repeat(40) }));
  return { file: 'f', run: 0, format: 'messages', messages, times: [], carriedTurns: 0 };
}

describe('batchesOf', () => {
  const rolesOf = (...roles: readonly ChatMessage['role'][]): string[] =>
    batchesOf(contextOf(...roles).messages).map((batch) => batch.map(({ role }) => role).join(' '));

  it('has everything before the first reply, then each reply with what follows it', () => {
    expect(rolesOf('system', 'user', 'assistant', 'tool', 'tool', 'user', 'assistant')).toEqual([
      'system user',
      'assistant tool tool user',
      'assistant',
    ]);
  });

  it('has an empty one if nothing comes before the first reply', () => {
    expect(rolesOf('assistant', 'assistant')).toEqual(['', 'assistant', 'assistant']);
    expect(rolesOf()).toEqual(['']);
  });
});

describe('simulate', () => {
  it('has a request for each reply', () => {
    const sizes = (context: Context): number[] => simulate(context, never(), SETTING).requests.map(({ size }) => size);
    expect(sizes(contextOf('user', 'assistant', 'user', 'assistant', 'user'))).toEqual([10, 30]);
    expect(sizes(contextOf('assistant', 'assistant'))).toEqual([0, 10]);
    expect(sizes(contextOf('user'))).toEqual([]);
    expect(sizes(contextOf())).toEqual([]);
    expect(sizes({ ...contextOf('user', 'assistant', 'assistant'), carriedTurns: 2 })).toEqual([]);
  });

  it('never masks a result that answers no call', () => {
    const context = contextOf('user', 'tool', 'assistant', 'tool', 'assistant');
    const messages = context.messages.map((message) => ({ ...message, content: 'x'.repeat(4000) }));
    const policy = breakEven({ prices: 'none', window: 0 });
    const { maskedAt, placeholders } = simulate({ ...context, messages }, policy, SETTING);
    expect([maskedAt, placeholders.size]).toEqual([[Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY], 0]);
  });
});

describe('costOf', () => {
  it('bills a cached token at read and any other at write, and all at write where the cache is cold', () => {
    const requests = [
      { size: 100, cached: 0, isEpoch: false },
      { size: 150, cached: 100, isEpoch: false },
      { size: 80, cached: 40, isEpoch: true },
    ];
    const prices = { read: 0.1, write: 2 };
    expect(costOf(requests, prices)).toBeCloseTo(200 + (10 + 100) + (4 + 80), 9);
    expect(costOf(requests, prices, (index) => index === 1)).toBeCloseTo(200 + 300 + 84, 9);
  });

  it('never bills more as cached than was sent', () => {
    expect(costOf([{ size: 50, cached: 90, isEpoch: true }], { read: 0.1, write: 2 })).toBeCloseTo(5, 9);
  });
});

import { describe, expect, it } from 'vitest';
import type { ChatMessage } from '../message.ts';
import { layoutOf, sizeOf } from './layout.ts';
import type { Context } from './run.ts';

const chars = (text: string): number => text.length / 4;

const messages: ChatMessage[] = [
  { role: 'system', content: 'x'.repeat(40) },
  { role: 'user', content: 'x'.repeat(40) },
  {
    role: 'assistant',
    content: 'x'.repeat(40),
    toolCalls: [
      { id: 'a', name: 'bash', arguments: '{"a":1}!' },
      { id: 'b', name: 'read', arguments: '' },
    ],
  },
  { role: 'tool', content: 'x'.repeat(400), toolCallId: 'a' },
  { role: 'tool', content: 'x'.repeat(800), toolCallId: 'b' },
  { role: 'user', content: 'x'.repeat(20) },
  { role: 'assistant', content: 'x'.repeat(4) },
  { role: 'tool', content: 'x'.repeat(4) },
  { role: 'assistant', content: 'Done' },
  { role: 'user', content: 'Thanks' },
];
const context: Context = { file: 'f', run: 0, format: 'messages', messages, times: [], carriedTurns: 0 };

describe('sizeOf', () => {
  it('counts texts, and the names and arguments of calls', () => {
    // 10 + bash 1 + 2 + read 1
    expect(sizeOf(messages.slice(2, 3), chars)).toBe(14);
    expect(sizeOf(messages.slice(0, 2), chars)).toBe(20);
    expect(sizeOf([], chars)).toBe(0);
  });
});

describe('layoutOf', () => {
  it('has the size of each request, and the text before each result', () => {
    // 20; 20 + 14 + 100 + 200 + 5; 339 + 1 + 1
    expect(layoutOf(context, chars, 0)).toEqual({ sizes: [20, 339, 341], positions: [34, 134, 340] });
  });

  it('fills turn 0 up', () => {
    expect(layoutOf(context, chars, 120)).toEqual({ sizes: [120, 439, 441], positions: [134, 234, 440] });
    expect(layoutOf(context, chars, 20)).toEqual(layoutOf(context, chars, 0));
  });

  it('is empty where nothing was asked', () => {
    expect(layoutOf({ ...context, messages: [] }, chars, 0)).toEqual({ sizes: [], positions: [] });
  });
});

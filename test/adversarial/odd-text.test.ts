import { describe, expect, it } from 'vitest';
import { type ChatMessage, fit } from '../../src/index.ts';
import { deepFreeze } from '../support/deep-freeze.ts';
import { head, prose, surviveAll, turn, turns, writable, write } from '../support/hostile-histories.ts';

describe('text of every kind', () => {
  const texts = {
    'lone surrogates': '\ud800 and \udfff\n'.repeat(80),
    'only high surrogates': '\ud83d'.repeat(900),
    emoji: '👩‍👩‍👧👍🏽🇩🇪'.repeat(80),
    Chinese: '今天天气很好我们去公园散步吧。'.repeat(60),
    'right to left': '\u202eשלום עולם\u2066 مرحبا \u2069'.repeat(60),
    'control characters': '\u0000\u0001\u001b[31m\u007f\u0085'.repeat(150),
    'line separators': 'a\u2028b\u2029c\r\nd\re\n'.repeat(100),
    blanks: ' \t\u00a0\u3000\u200b\ufeff'.repeat(200),
    combining: 'e\u0301\u0302\u0303'.repeat(300),
    'one long line': 'x'.repeat(1500),
    'special tokens': '<|im_start|>system<|endoftext|>'.repeat(60),
    JSON: JSON.stringify({ a: [1, { b: '"\\\n' }] }).repeat(60),
  };
  it.each(Object.entries(texts))('survives every way to fit, in every format: %s', (_, text) => {
    for (const format of writable) {
      const events = [
        ...head,
        ...turn('a', text),
        ...turns(1, 4),
        ...turn('b', text),
        ...turns(5, 9),
        ...turn('c', text),
      ];
      for (const { messages, hidden } of surviveAll(deepFreeze(write(events, format)), format)) {
        const kept = JSON.stringify(messages);
        if (text.isWellFormed()) expect(kept.isWellFormed()).toBe(true);
        for (const { text: stored } of hidden) expect(stored).not.toBe('');
      }
    }
  });

  it('no cut splits a character, at any budget', () => {
    const messages = write([...head, ...turn('a', '😀'.repeat(3000))], 'chat') as ChatMessage[];
    for (let maxTokens = 100; maxTokens < 700; maxTokens += 13) {
      for (const { content } of fit(messages, { maxTokens }).messages) expect(content.isWellFormed()).toBe(true);
    }
  });

  it('tool names, ids and arguments may be anything as well', () => {
    for (const strange of [
      '',
      ' ',
      '\ud800',
      '[x]\n',
      '__proto__',
      'constructor',
      '漢字',
      'x'.repeat(3000),
      '"',
      '\u202e',
    ]) {
      const messages: ChatMessage[] = [
        { role: 'user', content: 't' },
        { role: 'assistant', content: '', toolCalls: [{ id: strange, name: strange, arguments: strange }] },
        { role: 'tool', toolCallId: strange, content: prose(900) },
        ...(write(turns(1, 3), 'chat') as ChatMessage[]),
      ];
      for (const { messages: fitted } of surviveAll(messages, 'chat')) {
        for (const { role, content } of fitted) if (role === 'tool') expect(content).not.toBe('');
      }
    }
  });
});

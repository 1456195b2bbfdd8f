import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ChatMessage, fit } from '../../src/index.ts';
import { cleanResult } from '../../src/plan/arrival/clean.ts';
import type { Shown } from '../../src/plan/arrival/shown-by.ts';
import { handleOf } from '../../src/store/handle.ts';
import { ROOT } from '../support/modules.ts';

const page = readFileSync(join(ROOT, 'docs/arrival.md'), 'utf8');
const PAIR = /<!-- cleaned: (\w+) -->\n+```text\n([\s\S]*?)\n```\n+becomes\n+```text\n([\s\S]*?)\n```/g;

describe('docs/arrival.md', () => {
  it('shows results as they are cleaned', () => {
    const pairs = [...page.matchAll(PAIR)];
    expect(pairs).toHaveLength(2);
    for (const [, shown, before = '', after] of pairs) {
      const text = before.replaceAll('␛', '\u001b').replaceAll('␍', '\r');
      expect(cleanResult(text, shown as Shown)).toBe(after);
    }
  });

  it('shows a reference as it is written', () => {
    const lines = (from: number, to: number): string =>
      Array.from({ length: to - from + 1 }, (_, i) => i + from)
        .map((n) => `${String(n).padStart(6)}\texport const value${n} = compute(${n * 7919});`)
        .join('\n');
    const read = (id: string, from: number, to: number): ChatMessage[] => [
      { role: 'assistant', content: '', toolCalls: [{ id, name: 'read_file', arguments: '{"path":"src/a.ts"}' }] },
      { role: 'tool', content: lines(from, to), name: 'read_file', toolCallId: id },
    ];
    const messages = [{ role: 'user', content: 'task' }, ...read('a', 1, 80), ...read('b', 40, 99)] as ChatMessage[];
    const sent = fit(messages, { recall: true, handleOf, tools: [{ name: 'recall' }] }).messages.at(-1)?.content ?? '';
    const [first, second] = sent.split('\n');
    expect(page).toContain([first, second, '…', sent.split('\n').at(-1)].join('\n'));
  });
});

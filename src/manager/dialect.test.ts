import { describe, expect, it } from 'vitest';
import { formats } from '../formats/detect-format.ts';
import type { FormatName } from '../message.ts';
import { type Dialect, dialectOf, type ToolCall, toDialect } from './dialect.ts';
import { replyIn } from './reply-in.test-data.ts';

const names = Object.keys(formats) as FormatName[];
const calls: readonly ToolCall[] = [
  { id: 'call_1', name: 'read', arguments: { path: 'a.ts' } },
  { id: 'call_2', name: 'list', arguments: {} },
];

describe.each(names)('the dialect of %s', (name) => {
  const dialect: Dialect<unknown> = dialectOf(name);
  const { format } = dialect;
  const results = calls.map((call, i) => ({ call, text: `output ${i}`, isError: i === 1 }));

  it('writes a task, results of parallel calls and a notice in an order that the provider takes', () => {
    const history = [
      dialect.user('Look around.'),
      ...replyIn(name, { text: 'I will.', calls }),
      ...dialect.results(results),
      dialect.notice('[a notice]'),
      ...replyIn(name, { text: 'Done.', calls: [] }),
      dialect.user('Thanks.'),
    ];
    expect(format.check(history)).toEqual([]);
    const view = format.view(history);
    const observations = view.filter(({ kind }) => kind === 'observation');
    expect(observations.map(({ text, tool }) => [text, tool])).toEqual([
      ['output 0', 'read'],
      ['output 1', 'list'],
    ]);
    expect(observations.every(({ callId }) => callId !== undefined)).toBe(true);
    expect(view.filter(({ kind }) => kind === 'user').map(({ text }) => text)).toContain('Look around.');
    expect(view.find(({ text }) => text === '[a notice]')?.kind).toBe(format.noteRole);
  });

  it('marks what failed, where the format has a mark for it', () => {
    const history = [dialect.user('x'), ...replyIn(name, { text: '', calls }), ...dialect.results(results)];
    const marked = format.view(history).filter(({ isError }) => isError);
    expect(marked.map(({ text }) => text)).toEqual(WITHOUT_MARK.has(name) ? [] : ['output 1']);
  });
});

const WITHOUT_MARK = new Set<FormatName>(['chat', 'openai-chat', 'openai-responses']);

describe('dialectOf', () => {
  it('refuses a format that is not there', () => {
    expect(() => dialectOf('smoke' as FormatName)).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }));
  });

  it('is chat where nothing is named', () => {
    expect(toDialect(undefined).format.name).toBe('chat');
    expect(toDialect('gemini').format.name).toBe('gemini');
    expect(toDialect(dialectOf('anthropic'))).toBe(dialectOf('anthropic'));
  });
});

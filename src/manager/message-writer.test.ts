import { describe, expect, it } from 'vitest';
import { replyIn } from '../../test/support/manager/reply-in.ts';
import { formats } from '../formats/detect-format.ts';
import type { FormatName } from '../message.ts';
import { messageWriter } from './message-writer.ts';
import type { ToolCall } from './tool-call.ts';

const names = Object.keys(formats) as FormatName[];
const calls: readonly ToolCall[] = [
  { id: 'call_1', name: 'read', arguments: { path: 'a.ts' } },
  { id: 'call_2', name: 'list', arguments: {} },
];

describe.each(names)('the writer for %s', (name) => {
  const writer = messageWriter<unknown>(name);
  const { format } = writer;
  const results = calls.map((call, i) => ({ call, text: `output ${i}`, isError: i === 1 }));

  it('writes a task, results of parallel calls and a notice in an order that the provider takes', () => {
    const history = [
      writer.user('Look around.'),
      ...replyIn(name, { text: 'I will.', calls }),
      ...writer.results(results),
      writer.notice('[a notice]'),
      ...replyIn(name, { text: 'Done.', calls: [] }),
      writer.user('Thanks.'),
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
    const history = [writer.user('x'), ...replyIn(name, { text: '', calls }), ...writer.results(results)];
    const marked = format.view(history).filter(({ isError }) => isError);
    expect(marked.map(({ text }) => text)).toEqual(WITHOUT_MARK.has(name) ? [] : ['output 1']);
  });
});

const WITHOUT_MARK = new Set<FormatName>(['chat', 'openai-chat', 'openai-responses', 'ollama']);

describe('messageWriter', () => {
  it('refuses a format that is not there', () => {
    expect(() => messageWriter('smoke' as FormatName)).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }));
  });

  it('is that of chat where nothing is named', () => {
    expect(messageWriter(undefined).format).toBe(formats.chat);
    expect(messageWriter('gemini').format).toBe(formats.gemini);
  });

  it("keeps a format of the user's own that has the name of one of ours", () => {
    const own = { ...formats.anthropic, noteRole: 'system' } as const;
    const writer = messageWriter(own);
    expect(writer.format).toBe(own);
    expect(writer.notice('[a notice]')).toEqual(own.note('system', '[a notice]', []));
  });
});

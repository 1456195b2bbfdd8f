import { describe, expect, it } from 'vitest';
import { masked } from '../../test/support/format-samples.ts';
import { detectFormat } from './detect-format.ts';
import { ollama } from './ollama.ts';

const call = (...tools: string[]) => ({
  role: 'assistant',
  content: '',
  tool_calls: tools.map((name) => ({ function: { name, arguments: { path: 'a.ts' } } })),
});
const result = (tool_name: string | undefined, content = 'text') => ({
  role: 'tool',
  ...(tool_name === undefined ? {} : { tool_name }),
  content,
});
const user = { role: 'user', content: 'Hurry.' };

const pairsIn = (messages: readonly object[]): (string | undefined)[][] =>
  ollama
    .view(messages as never)
    .filter(({ kind }) => kind === 'observation')
    .map(({ callId, tool, text }) => [callId, tool, text]);

describe('ollama', () => {
  it('pairs results with calls by the name of the tool, in order, where there is no id', () => {
    const messages = [
      user,
      call('read', 'list', 'read'),
      result('list', 'l'),
      result('read', 'a'),
      result('read', 'b'),
    ];
    expect(pairsIn(messages)).toEqual([
      ['function list', 'list', 'l'],
      ['function read', 'read', 'a'],
      ['function read', 'read', 'b'],
    ]);
    expect(ollama.check(messages)).toEqual([]);
  });

  it('pairs a call that has an id with a result that names only the tool', () => {
    const withId = { role: 'assistant', tool_calls: [{ id: 'c1', function: { name: 'read', arguments: {} } }] };
    const messages = [user, withId, result('read')];
    expect(pairsIn(messages)).toEqual([['c1', 'read', 'text']]);
    expect(ollama.check(messages)).toEqual([]);
  });

  it('pairs a result that names nothing with the oldest open call', () => {
    const messages = [user, call('read', 'list'), result(undefined, 'a'), result(undefined, 'b')];
    expect(pairsIn(messages)).toEqual([
      ['function read', 'read', 'a'],
      ['function list', 'list', 'b'],
    ]);
    expect(ollama.check(messages)).toEqual([]);
  });

  it('does not pair the result of a later reply with a call that was left unanswered before it', () => {
    const messages = [user, call('read', 'list'), result('list'), call('read'), result('read', 'of the second')];
    expect(ollama.check(messages).map(({ about, message }) => [about, message])).toEqual([['function read', 1]]);
    const [, second] = ollama.view(messages).filter(({ kind }) => kind === 'observation');
    expect(second).toMatchObject({ turn: 2, callId: 'function read' });
  });

  it('reports a result without a call', () => {
    expect(ollama.check([user, result('read')])).toMatchObject([{ law: 'pairs', message: 1, about: 'read' }]);
  });

  it('leaves images where they are and masks the text beside them', () => {
    const shot = { ...result('read', 'a page'), images: ['iVBORw0KGgo='] };
    const messages = [user, call('read'), shot];
    expect(masked(ollama, messages).at(-1)).toEqual({ ...shot, content: '[masked]' });
    expect(ollama.view(messages).at(-1)).toMatchObject({ bound: true, media: [{ type: 'image' }] });
  });

  it('is told from Chat Completions by arguments that are an object, or by tool_name', () => {
    expect(detectFormat([user, call('read')])).toBe('ollama');
    expect(detectFormat([user, result('read')])).toBe('ollama');
    const text = { role: 'assistant', tool_calls: [{ id: 'c', function: { name: 'read', arguments: '{}' } }] };
    expect(detectFormat([user, text])).toBe('openai-chat');
  });
});

import { describe, expect, it } from 'vitest';
import { history } from '../../../test/support/chat.ts';
import { chat } from '../../formats/chat.ts';
import type { ChatMessage } from '../../message.ts';
import { graduated } from '../../plan/policies/graduated.ts';
import { countTokens } from '../../tokens/count-tokens.ts';
import { sizeOfMessages } from '../budget/sizes.ts';
import { createMemorySession } from './memory-session.ts';

describe('createMemorySession', () => {
  it.each([
    ['no room for a result', { maxToolResultTokens: 0 }],
    ['a part that results do not have', { toolResultTruncation: 'middle' }],
    ['a hook that is none', { onWindDown: 5 }],
    ['an option of the disk', { directory: 'x' }],
    ['a format that is not there', { format: 'chatt' }],
    ['a format that has no writer', { format: { ...chat, name: 'mine' } }],
    ['a misspelt option', { maxToolResultToken: 5 }],
    ['a system prompt that is a number', { system: 4 }],
    ['tools that are a text', { tools: 'x' }],
    ['thresholds that the manager refuses', { softThreshold: 0.95 }],
  ])('refuses %s', (_what, options) => {
    expect(() => createMemorySession(options as never)).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }));
  });

  it('names itself where it complains', () => {
    expect(() => createMemorySession({ maxToolResultToken: 5 } as never)).toThrow(
      /option of createMemorySession .*did you mean maxToolResultTokens/,
    );
  });

  it('answers calls that are still open before it restarts', async () => {
    const session = createMemorySession<ChatMessage>();
    const toolCalls = [{ id: 'c', name: 'read', arguments: '{}' }];
    await session.add({ role: 'user', content: 'Read.' }, { role: 'assistant', content: '', toolCalls });
    await session.restart();
    expect(chat.check([...session.messages(), { role: 'user', content: 'next' }])).toEqual([]);
    expect(session.messages()[2]?.content).toBe('Skipped: the session was restarted');
  });

  it.each([['a text'], [5], [null], [undefined], [[{ role: 'user', content: 'Read.' }]]])(
    'refuses the message %j',
    async (wrong) => {
      const session = createMemorySession<ChatMessage>();
      const added = session.add({ role: 'user', content: 'with it' }, wrong as never);
      await expect(added).rejects.toMatchObject({ code: 'BAD_INPUT' });
      expect(session.messages()).toEqual([]);
    },
  );

  it.each([
    ['a system prompt', { system: 'Be brief.' }],
    ['blocks', { system: [{ type: 'text', text: 'Be brief.' }] }],
    ['Gemini’s', { system: { parts: [] } }],
    ['none', { system: null, tools: null }],
    ['tools by name', { tools: { read: {} } }],
    ['a list of tools', { tools: [] }],
  ])('takes %s', (_what, options) => {
    expect(createMemorySession(options)).toBeDefined();
  });

  it.each([[null], [5], [[]], ['all']])('refuses to render with %j', async (options) => {
    const session = createMemorySession<ChatMessage>();
    const refused = { code: 'BAD_OPTION', message: expect.stringContaining('the options of render') };
    await expect(session.render(options as never)).rejects.toMatchObject(refused);
  });

  it('refuses a second answer to a call, and keeps the first', async () => {
    const session = createMemorySession<ChatMessage>();
    const toolCalls = [{ id: 'c', name: 'read', arguments: '{}' }];
    await session.add({ role: 'user', content: 'Read.' }, { role: 'assistant', content: '', toolCalls });
    const result = { call: { id: 'c', name: 'read', arguments: {} }, text: 'done', isError: false };
    await session.answer(result);
    await expect(session.answer({ ...result, text: 'again' })).rejects.toMatchObject({ code: 'BAD_INPUT' });
    expect(session.messages()[2]?.content).toBe('done');
    expect(session.messages()).toHaveLength(3);
  });

  it('has its results whole, and shows them cut', async () => {
    const session = createMemorySession<ChatMessage>({ maxToolResultTokens: 20 });
    const toolCalls = [{ id: 'c', name: 'read', arguments: '{}' }];
    const content = 'some words '.repeat(100);
    await session.add(
      { role: 'user', content: 'Read.' },
      { role: 'assistant', content: '', toolCalls },
      { role: 'tool', name: 'read', toolCallId: 'c', content },
    );
    expect(session.messages().at(-1)?.content).toBe(content);
    expect(session.view().at(-1)?.content).toMatch(/^some words .*\[truncated: kept first ~20 of ~/s);
  });

  it('stays within the limit of its policy and within that of a request, whichever is smaller', async () => {
    const session = createMemorySession<ChatMessage>({ policy: graduated({ maxInputTokens: 3000 }) });
    await session.add(...history(40));
    const roomy = await session.render({ maxHistoryTokens: 9000 });
    expect(roomy.report).toMatchObject({ decision: 'fits', omitted: 0 });
    expect(sizeOfMessages(session.view(), chat, countTokens)).toBeLessThanOrEqual(3000);
    const tight = await session.render({ maxHistoryTokens: 900 });
    expect(tight.report.decision).toBe('cut');
    expect(tight.report.historyTokens.after).toBeLessThanOrEqual(900);
  });
});

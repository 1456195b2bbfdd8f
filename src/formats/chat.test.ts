import { describe, expect, it } from 'vitest';
import { masked } from '../../test/support/format-samples.ts';
import type { ChatMessage } from '../message.ts';
import { chat } from './chat.ts';

const call: ChatMessage = { role: 'assistant', content: 'run ls', name: 'bash', pairId: 'p1', pairRole: 'call' };
const result: ChatMessage = { role: 'tool', content: 'a b c', pairId: 'p1', pairRole: 'result', tags: ['unresolved'] };

describe('chat', () => {
  it('pairs a call with its result by pairId', () => {
    expect(chat.view([call, result])).toMatchObject([
      { kind: 'action', callId: 'p1', tool: 'bash', text: 'run ls', path: ['content'] },
      { kind: 'observation', callId: 'p1', tool: 'bash', tags: ['unresolved'] },
    ]);
    expect(masked(chat, [call, result])[1]).toEqual({ ...result, content: '[masked]' });
  });

  it('counts a call once that is named by pairId and in toolCalls', () => {
    const both: ChatMessage = { ...call, toolCalls: [{ id: 'p1', name: 'bash', arguments: '{}' }] };
    expect(chat.view([both, result]).map(({ kind }) => kind)).toEqual(['reasoning', 'action', 'observation']);
    expect(chat.check([both, result])).toEqual([]);
  });

  it('lets a result marked as one be edited though its call is gone', () => {
    expect(chat.view([result])[0]?.callId).toBe('p1');
    expect(chat.view([{ role: 'tool', content: 'x', pairRole: 'result' }])[0]?.callId).toBe('unnamed');
  });

  it('reports a result without a call and a call without a result', () => {
    const orphan = chat.check([{ role: 'tool', content: 'x', toolCallId: 'c9' }]);
    expect(orphan).toMatchObject([{ law: 'pairs', message: 0, about: 'c9' }]);
    const missing = chat.check([call, { role: 'assistant', content: 'Done.' }]);
    expect(missing).toMatchObject([{ law: 'pairs', message: 0, about: 'p1' }]);
  });

  it('accepts a user message between a call and its result', () => {
    expect(chat.check([call, { role: 'user', content: 'Hurry.' }, result])).toEqual([]);
  });
});

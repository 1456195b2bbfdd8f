import { describe, expect, it } from 'vitest';
import { openaiChat } from '../formats/openai-chat.ts';
import { slidingWindow } from '../plan/policies/sliding-window.ts';
import { createMemoryStore } from '../store/memory-store.ts';
import { type AdapterOptions, createAdapter } from './adapter.ts';

const messages = [
  { role: 'user', content: 'Go.' },
  ...[1, 2, 3, 4].flatMap((turn) => [
    {
      role: 'assistant',
      tool_calls: [{ id: `c${turn}`, type: 'function', function: { name: 'read', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: `c${turn}`, content: `line of ${turn}\n`.repeat(100) },
  ]),
];

/** The session under which a step is reported and its texts are stored, and how many they are. */
async function sessionWith(session: NonNullable<AdapterOptions['session']>, ofFramework?: string) {
  const store = createMemoryStore();
  const reported: (string | undefined)[] = [];
  const onReport: AdapterOptions['onReport'] = (_report, about) => void reported.push(about.session);
  const adapter = createAdapter('palimpsest', { store, session, policy: slidingWindow({ turns: 1 }), onReport });
  await adapter.fit({ messages, format: openaiChat as never, session: ofFramework, canRequire: false, step: {} });
  const [id = ''] = reported;
  let texts = 0;
  if (id !== '') for await (const _ of store.list(id)) texts += 1;
  return { id, texts };
}

describe('the option session', () => {
  it('may be a function that answers any text, such as the id of a user', async () => {
    const ids = ['user:42', 'user/42', 'Zoë@example.org', 'x'.repeat(500)];
    const found = await Promise.all(ids.map((id) => sessionWith(() => id)));
    expect(found.map(({ texts }) => texts)).toEqual([3, 3, 3, 3]);
    expect(new Set(found.map(({ id }) => id)).size).toBe(4);
    expect(found[0]?.id).toMatch(/^user_42-[a-z2-7]{16}$/);
    expect((await sessionWith(() => 'user:42')).id).toBe(found[0]?.id);
    expect((await sessionWith(() => 'chat-7')).id).toBe('chat-7');
  });

  it('leaves it to the framework where it answers undefined', async () => {
    expect((await sessionWith(() => undefined, 'thread-1')).id).toBe('thread-1');
    expect((await sessionWith(() => undefined, '')).id).toBe('');
  });

  it.each(['', 7])('is refused with its reason where it answers %j', async (id) => {
    const expected =
      /^Expected what the option session answers to be a text that is not empty, or undefined but found /;
    await expect(sessionWith(() => id as string)).rejects.toThrow(expected);
  });
});

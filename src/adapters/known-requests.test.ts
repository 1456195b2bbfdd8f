import { describe, expect, it } from 'vitest';
import { adapterLimits } from '../limits.ts';
import { KnownRequests } from './known-requests.ts';

/** Made again for every request, as frameworks do. */
const messages = (count: number, name = 'a') =>
  Array.from({ length: count }, (_, i) => ({
    role: 'user',
    content: [
      { type: 'text', text: `${name} ${i}` },
      { data: new Uint8Array([1, i]) },
      { url: new URL(`http://x/${i}`) },
    ],
  }));
const tools = (name: string) => [{ name, parameters: {} }];

/** How many messages of a request are the very objects of an earlier one. */
const shared = (now: readonly unknown[], before: readonly unknown[]): number =>
  now.filter((message, i) => message === before[i]).length;

describe('KnownRequests', () => {
  it('gives equal messages as the objects of the request before, and new ones as they are', () => {
    const known = new KnownRequests();
    const first = known.reuse({ messages: messages(5) }, undefined);
    const given = messages(7);
    const second = known.reuse({ messages: given }, undefined);
    expect(second.messages).toEqual(given);
    expect(shared(second.messages, first.messages)).toBe(5);
    expect(second.messages[6]).toBe(given[6]);
  });

  it('stops at the first message that differs', () => {
    const known = new KnownRequests();
    const first = known.reuse({ messages: messages(5) }, undefined);
    const changed = messages(5).with(2, { role: 'user', content: [] });
    expect(shared(known.reuse({ messages: changed }, undefined).messages, first.messages)).toBe(2);
  });

  it('gives equal tools as the object of the request before, and others as they are', () => {
    const known = new KnownRequests();
    const first = known.reuse({ messages: messages(1), tools: tools('read') }, undefined);
    expect(known.reuse({ messages: messages(2), tools: tools('read') }, undefined).tools).toBe(first.tools);
    expect(known.reuse({ messages: messages(3), tools: tools('edit') }, undefined).tools).toEqual(tools('edit'));
  });

  it('knows each session by itself', () => {
    const known = new KnownRequests();
    const first = known.reuse({ messages: messages(3) }, 'one');
    expect(shared(known.reuse({ messages: messages(3) }, 'two').messages, first.messages)).toBe(0);
    expect(shared(known.reuse({ messages: messages(3) }, 'one').messages, first.messages)).toBe(3);
  });

  it('forgets the conversation unused for longest', () => {
    const known = new KnownRequests();
    const first = known.reuse({ messages: messages(3) }, undefined);
    for (let i = 0; i < adapterLimits.conversations; i++) known.reuse({ messages: messages(3, `b${i}`) }, undefined);
    expect(shared(known.reuse({ messages: messages(3) }, undefined).messages, first.messages)).toBe(0);
  });

  it('takes messages that differ in any way for others', () => {
    const pairs: readonly (readonly [unknown, unknown])[] = [
      [{ a: 1 }, { a: 1, b: undefined }],
      [{ a: 1 }, { b: 1 }],
      [{ a: [] }, { a: {} }],
      [{ a: null }, { a: {} }],
      [{ a: new Date(1) }, { a: new Date(1) }],
      [{ a: new Uint8Array([1]) }, { a: new Uint8Array([2]) }],
      [{ a: new URL('http://x/1') }, { a: new URL('http://x/2') }],
      [{ a: Number.NaN }, { a: 0 }],
    ];
    for (const [before, now] of pairs) {
      const known = new KnownRequests();
      known.reuse({ messages: [before] }, undefined);
      expect(known.reuse({ messages: [now] }, undefined).messages[0]).toBe(now);
    }
  });
});

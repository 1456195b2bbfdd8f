import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createMemoryStore } from './memory-store.ts';
import { searchTexts } from './search-texts.ts';
import type { Match, Stored } from './store.ts';

async function collect(matches: AsyncIterable<Match>): Promise<string[]> {
  const all: string[] = [];
  for await (const { line, text } of matches) all.push(`${line}:${text}`);
  return all;
}

/** One text with a match, then others forever. */
async function* endless(): AsyncGenerator<Stored> {
  for (let i = 0; ; i++) {
    const text = i === 0 ? 'needle' : 'hay\n'.repeat(100_000);
    yield { handle: `p_${i}`, text, bytes: text.length, refs: [] };
    await setTimeout(20);
  }
}

describe('searchTexts', () => {
  it('stops when its time is over, with the matches so far: a plain text and a pattern', async () => {
    const search = async (regex: boolean): Promise<void> => {
      const seen: string[] = [];
      const work = async (): Promise<void> => {
        for await (const { text } of searchTexts(endless(), 'needle', { regex })) seen.push(text);
      };
      await expect(work()).rejects.toMatchObject({ code: 'TIMED_OUT' });
      expect(seen).toEqual(['needle']);
    };
    await Promise.all([search(false), search(true)]);
  }, 60_000);

  it('reads no text after the last match that is asked for', async () => {
    expect(await collect(searchTexts(endless(), 'needle', { limit: 1 }))).toEqual(['1:needle']);
    expect(await collect(searchTexts(endless(), 'needle', { limit: 0 }))).toEqual([]);
  });

  it.each([false, true])('counts the lines of a large text through all its parts (regex %s)', async (regex) => {
    const store = createMemoryStore();
    const lines = Array.from({ length: 60_000 }, (_, i) => `line ${i + 1} of many`);
    lines[29_999] = `${'x'.repeat(700_000)} of one`;
    const text = lines.join('\r\n');
    await store.put(text, { session: 's' });
    await store.put(`${text}\n`, { session: 's' });
    const expected = lines.map((line, i) => `${i + 1}:${line}`);
    expect(await collect(store.search(' of ', { regex }))).toEqual([...expected, ...expected]);
  });

  it('finds a plain text that is longer than V8 searches in linear time', async () => {
    const store = createMemoryStore();
    const query = `${'a'.repeat(200)}(${'a'.repeat(200)}`;
    await store.put(`one\n${query}\n${query.replace('(', 'b')}`, { session: 's' });
    expect(await collect(store.search(query))).toEqual([`2:${query}`]);
  });

  it('stops a long plain text that would take minutes', async () => {
    const store = createMemoryStore();
    await store.put('a'.repeat(20_000_000), { session: 's' });
    const query = `${'a'.repeat(4999)}b${'a'.repeat(4999)}`;
    await expect(collect(store.search(query))).rejects.toMatchObject({ code: 'TIMED_OUT' });
  });
});

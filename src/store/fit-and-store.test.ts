import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { history } from '../../test/support/chat.ts';
import { slidingWindow } from '../plan/policies/sliding-window.ts';
import { fitAndStore } from './fit-and-store.ts';
import { createMemoryStore } from './memory-store.ts';
import { openStore } from './open-store.ts';

const policy = slidingWindow({ turns: 3 });

describe('fitAndStore', () => {
  it('has stored everything that its placeholders name when it resolves', async () => {
    const path = mkdtempSync(join(tmpdir(), 'palimpsest-fit-'));
    const store = await openStore({ path });
    const messages = history(10);
    const { messages: fitted, hidden } = await fitAndStore(messages, { store, session: 'one', policy });
    const shown = fitted.flatMap(({ content }) => content.match(/p_[a-z2-7]{26}/g) ?? []);
    expect(new Set(shown)).toEqual(new Set(hidden.map(({ handle }) => handle)));
    expect(shown).toHaveLength(7);
    // Another process sees it at once.
    const reader = await openStore({ path, mode: 'read' });
    for (const { handle, text } of hidden) expect((await reader.get(handle))?.text).toBe(text);
    await reader.close();
    await store.close();
    rmSync(path, { recursive: true });
  });

  it('writes house placeholders with handles, whatever the words of the policy', async () => {
    const { messages } = await fitAndStore(history(5), { store: createMemoryStore(), policy });
    expect(messages.filter(({ content }) => /masked · p_[a-z2-7]{26}\]$/.test(content))).toHaveLength(2);
  });

  it('shows no handles with recall: false, and stores the texts and turns all the same', async () => {
    const store = createMemoryStore();
    const options = { store, session: 'one', policy: slidingWindow({ turns: 3 }), recall: false };
    const { messages, hidden } = await fitAndStore(history(10), options);
    expect(JSON.stringify(messages)).not.toContain('p_');
    expect(hidden).toHaveLength(7);
    for (const { handle, text } of hidden) expect((await store.get(handle))?.text).toBe(text);
    const handles: string[] = [];
    for await (const { results = [] } of store.turns('one')) handles.push(...results.map(({ handle }) => handle));
    expect(handles).toEqual(hidden.map(({ handle }) => handle));
  });

  it('puts each text once for each session, and again for another', async () => {
    const store = createMemoryStore();
    let put = 0;
    const counting: Pick<typeof store, 'putMany'> = {
      putMany(items) {
        put += items.length;
        return store.putMany(items);
      },
    };
    const messages = history(8);
    await fitAndStore(messages, { store: counting, session: 'a', policy });
    await fitAndStore(messages, { store: counting, session: 'a', policy });
    expect(put).toBe(5);
    await fitAndStore(messages, { store: counting, session: 'b', policy });
    expect(put).toBe(10);
  });

  it('fails where the store fails, and puts the texts again the next time', async () => {
    const store = createMemoryStore();
    let fails = true;
    const failing: Pick<typeof store, 'putMany'> = {
      putMany: (items) => (fails ? Promise.reject(new Error('disk full')) : store.putMany(items)),
    };
    await expect(fitAndStore(history(8), { store: failing, policy })).rejects.toThrow('disk full');
    fails = false;
    const { hidden } = await fitAndStore(history(8), { store: failing, policy });
    for (const { handle } of hidden) expect(await store.get(handle)).toBeDefined();
  });

  it('stores again what was deleted, so that what it shows can be recalled', async () => {
    const path = mkdtempSync(join(tmpdir(), 'palimpsest-fit-'));
    for (const store of [createMemoryStore(), await openStore({ path })]) {
      const options = { store, session: 'one', policy };
      const { hidden } = await fitAndStore(history(10), options);
      await store.delete('one');
      expect(await store.get(hidden[0]?.handle ?? '')).toBe(undefined);
      const { hidden: again } = await fitAndStore(history(10), options);
      expect(again).toHaveLength(7);
      for (const { handle, text } of again) expect((await store.get(handle))?.text).toBe(text);
      expect((await store.stats()).turns).toBe(11);
      await store.close();
    }
    rmSync(path, { recursive: true });
  });

  it('keeps a session in use that shows only what was stored long ago', async () => {
    const clock = { now: 0 };
    const store = createMemoryStore({ now: () => clock.now });
    const options = { store, session: 'live', policy, recordTurns: false };
    const { hidden } = await fitAndStore(history(10), options);
    await store.put('idle', { session: 'idle' });
    for (let day = 0; day < 40; day++) {
      clock.now += 86_400_000;
      await fitAndStore(history(10), options);
    }
    expect(await store.prune({ maxAgeMs: 30 * 86_400_000 })).toMatchObject({ sessions: 1, texts: 1 });
    for (const { handle, text } of hidden) expect((await store.get(handle))?.text).toBe(text);
  });

  it.each([[{}], [{ store: {} }], [{ store: createMemoryStore(), session: '../x' }]])(
    'refuses options such as %j',
    async (options) => {
      await expect(fitAndStore(history(2), options as never)).rejects.toMatchObject({ code: 'BAD_OPTION' });
    },
  );
});

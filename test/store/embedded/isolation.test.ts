import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openWithLimits } from '../../../src/store/embedded/open-with-limits.ts';
import { handleOf } from '../../../src/store/handle.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { collect, RESTLESS, textOf } from '../../support/store/stores.ts';

const root = mkdtempSync(join(tmpdir(), 'palimpsest-isolation-'));
afterAll(() => rmSync(root, { recursive: true }));
let stores = 0;
const freshPath = (): string => join(root, `store-${stores++}`);

const rightsOf = (path: string): string => (lstatSync(path).mode & 0o777).toString(8);

function allIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .sort();
}

const STRANGE = ['../escape', '/etc/passwd', '..', '.', 'a/b', 'a\\b', 'a\0b', '', 'current', 'lock', 'C:x', 'ü', '~'];

describe('rights', () => {
  it('files are 0600 in directories 0700, whatever was done, and whatever the umask', async () => {
    const path = join(freshPath(), 'deep', 'er');
    const umask = process.umask(0);
    try {
      const store = await openWithLimits({ path }, RESTLESS);
      for (let i = 0; i < 20; i++) await store.put(textOf(i, 900), { session: 's' });
      const seen = new Set(allIn(path).map((name) => [lstatSync(name).isDirectory(), rightsOf(name)].join()));
      await store.gc({ force: true });
      await store.close();
      for (const name of allIn(path)) seen.add([lstatSync(name).isDirectory(), rightsOf(name)].join());
      expect([...seen].sort()).toEqual(['false,600', 'true,700']);
      expect(rightsOf(path)).toBe('700');
      expect(rightsOf(join(path, '..'))).toBe('700');
    } finally {
      process.umask(umask);
    }
  });
});

describe('nothing outside the folder', () => {
  it('is written or read, whatever a handle, a session or a tenant looks like', async () => {
    const above = freshPath();
    const path = join(above, 'store');
    mkdirSync(above);
    writeFileSync(join(above, 'escape'), 'a secret');
    const store = await openStore({ path });
    for (const strange of STRANGE) {
      expect(await store.get(strange)).toBe(undefined);
      expect(await store.get(`p_${strange}`)).toBe(undefined);
      const isSession = /^[A-Za-z0-9_-]+$/.test(strange);
      const about = { session: strange, turn: 1, tool: strange };
      if (isSession) await store.put(strange, about);
      else await expect(store.put(strange, about)).rejects.toMatchObject({ code: 'BAD_OPTION' });
      await store.put(strange, { tool: strange });
      if (!isSession) {
        await expect(openStore({ path, tenant: strange })).rejects.toMatchObject({ code: 'BAD_OPTION' });
        await expect(collect(store.list(strange))).rejects.toMatchObject({ code: 'BAD_OPTION' });
        await expect(store.delete(strange)).rejects.toMatchObject({ code: 'BAD_OPTION' });
        await expect(store.turn(strange, 1)).rejects.toMatchObject({ code: 'BAD_OPTION' });
      } else await (await openStore({ path, tenant: strange })).close();
    }
    await store.gc({ force: true });
    await store.close();
    expect(readdirSync(above).sort()).toEqual(['escape', 'store']);
    expect(readdirSync(path).sort()).toEqual(['current', 'default', 'lock']);
    expect(readFileSync(join(above, 'escape'), 'utf8')).toBe('a secret');
  });

  it('is reached over a symbolic link in the place of a file', async () => {
    for (const kind of [
      '1.log',
      '1.index',
      '1.meta',
      '1.meta.next',
      '1.journal',
      '1.journal.next',
      'current',
      '1.current',
      '2.current',
      'lock',
    ]) {
      const path = freshPath();
      const folder = join(path, 'default');
      const store = await openStore({ path });
      await store.put('text', { session: 's' });
      await store.close();
      const outside = join(root, `outside-${stores}`);
      const name = join(folder, kind);
      if (existsSync(name)) renameSync(name, outside);
      else writeFileSync(outside, 'outside');
      const before = readFileSync(outside);
      symlinkSync(outside, name);
      for (const mode of ['read', 'write'] as const) {
        try {
          const again = await openStore({ path, mode });
          expect([kind, (await again.get(handleOf('text')))?.text]).toEqual([kind, 'text']);
          if (mode === 'write') await again.put(`more ${kind}`, { session: 's' });
          await again.close();
        } catch (error) {
          // The log cannot be done without, and whether a lock is held nobody knows.
          const expected = { '1.log': 'STORE_DAMAGED', lock: 'STORE_LOCKED' }[kind];
          expect([kind, (error as { code?: string }).code]).toEqual([kind, expected]);
        }
      }
      expect(readFileSync(outside).equals(before)).toBe(true);
    }
  });

  it('is reached over a symbolic link in the place of a tenant’s folder', async () => {
    const path = freshPath();
    const outside = freshPath();
    mkdirSync(outside, { mode: 0o755 });
    mkdirSync(path);
    symlinkSync(outside, join(path, 'default'));
    for (const mode of ['read', 'write'] as const)
      await expect(openStore({ path, mode })).rejects.toMatchObject({ code: 'STORE_DAMAGED' });
    expect([readdirSync(outside), rightsOf(outside)]).toEqual([[], '755']);
  });
});

describe('two sessions that share a text', () => {
  it.each([
    ['a', 'b'],
    ['b', 'a'],
  ])('deleting %s leaves %s whole, also after a compaction and when it is opened again', async (gone, left) => {
    const path = freshPath();
    const store = await openStore({ path });
    for (const session of ['a', 'b']) {
      await store.put('shared', { session, turn: 1 });
      await store.put(`of ${session}`, { session, turn: 2 });
    }
    const check = async (opened: typeof store): Promise<void> => {
      expect((await collect(opened.list(left))).map(({ text }) => text)).toEqual(['shared', `of ${left}`]);
      expect((await opened.get(handleOf('shared')))?.refs).toEqual([{ session: left, turn: 1 }]);
      expect(await opened.get(handleOf(`of ${gone}`))).toBe(undefined);
      expect(await collect(opened.list(gone))).toEqual([]);
    };
    await store.delete(gone);
    await check(store);
    await store.gc({ force: true });
    await check(store);
    await store.close();
    const again = await openStore({ path });
    await check(again);
    await again.close();
  });
});

describe('delete', () => {
  it('with purge leaves the bytes of a text in no file', async () => {
    const path = freshPath();
    const store = await openWithLimits({ path }, RESTLESS);
    const secret = 'correct horse battery staple';
    await store.put(`${secret} once`, { session: 'gone', tool: 'a tool of gone' });
    await store.put(`${secret} twice \ud800`, { session: 'gone' });
    await store.putTurn({
      session: 'gone',
      turn: 1,
      reasoning: secret,
      action: '',
      observation: secret,
      masked: false,
    });
    await store.putNote({ session: 'gone', name: 'a-note-of-gone', text: `${secret} \udc00` });
    for (let i = 0; i < 10; i++) await store.put(textOf(i, 500), { session: 'stays' });
    const holds = (text: string): boolean =>
      allIn(path).some((name) => {
        const bytes = lstatSync(name).isFile() ? readFileSync(name) : Buffer.alloc(0);
        return bytes.includes(text) || bytes.includes(Buffer.from(text, 'utf16le'));
      });
    expect([holds(secret), holds('a-note-of-gone')]).toEqual([true, true]);
    await store.delete('gone', { purge: true });
    expect([holds(secret), holds('a tool of gone'), holds('a-note-of-gone')]).toEqual([false, false, false]);
    expect(holds(textOf(3, 500))).toBe(true);
    await store.close();
    expect(holds(secret)).toBe(false);
  });

  it('compacts by itself when a quarter is dead', async () => {
    const path = freshPath();
    const store = await openStore({ path });
    for (let i = 0; i < 30; i++) await store.put(textOf(i, 100_000), { session: i % 2 ? 'stays' : 'gone' });
    const before = await store.stats();
    await store.delete('gone');
    await store.close();
    const again = await openStore({ path });
    const after = await again.stats();
    expect(after.diskBytes ?? 0).toBeLessThan(0.6 * (before.diskBytes ?? 0));
    expect([after.texts, after.deadBytes]).toEqual([15, 0]);
    await again.close();
  });
});

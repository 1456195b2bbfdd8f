import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Lock } from '../../../src/store/embedded/lock.ts';
import { openWithLimits } from '../../../src/store/embedded/open-with-limits.ts';
import { handleOf } from '../../../src/store/handle.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { ensureBuilt, ROOT } from '../../support/modules.ts';
import { ChildStore } from '../../support/store/child-store.ts';
import { RESTLESS, textOf } from '../../support/store/stores.ts';

const root = mkdtempSync(join(tmpdir(), 'palimpsest-processes-'));
let stores = 0;
const freshPath = (): string => join(root, `store-${stores++}`);

beforeAll(ensureBuilt);
afterAll(() => rmSync(root, { recursive: true }));

describe('a process that is killed', () => {
  // 1,000 times by `npm run crash`.
  it('50 times, at any moment, loses nothing that it acknowledged', () => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['scripts/crash.js', '50', String(Date.now() % 1e5)],
      {
        cwd: ROOT,
        encoding: 'utf8',
      },
    );
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain('50 kills');
  });

  it('leaves a lock that is taken over at once', async () => {
    const path = freshPath();
    const child = await ChildStore.open(path, 'write');
    await child.call('put', 'text', { session: 's' });
    await child.end();
    expect(existsSync(join(path, 'default/lock'))).toBe(true);
    const store = await openStore({ path });
    expect((await store.get(handleOf('text')))?.text).toBe('text');
    expect(JSON.parse(readFileSync(join(path, 'default/lock'), 'utf8')).pid).toBe(process.pid);
    await store.close();
    expect(existsSync(join(path, 'default/lock'))).toBe(false);
  });
});

describe('writer and readers', () => {
  it('in processes of their own: a reader finds a text the moment it was acknowledged, and none that was deleted', async () => {
    const path = freshPath();
    const writer = await ChildStore.open(path, 'write', RESTLESS);
    await writer.call('put', 'first', { session: 's' });
    const readers = await Promise.all([1, 2].map(() => ChildStore.open(path, 'read', RESTLESS)));
    for (let i = 0; i < 120; i++) {
      const session = `s${i % 4}`;
      const text = textOf(i, (i * 37) % 3000);
      await writer.call('put', text, { session });
      await writer.call('putNote', { session, name: 'count', text: `${i}` });
      for (const reader of readers) {
        expect((await reader.call('get', handleOf(text))).answer).toMatchObject({ text, refs: [{ session }] });
        expect((await reader.call('note', session, 'count')).answer).toBe(`${i}`);
      }
      if (i % 10 === 9) await writer.call('gc', { force: true });
      if (i % 15 !== 14) continue;
      await writer.call('delete', session);
      for (const reader of readers) {
        expect((await reader.call('get', handleOf(text))).answer).toBe(null);
        expect((await reader.call('note', session, 'count')).answer).toBe(null);
      }
    }
    for (const one of [...readers, writer]) expect((await one.call('verify')).answer).toEqual([]);
    const counts = await Promise.all([...readers, writer].map(async (one) => (await one.call('stats')).answer));
    const [of, ...others] = counts.map((answer) => (answer as { texts: number }).texts);
    expect(others).toEqual([of, of]);
    await Promise.all([...readers, writer].map((one) => one.end()));
  });

  it('a reader that is busy while the writer is busy sees only whole texts', async () => {
    const path = freshPath();
    const store = await openWithLimits({ path }, RESTLESS);
    await store.put('first', { session: 's' });
    const reader = await ChildStore.open(path, 'read', RESTLESS);
    const acknowledged: string[] = ['first'];
    let isDone = false;
    const writing = (async () => {
      for (let i = 0; i < 400; i++) {
        const text = textOf(i, (i * 211) % 20_000);
        await store.put(text, { session: 's' });
        acknowledged.push(text);
        if (i % 60 === 59) await store.gc({ force: true });
      }
      isDone = true;
    })();
    let looks = 0;
    while (!isDone) {
      const text = acknowledged[looks++ % 2 ? acknowledged.length - 1 : looks % acknowledged.length] as string;
      const { answer } = await reader.call('get', handleOf(text));
      expect((answer as { text: string } | null)?.text).toBe(text);
    }
    await writing;
    expect(looks).toBeGreaterThan(20);
    await reader.end();
    await store.close();
  });

  it('a reader goes on in the next generation, also if the writer was killed before it could say so', async () => {
    const path = freshPath();
    const writer = await openWithLimits({ path }, RESTLESS);
    await writer.put('old', { session: 's' });
    await writer.close();
    const reader = await openStore({ path, mode: 'read' });
    // As a kill between the new name in `current` and the last record of the old log leaves it.
    const old = readFileSync(join(path, 'default/1.log'));
    const second = await openWithLimits({ path }, RESTLESS);
    await second.gc({ force: true });
    await second.close();
    writeFileSync(join(path, 'default/1.log'), old);
    const late = await openStore({ path, mode: 'read' });
    const third = await openWithLimits({ path }, RESTLESS);
    await third.put('new', { session: 's' });
    for (const one of [reader, late]) {
      expect((await one.get(handleOf('new')))?.text).toBe('new');
      expect(await one.verify()).toEqual([]);
      await one.close();
    }
    expect(existsSync(join(path, 'default/1.log'))).toBe(false);
    await third.close();
  });

  it('a reader goes on in a store that was made again, or put back from a copy, under the same name', async () => {
    const path = freshPath();
    const copy = freshPath();
    const before = await openStore({ path });
    await before.put('kept in the copy', { session: 's' });
    await before.close();
    cpSync(path, copy, { recursive: true });
    const reader = await openStore({ path, mode: 'read' });
    for (const [text, isCopied] of [
      ['put into a new store', false],
      ['put behind a copy', true],
    ] as const) {
      rmSync(path, { recursive: true });
      if (isCopied) cpSync(copy, path, { recursive: true });
      const writer = await openStore({ path });
      await writer.put(text, { session: 's' });
      for (let n = 0; n < 300 && !(await reader.get(handleOf(text))); n++) await sleep(10);
      const texts = ['kept in the copy', text].map(handleOf);
      expect((await reader.getMany(texts)).map((stored) => stored?.text)).toEqual([
        isCopied ? 'kept in the copy' : undefined,
        text,
      ]);
      await writer.close();
    }
    await reader.close();
  });

  it('a second writer is told who holds the store, and a reader writes nothing', async () => {
    const path = freshPath();
    const writer = await ChildStore.open(path, 'write');
    const second = await ChildStore.open(path, 'write');
    expect(second.opened.code).toBe('STORE_LOCKED');
    expect(second.opened.message).toContain(`process ${writer.opened.pid} `);
    await expect(openStore({ path })).rejects.toMatchObject({ code: 'STORE_LOCKED' });
    const reader = await openStore({ path, mode: 'read' });
    for (const work of [
      () => reader.put('x', {}),
      () => reader.delete('s'),
      () => reader.gc(),
      () => reader.putMany([]),
      () => reader.putTurns([]),
      () => reader.putNote({ session: 's', name: 'n', text: '' }),
    ])
      await expect(work()).rejects.toMatchObject({ code: 'BAD_OPTION' });
    await reader.close();
    await writer.end();
    await second.end();
  });
});

it('a process without WebAssembly has all stores but this one, and is told so', () => {
  const script = `
    import { createMemoryStore, openStore } from './dist/store/index.js';
    const memory = createMemoryStore();
    const { text } = await memory.get(await memory.put('kept', {}));
    const error = await openStore({ path: ${JSON.stringify(freshPath())} }).catch((error) => error);
    console.log(text, error.code, error.message);
  `;
  const args = ['--jitless', '--input-type=module', '--eval', script];
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
  expect(stdout, stderr).toMatch(/^kept STORE_FAILED Expected a process with WebAssembly/);
});

describe('the lock', () => {
  const lockIn = (own: object | string, ageMs: number): string => {
    const folder = freshPath();
    mkdirSync(folder);
    const path = join(folder, 'lock');
    writeFileSync(path, typeof own === 'string' ? own : JSON.stringify(own));
    const time = new Date(Date.now() - ageMs);
    utimesSync(path, time, time);
    return path;
  };
  const own = (): object => {
    const path = join(freshPath(), 'lock');
    mkdirSync(join(path, '..'));
    const lock = Lock.take(path);
    const holder = JSON.parse(readFileSync(path, 'utf8'));
    lock.release();
    return holder;
  };

  it.each([
    ['another host', { host: 'elsewhere' }],
    ['another boot', { boot: 'earlier' }],
  ])('of %s is respected while its heart beats, and taken over after 30 s without', (_, difference) => {
    const fresh = lockIn({ ...own(), ...difference }, 20_000);
    expect(() => Lock.take(fresh)).toThrow(expect.objectContaining({ code: 'STORE_LOCKED' }));
    const old = lockIn({ ...own(), ...difference }, 31_000);
    Lock.take(old).release();
    expect(existsSync(old)).toBe(false);
  });

  it('of a process that is gone, or whose number another has now, is taken over at once', () => {
    for (const difference of [{ pid: 2 ** 22 + 1 }, { pid: process.pid, started: '1' }]) {
      const path = lockIn({ ...own(), ...difference }, 0);
      Lock.take(path).release();
    }
    const mine = lockIn(own(), 3_600_000);
    expect(() => Lock.take(mine)).toThrow(expect.objectContaining({ code: 'STORE_LOCKED' }));
  });

  it('that cannot be read is respected while it is fresh: it may be somebody’s', () => {
    expect(() => Lock.take(lockIn('', 1000))).toThrow(expect.objectContaining({ code: 'STORE_LOCKED' }));
    Lock.take(lockIn('', 31_000)).release();
  });

  it('is not broken by one who found it dead but came late', () => {
    const path = lockIn({ ...own(), pid: 2 ** 22 + 1 }, 0);
    // Another is about to break it.
    const other = Lock.take(`${path}.break`);
    expect(() => Lock.take(path)).toThrow(expect.objectContaining({ code: 'STORE_LOCKED' }));
    other.release();
    Lock.take(path).release();
  });

  it('that was lost is taken again when it is free, and nothing is lost by that', async () => {
    const path = freshPath();
    const file = join(path, 'default/lock');
    const store = await openWithLimits({ path }, { retryMs: 20 });
    await store.put('before', { session: 's' });
    rmSync(file);
    await expect(store.put('refused', { session: 's' })).rejects.toMatchObject({ code: 'STORE_LOCKED' });
    const other = await openStore({ path });
    await other.put('of the other', { session: 's' });
    for (let n = 0; n < 10; n++) {
      await expect(store.put('refused', { session: 's' })).rejects.toMatchObject({ code: 'STORE_LOCKED' });
      await sleep(10);
    }
    await other.put('of the other too', { session: 's' });
    await other.close();
    for (let n = 0; n < 500; n++) {
      if (await store.put('after', { session: 's' }).catch(() => undefined)) break;
      await sleep(10);
    }
    const texts = ['before', 'of the other', 'of the other too', 'after'];
    expect((await store.getMany(texts.map(handleOf))).map((stored) => stored?.text)).toEqual(texts);
    await expect(openStore({ path })).rejects.toMatchObject({ code: 'STORE_LOCKED' });
    await store.close();
    expect(readdirSync(join(path, 'default')).filter((name) => /lock|writer/.test(name))).toEqual([]);
  });

  it('that was lost with its folder, or with all texts, is taken again, and caches learn that texts may be gone', async () => {
    const removeContent = (folder: string): void => {
      for (const name of readdirSync(folder)) rmSync(join(folder, name));
    };
    const removeFolder = (folder: string): void => rmSync(folder, { recursive: true });
    for (const remove of [removeContent, removeFolder]) {
      const path = freshPath();
      const store = await openWithLimits({ path }, { retryMs: 20 });
      await store.put('before', { session: 's' });
      const deletions = await store.deletions();
      remove(join(path, 'default'));
      await expect(store.put('refused', { session: 's' })).rejects.toMatchObject({ code: 'STORE_LOCKED' });
      for (let n = 0; n < 500; n++) {
        if (await store.put('after', { session: 's' }).catch(() => undefined)) break;
        await sleep(10);
      }
      expect(await store.get(handleOf('before'))).toBeUndefined();
      expect(await store.get(handleOf('after'))).toMatchObject({ text: 'after' });
      expect(await store.deletions()).not.toBe(deletions);
      expect(statSync(join(path, 'default')).mode & 0o777).toBe(0o700);
      await store.close();
    }
  });

  it('is not released by one who has lost it, and who may not write any more', async () => {
    const path = freshPath();
    const store = await openStore({ path });
    const file = join(path, 'default/lock');
    const other = JSON.stringify({ ...own(), host: 'elsewhere', nonce: 'other' });
    rmSync(file);
    writeFileSync(file, other);
    // At once, and not when the heart beats next.
    await expect(store.put('late', {})).rejects.toMatchObject({ code: 'STORE_LOCKED' });
    await expect(store.gc({ force: true })).rejects.toMatchObject({ code: 'STORE_LOCKED' });
    await store.close();
    expect(readFileSync(file, 'utf8')).toBe(other);
  });
});

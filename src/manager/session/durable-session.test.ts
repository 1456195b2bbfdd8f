import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import {
  call,
  eventsOf,
  openChat,
  result,
  temporaryFolders,
  turns,
  user,
} from '../../../test/support/manager/sessions.ts';
import { RecordingDisk } from '../../../test/support/store/recording-disk.ts';
import { PalimpsestError } from '../../errors.ts';
import type { ChatMessage } from '../../message.ts';
import { never } from '../../plan/policies/never.ts';
import { createMemoryStore } from '../../store/memory-store.ts';
import { recall } from '../../store/recall.ts';
import type { Session } from './session.ts';

const freshFolder = temporaryFolders();
describe('a restart', () => {
  it('that cannot be written has not happened', async () => {
    const disk = new RecordingDisk();
    const session = await openChat({ directory: '/s', id: 'chat', disk });
    await session.add(user('the task'), ...turns(2));
    disk.onWrite = () => {
      throw new Error('ENOSPC');
    };
    await expect(session.restart()).rejects.toMatchObject({ code: 'STORE_FAILED' });
    expect([session.number, session.manager.sessionNumber, session.messages().length]).toEqual([1, 1, 5]);
    disk.onWrite = undefined;
    await session.restart();
    expect([session.number, session.manager.sessionNumber]).toEqual([2, 2]);
  });

  const long = Array.from({ length: 3000 }, (_, n) => `line ${n} of the report`).join('\n');
  const withReport = [user('the task'), call('c1'), result('c1', long)];

  it('that cuts a result shows the handle of the whole one, also to the process after it', async () => {
    const store = createMemoryStore();
    const where = { directory: freshFolder(), id: 'cut', store, contextLimit: 16_000, tools: [{ name: 'recall' }] };
    const session = await openChat(where);
    await session.add(...withReport);
    await session.render();
    await session.restart();
    await session.close();
    const again = await openChat(where);
    const { messages } = await again.render();
    const shown = messages.find(({ role }) => role === 'tool')?.content ?? '';
    expect(shown.length).toBeLessThan(long.length / 2);
    const [, handle = ''] = /\[truncated: [^\]]* tokens \(both\) · recall (p_[a-z2-7]{26})/.exec(shown) ?? [];
    expect((await recall(store, handle)).text).toBe(long);
    await again.close();
  });

  it('that cuts a result, but cannot store it, has not happened', async () => {
    const store = createMemoryStore();
    let isFull = true;
    const failing = new Proxy(store, {
      get: (target, name) => {
        const value = Reflect.get(target, name);
        if (name === 'putMany' && isFull) return () => Promise.reject(new PalimpsestError('STORE_FAILED', 'full'));
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const where = { directory: freshFolder(), id: 'full', store: failing, contextLimit: 16_000 };
    const session = await openChat({ ...where, onProblem: () => {} });
    await session.add(...withReport);
    await expect(session.restart()).rejects.toMatchObject({ code: 'STORE_FAILED' });
    expect([session.number, session.manager.sessionNumber, session.messages()]).toEqual([1, 1, withReport]);
    isFull = false;
    await session.restart();
    expect([session.number, session.manager.sessionNumber]).toEqual([2, 2]);
    await session.close();
  });

  it('without a store cuts a result without a handle', async () => {
    const session = await openChat({ directory: freshFolder(), id: 'none', contextLimit: 16_000 });
    await session.add(...withReport);
    await session.restart();
    const shown = session.messages().find(({ role }) => role === 'tool')?.content;
    expect(shown).toMatch(/\[truncated: kept first\+last .* \(both\)\]\n/);
    expect(shown).not.toContain('p_');
    await session.close();
  });
});

describe('compaction', () => {
  const fill = async (session: Session<ChatMessage>): Promise<void> => {
    await session.add(user('the task'), ...turns(10));
    await session.restart();
    await session.add(...turns(3, { from: 10 }));
  };

  it('archives first: what leaves events.jsonl is in the archive, and the log reads as before', async () => {
    const directory = freshFolder();
    const session = await openChat({ directory, id: 'chat', carryoverTurns: 1, policy: never() });
    await fill(session);
    const before = await eventsOf(session);
    const size = statSync(join(directory, 'chat/events.jsonl')).size;
    await session.compact();
    expect(statSync(join(directory, 'chat/events.jsonl')).size).toBeLessThan(size);
    expect(await eventsOf(session)).toEqual(before);
    await session.add(user('more'));
    expect((await eventsOf(session)).map(({ seq }) => seq)).toEqual([
      ...before.map(({ seq }) => seq),
      before.length + 2,
    ]);
    const messages = session.messages();
    await session.close();
    const again = await openChat({ directory, id: 'chat', carryoverTurns: 1, policy: never() });
    expect(again.messages()).toEqual(messages);
    await again.compact();
    expect((await eventsOf(again)).filter(({ type }) => type === 'message')).toHaveLength(28);
    await again.close();
  });

  it('discards what is no longer needed, and keeps no archive', async () => {
    const directory = freshFolder();
    const session = await openChat({
      directory,
      id: 'chat',
      carryoverTurns: 1,
      compaction: 'discard',
      policy: never(),
    });
    await fill(session);
    await session.compact();
    expect(existsSync(join(directory, 'chat/events.archive.jsonl'))).toBe(false);
    expect((await eventsOf(session)).filter(({ type }) => type === 'message')).toHaveLength(6);
    expect((await eventsOf(session))[0]).toMatchObject({ type: 'session_restart' });
    await session.close();
  });

  it('off leaves the log as it is', async () => {
    const directory = freshFolder();
    const session = await openChat({ directory, id: 'chat', compaction: 'off', compactAfterBytes: 1 });
    await fill(session);
    const before = readFileSync(join(directory, 'chat/events.jsonl'), 'utf8');
    await session.compact();
    await session.close();
    expect(readFileSync(join(directory, 'chat/events.jsonl'), 'utf8')).toBe(before);
  });

  it('comes by itself when half of the log is no longer needed, and not before', async () => {
    const directory = freshFolder();
    const session = await openChat({
      directory,
      id: 'chat',
      compactAfterBytes: 5000,
      carryoverTurns: 1,
      policy: never(),
    });
    await session.add(user('the task'), ...turns(20));
    await session.log({ type: 'error', message: 'x' });
    expect(existsSync(join(directory, 'chat/events.archive.jsonl'))).toBe(false);
    await session.restart();
    await session.log({ type: 'error', message: 'y' });
    expect(existsSync(join(directory, 'chat/events.archive.jsonl'))).toBe(true);
    await session.close();
  });
});

describe('a compaction whose rename', () => {
  const compactedWith = async (fail: (disk: RecordingDisk) => void) => {
    const disk = new RecordingDisk();
    const session = await openChat({ directory: '/s', id: 'chat', disk, compaction: 'discard', onProblem: () => {} });
    await session.add(user('message 0'), user('message 1'));
    fail(disk);
    await expect(session.compact()).rejects.toThrow(/EIO|sync failed/);
    disk.onSync = undefined;
    return { disk, session };
  };

  it('did not happen goes on in the old log', async () => {
    const { disk, session } = await compactedWith((disk) => {
      disk.rename = () => Promise.reject(new Error('EIO'));
    });
    await session.add(user('message 2'));
    const again = await openChat({ directory: '/s', id: 'chat', disk: new RecordingDisk(disk.afterCrash()) });
    expect(again.messages()).toHaveLength(3);
  });

  it('may not be durable ends the session, since two logs could have the name', async () => {
    const { disk, session } = await compactedWith((disk) => {
      disk.onSync = (path) => {
        if (path === '/s/chat' && !disk.files.has('/s/chat/events.jsonl.new')) throw new Error('EIO');
      };
    });
    await expect(session.add(user('message 2'))).rejects.toMatchObject({ code: 'STORE_FAILED' });
    for (const choose of [() => 0, () => 0.99]) {
      const files = disk.afterPowerLoss(disk.operations.length, { choose });
      const again = await openChat({ directory: '/s', id: 'chat', disk: new RecordingDisk(files) });
      expect(again.messages()).toHaveLength(2);
    }
  });
});

describe('a power cut after a kill', () => {
  it('loses nothing that was acknowledged in between, though the one that was killed had not synced a new name', async () => {
    const disk = new RecordingDisk();
    const options = { directory: '/s', id: 'chat', disk, compaction: 'discard' } as const;
    const killed = await openChat(options);
    await killed.add(user('message 0'));
    disk.onSync = (path) =>
      path === '/s/chat' && !disk.files.has('/s/chat/events.jsonl.new') ? new Promise(() => {}) : undefined;
    killed.compact();
    await vi.waitUntil(() =>
      disk.operations.some((done) => done.kind === 'bound' && done.path.endsWith('.new') && !done.inode),
    );
    disk.onSync = undefined;
    const session = await openChat(options);
    await session.add(user('message 1'));
    const files = disk.afterPowerLoss(disk.operations.length, { choose: () => 0 });
    const again = await openChat({ ...options, disk: new RecordingDisk(files) });
    expect(again.messages()).toEqual([user('message 0'), user('message 1')]);
  });

  it('nor the folder of a session that had not begun', async () => {
    const disk = new RecordingDisk(new Map([['/s/chat/events.jsonl', Buffer.alloc(0)]]));
    const synced: string[] = [];
    disk.onSync = (path) => {
      synced.push(path);
    };
    await openChat({ directory: '/s', id: 'chat', disk });
    expect(synced).toEqual(['/s', '/s/chat', '/s/chat/events.jsonl']);
  });
});

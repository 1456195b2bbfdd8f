import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { deleteSession } from '../../../src/manager/session/delete-session.ts';
import { listSessions } from '../../../src/manager/session/list-sessions.ts';
import { eventsOf, openChat, temporaryFolders, user } from '../../support/manager/sessions.ts';
import { ensureBuilt, ROOT } from '../../support/modules.ts';

const freshFolder = temporaryFolders();
beforeAll(ensureBuilt, 120_000);

describe('a process that is killed', () => {
  // Hundreds of times by `node scripts/session-crash.js 300`.
  it('50 times, also while it writes a snapshot or compacts, loses nothing that it acknowledged', () => {
    const args = ['scripts/session-crash.js', '50', String(Date.now() % 1e5)];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain('50 kills');
  }, 180_000);
});

/** A process that opens a session, says so, and adds a message for every line that it is given. */
const PROGRAM = `
import { createInterface } from 'node:readline';
const { openSession } = await import(process.argv[1]);
const say = (line) => process.stdout.write(JSON.stringify(line) + '\\n');
try {
  const session = await openSession({ directory: process.argv[2], id: 'chat' });
  say({ is: 'open', pid: process.pid });
  for await (const content of createInterface({ input: process.stdin })) {
    try {
      await session.add({ role: 'user', content });
      say({ is: 'added' });
    } catch ({ code, message }) {
      say({ code, message });
    }
  }
} catch ({ code, message }) {
  say({ code, message });
}
process.exit(0);
`;

interface Said {
  readonly is?: string;
  readonly pid?: number;
  readonly code?: string;
  readonly message?: string;
}

function start(directory: string, options: { uid?: number } = {}): { child: ChildProcess; next: () => Promise<Said> } {
  const built = pathToFileURL(join(ROOT, 'dist/manager/session/open-session.js')).href;
  const args = ['--input-type=module', '--eval', PROGRAM, built, directory];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'], cwd: '/', ...options });
  const lines: string[] = [];
  let wake = (): void => {};
  let rest = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts);
    wake();
  });
  const next = async (): Promise<Said> => {
    while (lines.length === 0)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    return JSON.parse(lines.shift() ?? '{}');
  };
  return { child, next };
}

const ended = (child: ChildProcess): Promise<unknown> => new Promise((resolve) => child.once('close', resolve));

describe('two processes on one session', () => {
  it('the second is told who has it open, and the first goes on', async () => {
    const directory = freshFolder();
    const { child, next } = start(directory);
    const { pid } = await next();
    await expect(openChat({ directory, id: 'chat' })).rejects.toMatchObject({
      code: 'STORE_LOCKED',
      message: expect.stringMatching(new RegExp(`the session chat .* process ${pid} on .* close it there`)),
    });
    child.stdin?.write('hello\n');
    expect(await next()).toEqual({ is: 'added' });
    child.stdin?.end();
    await ended(child);
  });

  it('a lock whose holder was killed is taken over at once', async () => {
    const directory = freshFolder();
    const { child, next } = start(directory);
    await next();
    child.stdin?.write('hello\n');
    await next();
    child.kill('SIGKILL');
    await ended(child);
    expect(existsSync(join(directory, 'chat/lock'))).toBe(true);
    const session = await openChat({ directory, id: 'chat' });
    expect(session.messages()).toEqual([user('hello')]);
    await session.close();
    expect(existsSync(join(directory, 'chat/lock'))).toBe(false);
  });

  it('who lost the lock writes no more, from the next message on', async () => {
    const directory = freshFolder();
    const session = await openChat({ directory, id: 'chat' });
    await session.add(user('hello'));
    const lock = join(directory, 'chat/lock');
    const other = JSON.stringify({ ...JSON.parse(readFileSync(lock, 'utf8')), nonce: 'another' });
    rmSync(lock);
    writeFileSync(lock, other);
    await expect(session.add(user('too late'))).rejects.toMatchObject({ code: 'STORE_LOCKED' });
    expect(readFileSync(join(directory, 'chat/events.jsonl'), 'utf8')).not.toContain('too late');
    await expect(session.close()).rejects.toMatchObject({ code: 'STORE_LOCKED' });
  });

  it('each its own session in one directory do not meet', async () => {
    const directory = freshFolder();
    const { child, next } = start(directory);
    await next();
    const other = await openChat({ directory, id: 'other' });
    await other.add(user('from here'));
    child.stdin?.write('from there\n');
    await next();
    child.stdin?.end();
    await ended(child);
    const chat = await openChat({ directory, id: 'chat' });
    expect(chat.messages()).toEqual([user('from there')]);
    expect((await eventsOf(other)).at(-1)).toMatchObject({ message: user('from here') });
    await chat.close();
    await other.close();
  });
});

const DELETING = `
const { deleteSession } = await import(process.argv[1]);
process.stdout.write('ready');
process.stdin.once('data', () => deleteSession({ directory: process.argv[2], id: 'chat' }));
`;

describe('a process that is killed while it deletes a session', () => {
  it('leaves nothing that can be opened once the first file is gone, and who deletes it again leaves nothing at all', async () => {
    const directory = freshFolder();
    await (await openChat({ directory, id: 'chat' })).close();
    const folder = join(directory, 'chat');
    // So many that it takes a while.
    for (let i = 0; i < 3000; i++) writeFileSync(join(folder, `file-${i}`), '');
    const files = readdirSync(folder).length;
    const built = pathToFileURL(join(ROOT, 'dist/manager/session/delete-session.js')).href;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', DELETING, built, directory]);
    await new Promise((resolve) => child.stdout.once('data', resolve));
    child.stdin.write('go');
    const left = (): number => (existsSync(folder) ? readdirSync(folder).length : 0);
    while (left() >= files) await new Promise((resolve) => setImmediate(resolve));
    child.kill('SIGKILL');
    await ended(child);
    expect(existsSync(folder)).toBe(false);
    expect(listSessions(directory)).toEqual([]);
    await deleteSession({ directory, id: 'chat' });
    expect(readdirSync(directory)).toEqual([]);
  }, 60_000);
});

// Rights do not bind the superuser, who can become somebody else to be bound by them.
describe.skipIf(process.getuid?.() !== 0)('a directory that may not be written', () => {
  it('is a clear error when the session is opened, and leaves nothing behind', async () => {
    const directory = freshFolder();
    mkdirSync(directory, { recursive: true });
    chmodSync(directory, 0o555);
    chmodSync(join(directory, '..'), 0o755);
    const { child, next } = start(directory, { uid: 65_534 });
    const said = await next();
    await ended(child);
    expect(said).toMatchObject({ code: 'STORE_FAILED', message: expect.stringContaining('EACCES') });
    expect(existsSync(join(directory, 'chat'))).toBe(false);
  });
});

// A file system of so few pages that it is full after some messages; only where this user may mount one.
const canMount = ((): boolean => {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-mount-'));
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder]);
  if (status === 0) spawnSync('umount', [folder]);
  rmSync(folder, { recursive: true });
  return status === 0;
})();

describe.skipIf(!canMount)('a disk that is full', () => {
  it('refuses what does not fit, has all that it acknowledged, and goes on when there is room', async () => {
    const directory = freshFolder();
    mkdirSync(directory, { recursive: true });
    expect(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', directory]).status).toBe(0);
    try {
      const session = await openChat({ directory, id: 'chat', onProblem: () => {} });
      let added = 0;
      const text = (n: number): string => `${n} ${'words '.repeat(1500)}`;
      const refused = await (async () => {
        for (;;) {
          try {
            await session.add(user(text(added)));
            added += 1;
          } catch (error) {
            return error;
          }
        }
      })();
      expect(refused).toMatchObject({ code: 'STORE_FAILED', message: expect.stringContaining('ENOSPC') });
      expect(added).toBeGreaterThan(5);
      expect(session.messages()).toHaveLength(added);
      spawnSync('mount', ['-o', 'remount,size=2m', directory]);
      await session.add(user(text(added)));
      await session.close();
      const again = await openChat({ directory, id: 'chat' });
      expect(again.messages()).toEqual(Array.from({ length: added + 1 }, (_, i) => user(text(i))));
      await again.close();
    } finally {
      spawnSync('umount', [directory]);
    }
  });
});

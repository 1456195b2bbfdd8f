import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { beforeAll, describe, expect, it, type TestContext, vi } from 'vitest';
import { handleOf } from '../../src/store/handle.ts';
import { openStore } from '../../src/store/open-store.ts';
import { ensureBuilt, ROOT } from '../support/modules.ts';
import { ChildStore } from '../support/store/child-store.ts';

const DAY = 86_400_000;
/** A writer looks for requests every second. */
const TWO_LOOKS_MS = 2500;
const SOON = { timeout: 60_000, interval: 50 };

beforeAll(ensureBuilt, 120_000);

/** A store with one session that another process has open. That process is stopped: it takes no request. */
async function heldStore({ onTestFinished }: Pick<TestContext, 'onTestFinished'>) {
  const path = mkdtempSync(join(tmpdir(), 'palimpsest-requests-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  const writer = await ChildStore.open(path, 'write');
  const { pid } = writer.opened;
  onTestFinished(() => writer.end());
  await writer.call('put', 'precious', { session: 's' });
  process.kill(pid as number, 'SIGSTOP');
  return {
    path,
    requests: join(path, 'default', 'requests'),
    writer,
    goOn: () => process.kill(pid as number, 'SIGCONT'),
    onTestFinished,
  };
}

type Held = Pick<Awaited<ReturnType<typeof heldStore>>, 'path' | 'requests' | 'onTestFinished'>;

/** `palimpsest store delete` in a process of its own. */
function runDelete({ path, onTestFinished }: Held) {
  const main = join(ROOT, 'dist/cli/main.js');
  const child = spawn(process.execPath, [main, 'store', 'delete', '--session', 's', '--store', path]);
  onTestFinished(() => void child.kill('SIGKILL'));
  let stderr = '';
  child.stderr.on('data', (chunk) => (stderr += chunk));
  const ended = once(child, 'close').then(() => ({ code: child.exitCode, stderr }));
  return { child, ended };
}

/** `palimpsest store delete`, which waits for the writer. */
async function askToDelete(held: Held) {
  const { requests } = held;
  const { child, ended } = runDelete(held);
  const find = (): string | undefined =>
    existsSync(requests) ? readdirSync(requests).find((name) => name.endsWith('.request')) : undefined;
  for (let n = 0; n < 600 && !find(); n++) await setTimeout(50);
  const request = join(requests, find() ?? 'none');
  return { child, request, ended };
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, 'close');
  child.kill('SIGKILL');
  await ended;
}

/** As after 11 seconds in which the process that asks was stopped or dead. A request may be silent for 10. */
function makeSilent(request: string): void {
  const before = new Date(Date.now() - 11_000);
  utimesSync(request, before, before);
}

/** The writer took the request away and left an answer. */
const answered = ({ requests }: Held): Promise<void> =>
  vi.waitFor(() => expect(readdirSync(requests)).toEqual([expect.stringMatching(/\.answer$/)]), SOON);

const isThere = async (path: string): Promise<boolean> => {
  const reader = await openStore({ path, mode: 'read' });
  const found = await reader.get(handleOf('precious'));
  await reader.close();
  return found !== undefined;
};

// They wait for time limits of the command: all at once, the longest first.
describe.concurrent('a command that asks the process that writes', () => {
  it('and waits is served, however late the writer gets to it: it keeps its request from becoming silent', async (test) => {
    const held = await heldStore(test);
    const { request, ended } = await askToDelete(held);
    for (let time = 0; time < 3; time++) {
      makeSilent(request);
      await vi.waitFor(() => expect(Date.now() - statSync(request).mtimeMs).toBeLessThan(10_000), SOON);
    }
    held.goOn();
    expect(await ended).toEqual({ code: 0, stderr: '' });
    expect(await isThere(held.path)).toBe(false);
  }, 60_000);

  it('withdraws its request after its time limit, says that nothing is done, and nothing is', async (test) => {
    const held = await heldStore(test);
    const { ended } = await askToDelete(held);
    const { code, stderr } = await ended;
    expect([code, stderr]).toEqual([1, expect.stringContaining('nothing was done, and nothing will be')]);
    held.goOn();
    await setTimeout(TWO_LOOKS_MS);
    expect(await isThere(held.path)).toBe(true);
  }, 60_000);

  it('and is killed leaves a request that the next writer refuses and does not carry out', async (test) => {
    const held = await heldStore(test);
    const { child } = await askToDelete(held);
    await kill(child);
    await held.writer.end();
    const next = await openStore({ path: held.path });
    test.onTestFinished(() => next.close());
    await answered(held);
    expect((await next.get(handleOf('precious')))?.text).toBe('precious');
  });

  it('and is killed leaves a request that the same writer does not carry out when it gets to it later', async (test) => {
    const held = await heldStore(test);
    const { child, request } = await askToDelete(held);
    await kill(child);
    makeSilent(request);
    held.goOn();
    await answered(held);
    expect(await isThere(held.path)).toBe(true);
  });

  it('and was stopped for too long is refused, and says that nothing was done', async (test) => {
    const held = await heldStore(test);
    const { child, request, ended } = await askToDelete(held);
    child.kill('SIGSTOP');
    makeSilent(request);
    held.goOn();
    await answered(held);
    child.kill('SIGCONT');
    const { code, stderr } = await ended;
    expect([code, stderr]).toEqual([1, expect.stringContaining('nothing was done, and nothing will be')]);
    expect(stderr).toContain('10 s');
    expect(await isThere(held.path)).toBe(true);
    expect(readdirSync(held.requests)).toEqual([]);
  });

  it.for<[string, (path: string) => void]>([
    ['a file', (path) => writeFileSync(path, '')],
    ['a symbolic link', (path) => symlinkSync('..', path)],
    ['a symbolic link', (path) => symlinkSync('nowhere', path)],
  ])('names the place of requests and says what to do if it is %s', async ([found, make], test) => {
    const held = await heldStore(test);
    make(held.requests);
    const { code, stderr } = await runDelete(held).ended;
    expect(stderr).toContain(`Expected ${held.requests} to be a folder but found ${found}; remove it`);
    expect(code).toBe(1);
  });

  it('says that the work may still happen if the writer had taken the request and lost the store', async (test) => {
    const held = await heldStore(test);
    const { request, ended } = await askToDelete(held);
    renameSync(request, request.replace(/request$/, 'taken'));
    rmSync(join(held.path, 'default', 'lock'));
    const { code, stderr } = await ended;
    expect([code, stderr]).toEqual([1, expect.stringContaining('may still happen')]);
  });
});

it('a writer removes old requests and answers, and carries out none of them', async ({ onTestFinished }) => {
  const path = mkdtempSync(join(tmpdir(), 'palimpsest-requests-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  const store = await openStore({ path });
  onTestFinished(() => store.close());
  await store.put('precious', { session: 's' });
  const requests = join(path, 'default', 'requests');
  mkdirSync(requests);
  const old = new Date(Date.now() - 30 * DAY);
  for (const kind of ['request', 'taken', 'answer', 'answer.next']) {
    const file = join(requests, `11111111-1111-1111-1111-111111111111.${kind}`);
    writeFileSync(file, JSON.stringify({ method: 'delete', args: ['s'] }));
    utimesSync(file, old, old);
  }
  await vi.waitFor(() => expect(readdirSync(requests)).toEqual([]), SOON);
  expect((await store.get(handleOf('precious')))?.text).toBe('precious');
});

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startPruning } from '../../src/cli/store/retention.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import { openStore } from '../../src/store/open-store.ts';
import { type GatewayProcess, startProcess } from '../support/gateway/processes.ts';
import { palimpsest } from '../support/memory-io.ts';
import { ensureBuilt } from '../support/modules.ts';

const DAY = 86_400_000;
const closers: (() => unknown)[] = [];

beforeAll(ensureBuilt, 120_000);
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A store with three sessions of 200 KB each, in the home of a gateway. */
async function filled(): Promise<{ readonly folder: string; readonly path: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-retention-'));
  closers.push(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'store');
  const store = await openStore({ path });
  for (const [n, session] of ['first', 'second', 'third'].entries())
    await store.put(`${n}`.repeat(200_000), { session });
  await store.close();
  return { folder, path };
}

async function serve(folder: string, ...args: string[]): Promise<GatewayProcess> {
  return serveWith({}, folder, ...args);
}

async function serveWith(
  variables: Record<string, string>,
  folder: string,
  ...args: string[]
): Promise<GatewayProcess> {
  const flags = ['--port', '0', '--store', join(folder, 'store'), ...args];
  const gateway = await startProcess(flags, folder, process.execPath, variables);
  closers.push(() => gateway.stop('SIGKILL', { isGroup: true }).catch(() => {}));
  return gateway;
}

const sessionsIn = async (path: string): Promise<string[]> => {
  const reader = await openStore({ path, mode: 'read' });
  const found: string[] = [];
  for await (const { session } of reader.sessions()) found.push(session);
  await reader.close();
  return found;
};

describe('upkeep beside a gateway that serves', () => {
  it.each([[[]], [['--workers', '2']]])('delete, prune and gc are done by it, started with %j', async (args) => {
    const { folder, path } = await filled();
    const gateway = await serve(folder, ...args);
    const store = (...words: string[]) => palimpsest(['store', ...words, '--store', path]);
    expect(await store('delete', '--session', 'first')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^removed 1 session with 1 text and 0 turns/),
    });
    expect(await sessionsIn(path)).toEqual(['second', 'third']);
    expect((await store('prune', '--max-bytes', '300KB')).stdout).toContain('removed 1 session');
    expect(await sessionsIn(path)).toEqual(['third']);
    const gc = await store('gc', '--force', '--json');
    expect([gc.code, Object.keys(JSON.parse(gc.stdout))]).toEqual([0, ['freedBytes', 'removedTexts', 'repaired']]);
    expect((await store('verify')).code).toBe(0);
    expect(JSON.parse((await store('stats', '--json')).stdout).diskBytes).toBeLessThan(250_000);
    expect(gateway.child.exitCode).toBe(null);
  });

  it('what the gateway refuses is told to whoever asked', async () => {
    const { folder, path } = await filled();
    await serve(folder);
    const { code, stderr } = await palimpsest(['store', 'delete', '--session', '../x', '--store', path]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('to be a session id')]);
  });

  it('a gateway that is killed is not waited for: the lock is taken over', async () => {
    const { folder, path } = await filled();
    const gateway = await serve(folder);
    await gateway.stop('SIGKILL');
    expect(existsSync(join(path, 'default', 'lock'))).toBe(true);
    expect((await palimpsest(['store', 'delete', '--session', 'first', '--store', path])).code).toBe(0);
  });
});

describe('a gateway with a limit for its store', () => {
  it.each([
    ['a file', ['--config', 'own.yaml'], {}],
    ['the command line', ['--max-bytes', '500kB', '--max-age-days', '90'], {}],
    ['variables', [], { PALIMPSEST_MAX_BYTES: '500kB', PALIMPSEST_MAX_AGE_DAYS: '90' }],
  ])('from %s removes what was not used for longest when it starts, and tells so', async (_from, args, variables) => {
    const { folder, path } = await filled();
    writeFileSync(join(folder, 'own.yaml'), 'store:\n  max_bytes: 500kB\n');
    const gateway = await serveWith(variables, folder, ...args);
    for (let n = 0; n < 200 && !gateway.output().includes('old sessions were removed'); n++) await setTimeout(50);
    expect(gateway.output()).toMatch(/"old sessions were removed","tenant":"default","sessions":1,"texts":1/);
    expect(await sessionsIn(path)).toEqual(['second', 'third']);
  });

  it.each([
    [['--max-bytes', 'much'], "expected --max-bytes to be a size such as 500MB or 10GB but found 'much'"],
    [['--max-age-days', 'old'], 'expected --max-age-days'],
  ])('refuses %j', async (args, message) => {
    const { code, stderr } = await palimpsest(['serve', '--port', '0', ...args]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it('removes nothing without one', async () => {
    const { folder, path } = await filled();
    const gateway = await serve(folder);
    await setTimeout(1500);
    expect(await sessionsIn(path)).toHaveLength(3);
    expect(gateway.output()).not.toContain('removed');
  });
});

describe('startPruning', () => {
  it('removes nothing when the clock has jumped, and believes it when it goes on from there', async () => {
    const clock = { ahead: 0 };
    const now = (): number => Date.now() + clock.ahead;
    const store = createMemoryStore({ now });
    await store.put('text', { session: 's' });
    const logged: string[] = [];
    const stop = startPruning({
      stores: { open: async () => store, tenants: async () => ['default'] },
      retention: { maxAgeMs: 30 * DAY },
      log: ({ message }) => logged.push(message),
      everyMs: 100,
      now,
    });
    closers.push(stop);
    await setTimeout(150);
    clock.ahead = 400 * DAY;
    for (let n = 0; n < 100 && logged.length === 0; n++) await setTimeout(10);
    expect([logged[0], (await store.stats()).texts]).toEqual(['the clock jumped: nothing is removed this time', 1]);
    for (let n = 0; n < 100 && logged.length === 1; n++) await setTimeout(10);
    expect([logged[1], (await store.stats()).texts]).toEqual(['old sessions were removed', 0]);
  });
});

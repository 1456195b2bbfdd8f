import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Pool } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Status } from '../../../src/gateway/index.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import { createPostgresStore } from '../../../src/store/postgres-store.ts';
import { changedStore, startGateway, TOKEN } from '../../support/gateway/gateway.ts';
import { type GatewayProcess, startBalancer, startProcess } from '../../support/gateway/processes.ts';
import { startUpstream, type Upstream } from '../../support/gateway/upstream.ts';
import { ensureBuilt } from '../../support/modules.ts';
import { type OwnPostgresServer, startOwnPostgres } from '../../support/postgres.ts';

let folder = '';
let postgres: OwnPostgresServer;
let pool: Pool;
const closers: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  await ensureBuilt();
  folder = mkdtempSync(join(tmpdir(), 'palimpsest-roll-over-'));
  postgres = await startOwnPostgres();
  pool = new Pool({ connectionString: postgres.url, max: 2 });
  pool.on('error', () => {});
}, 240_000);

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

afterAll(async () => {
  await pool?.end();
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function start(upstream: Upstream, variables: Readonly<Record<string, string>>): Promise<GatewayProcess> {
  const settings = { PALIMPSEST_PORT: '0', PALIMPSEST_UPSTREAM: `openai=${upstream.url}`, PALIMPSEST_QUIET: 'true' };
  const gateway = await startProcess([], folder, process.execPath, { ...settings, ...variables });
  closers.push(() => gateway.stop('SIGKILL'));
  return gateway;
}

async function asked(url: string, path: string): Promise<readonly [number, string]> {
  const answer = await fetch(`${url}${path}`);
  return [answer.status, ((await answer.json()) as { status: string }).status];
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await setTimeout(50);
}

describe('readiness', () => {
  it('is there from the first answer of the store on, and stays when the store is gone', {
    timeout: 120_000,
  }, async () => {
    const upstream = await startUpstream();
    closers.push(upstream.close);
    await postgres.kill();
    const gateway = await start(upstream, { PALIMPSEST_STORE: postgres.url });
    expect(await asked(gateway.url, '/readyz')).toEqual([503, 'waiting for the store']);
    expect(await asked(gateway.url, '/livez')).toEqual([200, 'ok']);
    await postgres.start();
    await until(async () => (await asked(gateway.url, '/readyz'))[0] === 200);
    await postgres.kill();
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', body: HELLO });
    expect([answer.status, await answer.text()]).toEqual([200, '{}']);
    expect(await asked(gateway.url, '/readyz')).toEqual([200, 'ready']);
    await postgres.start();
  });

  it.each(['1', '2'])(
    'reads no row of a table that grows, with %s worker(s): a large database delays no start',
    {
      timeout: 60_000,
    },
    async (workers) => {
      const upstream = await startUpstream();
      closers.push(upstream.close);
      const store = createPostgresStore({ pool });
      await store.put('a text', { session: 's', turn: 1 });
      await store.secret();
      const locking = await pool.connect();
      closers.push(async () => locking.release(true));
      const tables = ['texts', 'refs', 'turns', 'notes', 'records', 'uses'].map((table) => `palimpsest.${table}`);
      await locking.query(`BEGIN; LOCK TABLE ${tables.join()} IN ACCESS EXCLUSIVE MODE`);
      const gateway = await start(upstream, { PALIMPSEST_STORE: postgres.url, PALIMPSEST_WORKERS: workers });
      // The lock stays, so a start that reads one of the tables is never ready.
      await until(async () => (await asked(gateway.url, '/readyz'))[1] === 'ready');
      const headers = { authorization: `Bearer ${TOKEN}` };
      const status = await fetch(`${gateway.url}/_palimpsest/api/status`, { headers });
      expect(((await status.json()) as Status).store).toEqual({ kind: 'postgres', ok: true });
    },
  );

  it('needs no token and no name of the gateway, and waits for no store that hangs', async () => {
    const upstream = await startUpstream();
    const store = changedStore(createMemoryStore(), { secret: () => new Promise<string>(() => {}) });
    const gateway = await startGateway(upstream.url, { store, isPublic: true });
    closers.push(upstream.close, () => gateway.close());
    expect(await asked(gateway.url, '/readyz')).toEqual([503, 'waiting for the store']);
    expect(await asked(gateway.url, '/livez')).toEqual([200, 'ok']);
  });
});

const HELLO = '{"model":"m","messages":[{"role":"user","content":"hello"}]}';

describe.each(['1', '2'])('a roll-over, with %s worker(s)', (workers) => {
  it('loses no request and sends none twice: the old gateway drains while the new one takes over', {
    timeout: 120_000,
  }, async () => {
    const upstream = await startUpstream((_request, response) => {
      response.write('{"a":');
      void setTimeout(20).then(() => response.end('1}'));
    });
    closers.push(upstream.close);
    const variables = { PALIMPSEST_STORE: postgres.url, PALIMPSEST_DRAIN_MS: '1500', PALIMPSEST_WORKERS: workers };
    const old = await start(upstream, variables);
    const next = await start(upstream, variables);
    await until(async () => (await asked(next.url, '/readyz'))[0] === 200);
    const balancer = await startBalancer([old.port, next.port]);
    closers.push(balancer.close);
    let isOver = false;
    const seen: string[] = [];
    const client = async (name: number): Promise<void> => {
      for (let turn = 0; !isOver; turn++) {
        const answer = await fetch(`${balancer.url}/v1/chat/completions?of=${name}-${turn}`, {
          method: 'POST',
          body: HELLO,
        });
        seen.push(`${answer.status} ${await answer.text()}`);
      }
    };
    const clients = [1, 2, 3, 4].map(client);
    await until(async () => seen.length > 40);
    const stopping = old.stop('SIGTERM');
    await until(async () => (await asked(old.url, '/readyz'))[0] === 503);
    // It still serves while balancers turn away.
    const late = await fetch(`${old.url}/v1/chat/completions?of=late`, { method: 'POST', body: HELLO });
    expect([late.status, await late.text(), late.headers.get('connection')]).toEqual([200, '{"a":1}', 'close']);
    expect(await stopping).toBe(0);
    const atStop = seen.length;
    await until(async () => seen.length > atStop + 40);
    isOver = true;
    await Promise.all(clients);
    expect(new Set(seen)).toEqual(new Set(['200 {"a":1}']));
    const urls = upstream.received.map(({ url }) => url);
    expect([urls.length, new Set(urls).size]).toEqual([seen.length + 1, seen.length + 1]);
    const metrics = await (
      await fetch(`${next.url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })
    ).text();
    expect(metrics).toMatch(/palimpsest_responses_total\{provider="openai",status="2xx"\} \d+/);
  });
});

import { setTimeout } from 'node:timers/promises';
import { Pool } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Status } from '../../../src/gateway/index.ts';
import { slidingWindow } from '../../../src/index.ts';
import { createPostgresStore } from '../../../src/store/postgres-store.ts';
import { startGateway } from '../../support/gateway/gateway.ts';
import { anthropicBody, anthropicMessages, maskedIn } from '../../support/gateway/requests.ts';
import { type Received, startUpstream } from '../../support/gateway/upstream.ts';
import { type OwnPostgresServer, startOwnPostgres } from '../../support/postgres.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';

let server: OwnPostgresServer;
let proxy: TcpProxy;
let pool: Pool;

beforeAll(async () => {
  server = await startOwnPostgres();
  proxy = await startTcpProxy(server.port);
  pool = new Pool({ connectionString: Object.assign(new URL(server.url), { port: proxy.port }).href, max: 10 });
  pool.on('error', () => {});
}, 60_000);

afterAll(async () => {
  await proxy?.close();
  await pool?.end();
  await server?.stop();
}, 60_000);

it('a gateway masks although the connections to PostgreSQL went silent before its first questions', async () => {
  const store = createPostgresStore({ pool, timeoutMs: 1000 });
  await store.put('of before', { session: 's' });
  // The first questions of the gateway take connections that are in the pool.
  await Promise.all(Array.from({ length: 4 }, () => pool.query('SELECT pg_sleep(0.1)')));
  expect(pool.idleCount).toBe(4);
  proxy.silence();
  const upstream = await startUpstream();
  const gateway = await startGateway(upstream.url, { store, policy: slidingWindow({ turns: 2 }) });
  try {
    await gateway.ask<Status>('status');
    const body = JSON.stringify(anthropicBody(anthropicMessages(8)));
    const masks = async (): Promise<number> => {
      await fetch(`${gateway.url}/v1/messages`, { method: 'POST', body });
      return maskedIn((upstream.received.at(-1) as Received).body).filter(Boolean).length;
    };
    for (let attempt = 0; attempt < 40 && (await masks()) === 0; attempt++) await setTimeout(250);
    expect(await masks()).toBe(6);
    expect((await gateway.ask<Status>('status')).store.ok).toBe(true);
  } finally {
    await gateway.close({ graceMs: 0 });
    await upstream.close();
  }
}, 60_000);

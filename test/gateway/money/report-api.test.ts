import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createGateway, type Gateway } from '../../../src/gateway/index.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { lengths, simulateTraffic } from '../../support/simulated-traffic.ts';

const TOKEN = 'sample-token-0123456789';
const DAY_MS = 86_400_000;
const NOW = Date.parse('2026-11-20');

const open: { server: Server; gateway: Gateway }[] = [];
afterEach(async () => {
  for (const { server, gateway } of open.splice(0)) {
    server.close();
    server.closeAllConnections();
    await gateway.close({ graceMs: 0 });
  }
});

async function start(
  store: Store,
  clock = { now: NOW },
): Promise<(query?: string, token?: string) => Promise<Response>> {
  const gateway = createGateway({
    store,
    token: TOKEN,
    now: () => clock.now,
    upstreams: { anthropic: 'http://127.0.0.1:9' },
  });
  const server = createServer(gateway).listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.push({ server, gateway });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/_palimpsest/api/report`;
  return (query = '', token = TOKEN) => fetch(url + query, { headers: { authorization: `Bearer ${token}` } });
}

const records = (sessions: number) =>
  simulateTraffic({
    seed: 7,
    sessions,
    holdout: 0.1,
    at: NOW - 10 * DAY_MS,
    everyMs: DAY_MS / 50,
    effect: { hides: 0.5, lengthens: 1, harms: 0 },
    lengths: lengths.lognormal,
  });

describe('/_palimpsest/api/report', () => {
  it('compares the sessions in the store, and names none of them', async () => {
    const store = createMemoryStore();
    await store.putRecords?.(records(412));
    const ask = await start(store);
    const response = await ask();
    const text = await response.text();
    expect(response.status).toBe(200);
    expect(JSON.parse(text).headline.sentence).toMatch(/^Saves 22 % of input cost for the same work \(4\.5 to 36 %\)/);
    expect(text).not.toMatch(/"[sc]7000021/);
  });

  it('takes a start, as an age or as a day', async () => {
    const store = createMemoryStore();
    await store.putRecords?.(records(412));
    const ask = await start(store);
    const sessionsOf = async (query: string): Promise<number> => {
      const { arms } = (await (await ask(query)).json()) as { arms: { sessions: number }[] };
      return arms.reduce((sum, { sessions }) => sum + sessions, 0);
    };
    expect(await sessionsOf('?since=5d')).toBe(162);
    expect(await sessionsOf('?since=2026-11-15')).toBe(162);
    expect(await sessionsOf('?since=2026-11-15&until=2026-11-16')).toBe(48);
  });

  it('tells whether its start moves with the clock', async () => {
    const ask = await start(createMemoryStore());
    const rangeOf = async (query: string): Promise<unknown> =>
      ((await (await ask(query)).json()) as { range: unknown }).range;
    expect(await rangeOf('?since=5d')).toEqual({ since: NOW - 5 * DAY_MS, until: NOW, isMoving: true });
    expect(await rangeOf('?since=2026-11-15')).toMatchObject({ isMoving: false });
    expect(await rangeOf('')).toMatchObject({ isMoving: false });
  });

  it('answers with the same report for half a minute, then with a new one', async () => {
    const store = createMemoryStore();
    const clock = { now: NOW };
    const ask = await start(store, clock);
    const verdict = async (): Promise<string> =>
      ((await (await ask()).json()) as { headline: { verdict: string } }).headline.verdict;
    expect(await verdict()).toBe('nothing');
    await store.putRecords?.(records(412));
    expect(await verdict()).toBe('nothing');
    clock.now += 31_000;
    expect(await verdict()).toBe('saves');
  });

  it('refuses a time that is none, and callers without the token', async () => {
    const ask = await start(createMemoryStore());
    const wrong = await ask('?since=yesterday');
    expect(wrong.status).toBe(400);
    expect(await wrong.text()).toContain("expected since to be a time such as 7d or 2026-11-01 but found 'yesterday'");
    const turned = await ask('?since=2026-11-15&until=2026-11-14');
    expect(turned.status).toBe(400);
    expect(await turned.text()).toContain('expected since to be before until');
    expect((await ask('', 'wrong')).status).toBe(401);
  });

  it('is made of the records in memory where the store keeps none', async () => {
    const store = Object.assign(createMemoryStore(), { records: undefined, putRecords: undefined });
    const clock = { now: NOW };
    const ask = await start(store as unknown as Store, clock);
    const { url } = await ask();
    const body = JSON.stringify({ model: 'claude-sonnet-5', messages: [{ role: 'user', content: 'Hello' }] });
    await fetch(new URL('/v1/messages', url), { method: 'POST', body });
    clock.now += DAY_MS;
    const arms = async (): Promise<unknown> => {
      // A report is kept for half a minute.
      clock.now += 60_000;
      return ((await (await ask()).json()) as { arms: unknown }).arms;
    };
    await expect.poll(arms, { timeout: 20_000 }).toMatchObject([{ arm: 'treated', sessions: 1 }]);
  });
});

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Status } from '../../../src/gateway/index.ts';
import { anthropicSdk } from '../../support/gateway/clients/anthropic-sdk.ts';
import { type Job, jobScript } from '../../support/gateway/conversations.ts';
import { TOKEN } from '../../support/gateway/gateway.ts';
import { breaksIn, holdAlone } from '../../support/gateway/held.ts';
import { type GatewayProcess, startBalancer, startProcess } from '../../support/gateway/processes.ts';
import { ensureBuilt } from '../../support/modules.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { type Provider, startProvider } from '../../support/provider/start-provider.ts';

let folder = '';
let postgres: PostgresServer;
const closers: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  await ensureBuilt();
  folder = mkdtempSync(join(tmpdir(), 'palimpsest-team-'));
  postgres = await startPostgres();
}, 240_000);

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

afterAll(async () => {
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function start(provider: Provider, ...args: readonly string[]): Promise<GatewayProcess> {
  const gateway = await startProcess(['--port', '0', '--upstream', `anthropic=${provider.url}`, ...args], folder);
  closers.push(() => gateway.stop());
  return gateway;
}

async function provide(job: Job): Promise<Provider> {
  const provider = await startProvider({ script: jobScript(job) });
  closers.push(provider.close);
  return provider;
}

const statusOf = async (url: string): Promise<Status> =>
  (await (
    await fetch(`${url}/_palimpsest/api/status`, { headers: { authorization: `Bearer ${TOKEN}` } })
  ).json()) as Status;

const JOB = { turns: 80, parallel: 2, resultChars: 2500 };
const refusedBy = ({ requests }: Provider) =>
  requests.filter(({ status }) => status >= 400).map(({ refused }) => refused);

describe('several gateways on one PostgreSQL store', () => {
  it('serve one conversation in turns behind a balancer, and go on when one is killed', {
    timeout: 240_000,
  }, async () => {
    const alone = await holdAlone(anthropicSdk, JOB);
    const provider = await provide(JOB);
    const gateways = [await start(provider, '--store', postgres.url), await start(provider, '--store', postgres.url)];
    const balancer = await startBalancer(gateways.map(({ port }) => port));
    closers.push(balancer.close);
    const killing = killAfter(provider, 40, gateways[0] as GatewayProcess);
    // The gateway that is killed may have a request, which only its client can send again.
    const seen = await anthropicSdk.converse(balancer.url, { ...JOB, retries: 2 });
    await killing;
    expect(seen).toEqual(alone.seen);
    expect(refusedBy(provider)).toEqual([]);
    const { totals, store } = await statusOf((gateways[1] as GatewayProcess).url);
    expect(store).toEqual({ kind: 'postgres', ok: true });
    // Both had their share, and whoever served it sent the same bytes.
    expect(totals.requests).toBeLessThan(JOB.turns);
    const sent = provider.requests.filter(({ status }) => status === 200);
    expect(breaksIn(sent)).toBeLessThan(12);
    expect(provider.bill.cost).toBeLessThan(0.85 * alone.bill.cost);
  });
});

/** Kills a gateway once the provider has seen so many requests. */
async function killAfter(provider: Provider, requests: number, gateway: GatewayProcess): Promise<void> {
  while (provider.requests.length < requests) await new Promise((resolve) => setTimeout(resolve, 5));
  await gateway.stop('SIGKILL');
}

/** A request whose answer is a stream. */
const HELLO = {
  method: 'POST',
  headers: { 'x-api-key': 'k', 'anthropic-version': '2023-06-01', 'content-type': 'application/json' },
  body: JSON.stringify({
    model: 'claude-sonnet-5',
    max_tokens: 100,
    stream: true,
    messages: [{ role: 'user', content: 'Hi' }],
  }),
};

describe('all cores of one machine', () => {
  it('share a port, a store and a log of receipts, and a worker that dies is replaced', {
    timeout: 240_000,
  }, async () => {
    const provider = await provide(JOB);
    const store = join(folder, 'store');
    const gateway = await start(provider, '--store', store, '--workers', '2');
    // A connection for each request: workers take them in turn.
    const seen = await Promise.all(
      [1, 2, 3].map((n) => anthropicSdk.converse(gateway.url, { ...JOB, task: `Task ${n}` })),
    );
    expect(seen.map(({ texts }) => texts.length)).toEqual([81, 81, 81]);
    expect(refusedBy(provider)).toEqual([]);
    await untilCounted(gateway.url, provider.bill.requests);
    const { totals } = await statusOf(gateway.url);
    expect([totals.conversations, totals.tokensSent]).toEqual([3, provider.bill.prompt]);
    expect(totals.masked).toBeGreaterThan(0);
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    expect(metrics).toContain(
      `palimpsest_responses_total{provider="anthropic",status="2xx"} ${provider.bill.requests}`,
    );
    const [worker = ''] = spawnSync('pgrep', ['-P', String(gateway.child.pid)], { encoding: 'utf8' }).stdout.split(
      '\n',
    );
    process.kill(Number(worker), 'SIGKILL');
    while (!gateway.output().includes('a worker ended and is replaced'))
      await new Promise((resolve) => setTimeout(resolve, 20));
    const after = await anthropicSdk.converse(gateway.url, { ...JOB, task: 'Task 4' });
    expect(after.texts).toHaveLength(81);
    expect(refusedBy(provider)).toEqual([]);
    expect(await gateway.stop('SIGTERM')).toBe(0);
  });

  it('finish their streams when they are told to stop', { timeout: 120_000 }, async () => {
    const job = { turns: 2, streams: true };
    const provider = await startProvider({
      script: jobScript(job),
      faults: () => ({ kind: 'slow-stream', delayMs: 100 }),
    });
    closers.push(provider.close);
    for (const workers of ['1', '2']) {
      const gateway = await start(provider, '--store', join(folder, `stop-${workers}`), '--workers', workers);
      const answer = await fetch(`${gateway.url}/v1/messages`, HELLO);
      const stopping = gateway.stop('SIGTERM');
      expect(await answer.text()).toContain('message_stop');
      expect(await stopping).toBe(0);
    }
  });
});

it('finish their streams when a terminal tells all of them to stop', { timeout: 120_000 }, async () => {
  const provider = await startProvider({
    script: jobScript({ turns: 2, streams: true }),
    faults: () => ({ kind: 'slow-stream', delayMs: 20 }),
  });
  closers.push(provider.close);
  // Which of them hears of it first, and which has nothing to finish, differs from time to time.
  for (let time = 0; time < 8; time++) {
    const gateway = await start(provider, '--store', join(folder, `group-${time}`), '--workers', '3');
    const answer = await fetch(`${gateway.url}/v1/messages`, HELLO);
    const stopping = gateway.stop('SIGINT', { isGroup: true });
    expect(await answer.text()).toContain('message_stop');
    expect([await stopping, gateway.output()]).toEqual([0, expect.not.stringContaining('Error')]);
  }
});

async function untilCounted(url: string, requests: number): Promise<void> {
  while ((await statusOf(url)).totals.requests < requests) await new Promise((resolve) => setTimeout(resolve, 20));
}

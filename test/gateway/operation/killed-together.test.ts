import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Pool } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createPostgresStore } from '../../../src/store/postgres-store.ts';
import { type GatewayProcess, startProcess } from '../../support/gateway/processes.ts';
import { anthropicBody, anthropicMessages, type Json, output } from '../../support/gateway/requests.ts';
import { type Received, startUpstream, type Upstream } from '../../support/gateway/upstream.ts';
import { ensureBuilt } from '../../support/modules.ts';
import { type OwnPostgresServer, startOwnPostgres } from '../../support/postgres.ts';

const CLIENTS = 4;
let folder = '';
let postgres: OwnPostgresServer;
let upstream: Upstream;
const gateways: GatewayProcess[] = [];

beforeAll(async () => {
  await ensureBuilt();
  folder = mkdtempSync(join(tmpdir(), 'palimpsest-killed-'));
  postgres = await startOwnPostgres();
  upstream = await startUpstream();
}, 240_000);

afterAll(async () => {
  for (const gateway of gateways) await gateway.stop('SIGKILL');
  await upstream?.close();
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function start(port = 0): Promise<GatewayProcess> {
  const flags = ['--port', String(port), '--upstream', `anthropic=${upstream.url}`, '--quiet'];
  const gateway = await startProcess([...flags, '--store', postgres.url, '--policy', 'sliding-window:turns=3'], folder);
  gateways.push(gateway);
  return gateway;
}

/** A conversation that grows by one result with each request, each request at the next gateway, as behind a balancer. */
class Client {
  turn = 0;
  isOver = false;
  /** Requests without an answer, and where they were sent. */
  readonly failed: string[] = [];
  readonly answered: Promise<void>;
  readonly #name: string;

  constructor(name: string, urls: readonly string[]) {
    this.#name = name;
    this.answered = this.#run(urls);
  }

  async #run(urls: readonly string[]): Promise<void> {
    while (!this.isOver) {
      const next = [...urls, ...urls].slice(this.turn % urls.length);
      while (!(await this.#isAnswered(next.shift() as string)));
      this.turn += 1;
      await setTimeout(10);
    }
  }

  /** A gateway that takes no connection has not seen the request: the next one is asked. */
  async #isAnswered(url: string): Promise<boolean> {
    const results = (turn: number): string => resultOf(this.#name, turn);
    const [task, ...turns] = anthropicMessages(this.turn + 1, { results }) as [Json, ...Json[]];
    const body = anthropicBody([{ ...task, content: `Task of ${this.#name}` }, ...turns]);
    const headers = { 'x-api-key': this.#name, 'anthropic-version': '2023-06-01', 'x-client': this.#name };
    try {
      const answer = await fetch(`${url}/v1/messages`, { method: 'POST', headers, body: JSON.stringify(body) });
      expect([answer.status, await answer.text()]).toEqual([200, '{}']);
      return true;
    } catch (error) {
      if ((error as { cause?: { code?: string } }).cause?.code !== 'ECONNREFUSED') this.failed.push(url);
      return false;
    }
  }
}

const resultOf = (name: string, turn: number): string => `${name}\n${output(turn)}`;

/** What each result of a request was sent as, by the id of its call. */
function sentResults({ body }: Received): Map<string, string> {
  const { messages } = JSON.parse(body.toString()) as { messages: { content: string | Json[] }[] };
  const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
  const results = blocks.filter(({ type }) => type === 'tool_result');
  return new Map(results.map(({ tool_use_id, content }) => [String(tool_use_id), JSON.stringify(content)]));
}

const HANDLE = /p_[a-z2-7]{26}/g;

/** Masks of a conversation in the order in which they were sent; a result that is shown again after a mask is a break. */
function masksIn(requests: readonly Received[]): { masks: Map<string, string>; breaks: string[] } {
  const masks = new Map<string, string>();
  const breaks: string[] = [];
  for (const request of requests)
    for (const [id, content] of sentResults(request)) {
      const known = masks.get(id);
      if (known !== undefined && known !== content) breaks.push(id);
      if (/p_[a-z2-7]{26}/.test(content)) masks.set(id, content);
    }
  return { masks, breaks };
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await setTimeout(10);
}

it('a gateway and the database that are killed under traffic, and start again, lose nothing that was sent', {
  timeout: 240_000,
}, async () => {
  const [killed, other] = [await start(), await start()];
  const clients = Array.from({ length: CLIENTS }, (_, i) => new Client(`client-${i}`, [killed.url, other.url]));
  const turnsMore = async (turns: number): Promise<void> => {
    const at = clients.map(({ turn }) => turn);
    const over = Promise.all(clients.map(({ answered }) => answered));
    await Promise.race([over, until(() => clients.every(({ turn }, i) => turn >= (at[i] as number) + turns))]);
  };
  await turnsMore(12);
  const beforeKill = upstream.received.length;
  await Promise.all([killed.stop('SIGKILL'), postgres.kill()]);
  // The other gateway serves without its store.
  await turnsMore(6);
  await Promise.all([postgres.start(), start(killed.port)]);
  await turnsMore(4);
  const afterStart = upstream.received.length;
  await turnsMore(12);
  for (const client of clients) client.isOver = true;
  await Promise.all(clients.map(({ answered }) => answered));

  for (const { failed } of clients) expect(failed).toEqual(failed.length === 0 ? [] : [killed.url]);
  const pool = new Pool({ connectionString: postgres.url });
  const store = createPostgresStore({ pool });
  for (const [i, { turn }] of clients.entries()) {
    const name = `client-${i}`;
    const mine = (requests: readonly Received[]) => requests.filter(({ headers }) => headers['x-client'] === name);
    const originals = new Set(Array.from({ length: turn + 1 }, (_, at) => resultOf(name, at + 1)));
    const sent = mine(upstream.received);
    // Every mask that was ever sent can be recalled.
    const handles = [...new Set(sent.flatMap(({ body }) => body.toString().match(HANDLE) ?? []))];
    expect(handles.length).toBeGreaterThan(20);
    for (const stored of await store.getMany(handles)) expect(originals).toContain(stored?.text);
    // Masks from before are sent again in the same words, and stay.
    const before = masksIn(mine(upstream.received.slice(0, beforeKill)));
    const after = masksIn(mine(upstream.received.slice(afterStart)));
    expect([before.breaks, after.breaks]).toEqual([[], []]);
    expect(before.masks.size).toBeGreaterThan(5);
    for (const [id, mask] of before.masks) expect([id, after.masks.get(id)]).toEqual([id, mask]);
  }
  expect(await store.verify()).toEqual([]);
  await store.close();
  await pool.end();
});

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ConversationSummary } from '../../../src/gateway/receipts/receipt.ts';
import type { ConversationDetail } from '../../../src/gateway/receipts/receipt-log.ts';
import { slidingWindow } from '../../../src/plan/policies/sliding-window.ts';
import type { RequestRecord } from '../../../src/report/request-record.ts';
import { openWithLimits } from '../../../src/store/embedded/open-with-limits.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { createPostgresStore } from '../../../src/store/postgres-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { changedStore, startGateway } from '../../support/gateway/gateway.ts';
import { type GatewayProcess, startProcess } from '../../support/gateway/processes.ts';
import { anthropicBody, anthropicMessages, type Json } from '../../support/gateway/requests.ts';
import { startUpstream, type Upstream } from '../../support/gateway/upstream.ts';
import { ensureBuilt, ROOT } from '../../support/modules.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { collect } from '../../support/store/stores.ts';

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-records-'));
const closers: (() => Promise<unknown>)[] = [];
let upstream: Upstream;
let postgres: PostgresServer;

beforeAll(async () => {
  await ensureBuilt();
  postgres = await startPostgres();
}, 240_000);
afterAll(async () => {
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const ANSWER = {
  content: [{ type: 'text', text: 'Done.' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 50, cache_read_input_tokens: 4000, output_tokens: 7 },
};

async function startAnthropic(answer: object = ANSWER): Promise<Upstream> {
  upstream = await startUpstream((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answer));
  });
  closers.push(upstream.close);
  return upstream;
}

const post = async (url: string, body: object, path = '/v1/messages'): Promise<number> => {
  const headers = { 'content-type': 'application/json', 'x-api-key': 'sk-one' };
  const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  await response.arrayBuffer();
  return response.status;
};

const allIn = (store: Store): Promise<RequestRecord[]> => collect(store.records?.() as AsyncIterable<RequestRecord>);

/** The records in a folder, while another process may write there. */
async function inFolder(path: string): Promise<RequestRecord[]> {
  const store = await openStore({ path, mode: 'read' });
  try {
    return await allIn(store);
  } finally {
    await store.close();
  }
}

async function untilWritten(path: string, count: number): Promise<void> {
  for (let n = 0; n < 600 && (await inFolder(path)).length < count; n++) await sleep(50);
}

async function serve(...args: readonly string[]): Promise<GatewayProcess> {
  const { url } = await startAnthropic();
  const gateway = await startProcess(['--port', '0', '--upstream', `anthropic=${url}`, ...args], folder);
  closers.push(() => gateway.stop());
  return gateway;
}

describe('the record of a request', () => {
  it('has the numbers of its receipt, the bill, and the estimate that was made before the answer', async () => {
    const { url } = await startAnthropic();
    const store = createMemoryStore();
    const gateway = await startGateway(url, { store, policy: slidingWindow({ turns: 2 }) });
    const began = Date.now();
    for (const turns of [1, 2, 8]) await post(gateway.url, anthropicBody(anthropicMessages(turns)));
    const { conversations } = await gateway.ask<{ conversations: ConversationSummary[] }>('conversations');
    const id = conversations[0]?.id ?? '';
    const { receipts } = await gateway.ask<ConversationDetail>(`conversations/${id}`);
    await gateway.close();
    const records = await allIn(store);
    expect(records.map((record) => record.id)).toEqual(receipts.map((receipt) => receipt.id));
    const last = records[2] as RequestRecord;
    const receipt = receipts[2];
    expect(last).toMatchObject({
      ...{ session: id, conversation: id, arm: 'treated', api: 'anthropic', model: 'claude-sonnet-5', status: 200 },
      ...{ act: receipt?.act, masked: 6, newMasks: receipt?.newMasks.length },
      prices: { name: 'anthropic-5m', read: 0.1, write: 1.25 },
      billed: { cached: 4000, written: 50, output: 7 },
      without: { cached: receipt?.without.cached, written: receipt?.without.written },
    });
    const { sent, without } = last.expected;
    expect(without.cached + without.written).toBeGreaterThan(2 * (sent.cached + sent.written));
    expect(records.every(({ at }) => at >= began && at <= Date.now())).toBe(true);
  });

  it.each([
    ['treated', {}, 6],
    ['held-out', { holdout: 1 }, 0],
    ['shadow', { shadow: true }, 0],
  ] as const)(
    'has its session, its arm (%s) and an estimate that is made alike in all arms',
    async (arm, options, masked) => {
      const { url } = await startAnthropic();
      const store = createMemoryStore();
      const gateway = await startGateway(url, { store, policy: slidingWindow({ turns: 2 }), ...options });
      const metadata = { user_id: 'user_1_account_2_session_mine' };
      for (const turns of [0, 8]) await post(gateway.url, anthropicBody(anthropicMessages(turns), { metadata }));
      await gateway.close();
      const [first, last] = (await allIn(store)) as [RequestRecord, RequestRecord];
      expect([first.arm, last.arm, last.masked, last.session === first.session]).toEqual([arm, arm, masked, true]);
      expect([last.session === last.conversation, JSON.stringify(last).includes('mine')]).toEqual([false, false]);
      expect(last.holdoutShare).toBe(arm === 'held-out' ? 1 : undefined);
      const { sent, without } = last.expected;
      expect(without.cached + without.written).toBeGreaterThan(2 * (sent.cached + sent.written));
      expect(last.signs).toEqual({ results: 8, failed: 0, repeated: 0, recalls: 0, isFinal: true });
      expect((await store.delete(`g-${last.session}`)).records).toBe(2);
    },
  );

  it('has what the provider said to an edited request as a number only', async () => {
    const refusing = await startUpstream((_request, response, body) => {
      const isEdited = body.includes('p_');
      response.writeHead(isEdited ? 400 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(isEdited ? { error: { message: 'unwanted placeholder' } } : ANSWER));
    });
    closers.push(refusing.close);
    const store = createMemoryStore();
    const gateway = await startGateway(refusing.url, { store, policy: slidingWindow({ turns: 2 }) });
    await post(gateway.url, anthropicBody(anthropicMessages(8)));
    await gateway.close();
    const records = await allIn(store);
    expect(records).toMatchObject([{ refused: 400, status: 200, masked: 0, newMasks: 0 }]);
    expect(JSON.stringify(records)).not.toContain('unwanted');
  });
});

describe('records of a process', () => {
  it.each(['1', '2'])('with %s worker(s) are all written before it ends', { timeout: 120_000 }, async (workers) => {
    const path = join(folder, `ends-${workers}`);
    const gateway = await serve('--store', path, '--workers', workers);
    for (let turns = 1; turns <= 12; turns++) await post(gateway.url, anthropicBody(anthropicMessages(turns)));
    expect(await gateway.stop('SIGTERM')).toBe(0);
    const records = await inFolder(path);
    expect([records.length, new Set(records.map(({ id }) => id)).size]).toEqual([12, 12]);
    expect(records.every(({ billed, signs }) => billed?.output === 7 && signs.isFinal)).toBe(true);
  });

  it.each(['1', '2'])('with %s worker(s) survive kill -9 and a restart', { timeout: 120_000 }, async (workers) => {
    const path = join(folder, `killed-${workers}`);
    const first = await serve('--store', path, '--workers', workers);
    for (let turns = 1; turns <= 5; turns++) await post(first.url, anthropicBody(anthropicMessages(turns)));
    await untilWritten(path, 5);
    await first.stop('SIGKILL', { isGroup: true });
    const second = await serve('--store', path, '--workers', workers);
    for (let turns = 6; turns <= 8; turns++) await post(second.url, anthropicBody(anthropicMessages(turns)));
    expect(await second.stop('SIGTERM')).toBe(0);
    const records = await inFolder(path);
    expect(records.length).toBe(8);
    expect(records.reduce((sum, { signs }) => sum + signs.results, 0)).toBe(8);
    const store = await openStore({ path, mode: 'read' });
    expect([await store.verify(), (await store.stats()).records]).toEqual([[], 8]);
    await store.close();
  });

  it('of two gateways are in their one database', { timeout: 120_000 }, async () => {
    const database = `${postgres.url}`;
    const gateways = [await serve('--store', database), await serve('--store', database)];
    for (let turns = 1; turns <= 6; turns++)
      await post((gateways[turns % 2] as GatewayProcess).url, anthropicBody(anthropicMessages(turns)));
    for (const gateway of gateways) expect(await gateway.stop('SIGTERM')).toBe(0);
    const pool = new Pool({ connectionString: database });
    const store = createPostgresStore({ pool });
    const records = await allIn(store);
    expect(records.map(({ signs }) => signs.results)).toEqual([1, 1, 1, 1, 1, 1]);
    expect(new Set(records.map(({ id }) => id.slice(0, 13))).size).toBe(2);
    expect(new Set(records.map(({ conversation }) => conversation)).size).toBe(1);
    await store.delete(`g-${records[0]?.conversation}`);
    expect(await allIn(store)).toEqual([]);
    await pool.end();
  });

  it('are counted by palimpsest store stats and removed by prune', { timeout: 60_000 }, async () => {
    const path = join(folder, 'pruned');
    const gateway = await serve('--store', path);
    await post(gateway.url, anthropicBody(anthropicMessages(1)));
    await gateway.stop('SIGTERM');
    const cli = (...args: string[]): string => {
      const main = join(ROOT, 'dist/cli/main.js');
      const env = { PATH: process.env.PATH, HOME: folder };
      const ran = spawnSync(process.execPath, [main, 'store', ...args, '--store', path], { encoding: 'utf8', env });
      return ran.stdout + ran.stderr;
    };
    expect(cli('stats')).toContain('1 record of requests');
    expect(cli('delete', '--older-than', '30d')).toBe('nothing to remove\n');
    expect(cli('export')).toContain('{"type":"record","id":');
    expect(cli('prune', '--max-bytes', '1')).toContain('1 record of requests');
    expect(readdirSync(join(path, 'default/records'))).toEqual([]);
  });
});

describe('a store in trouble', () => {
  it('that never answers about records delays no request and no close for long', async () => {
    const { url } = await startAnthropic();
    const store = changedStore(createMemoryStore(), {
      putRecords: () => new Promise(() => {}),
      records: async function* () {},
    });
    const gateway = await startGateway(url, { store });
    for (let turns = 1; turns <= 30; turns++) {
      expect(await post(gateway.url, anthropicBody(anthropicMessages(turns)))).toBe(200);
      if (turns === 10) await sleep(1200);
    }
    await gateway.close();
    expect(gateway.logged.find(({ message }) => message.includes('records were lost'))).toMatchObject({ records: 30 });
    expect(gateway.logged.filter(({ message }) => message.includes('nothing new is masked'))).toEqual([]);
  }, 30_000);

  it('that knows no records is used as before', async () => {
    const { url } = await startAnthropic();
    const store = changedStore(createMemoryStore(), {});
    expect(store.putRecords).toBeUndefined();
    const gateway = await startGateway(url, { store });
    expect(await post(gateway.url, anthropicBody(anthropicMessages(2)))).toBe(200);
    await gateway.close();
    expect(gateway.logged.map(({ level }) => level)).toEqual(['info']);
  });
});

const disk = mkdtempSync(join(tmpdir(), 'palimpsest-records-full-'));
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', disk]);
afterAll(() => {
  if (mounted.status === 0) spawnSync('umount', [disk]);
  rmSync(disk, { recursive: true });
});

// A file system of 4 MB can be mounted only by a user who may.
describe.skipIf(mounted.status !== 0)('a gateway on a full disk', () => {
  it('answers as before, and writes each record once when there is room', async () => {
    const { url } = await startAnthropic();
    const path = join(disk, 'store');
    mkdirSync(path);
    const store = await openWithLimits({ path });
    const gateway = await startGateway(url, { store });
    const filler = join(disk, 'filler');
    for (let bytes = 1 << 20; bytes >= 4096; ) {
      try {
        writeFileSync(filler, Buffer.alloc(bytes), { flag: 'a' });
      } catch {
        bytes /= 2;
      }
    }
    for (let turns = 1; turns <= 20; turns++)
      expect(await post(gateway.url, anthropicBody(anthropicMessages(turns)))).toBe(200);
    const failures = () => gateway.logged.filter(({ message }) => message.includes('records could not be written'));
    for (let n = 0; n < 200 && failures().length === 0; n++) await sleep(50);
    expect(failures()).toMatchObject([{ level: 'warn', code: 'STORE_FAILED' }]);
    expect(await allIn(store)).toEqual([]);
    rmSync(filler);
    await gateway.close();
    expect(new Set((await allIn(store)).map(({ id }) => id)).size).toBe(20);
    expect([(await allIn(store)).length, await store.verify()]).toEqual([20, []]);
    await store.close();
  }, 60_000);
});

describe('no record', () => {
  /** In every text of a request, of its headers and of its answer. */
  const WORD = 'xylograph';
  const word = (n: number): string => `${WORD}${n}`;
  const answered = { ...ANSWER, id: word(0), content: [{ type: 'text', text: word(1) }], stop_sequence: word(2) };

  const bodies: Readonly<Record<string, Json>> = {
    '/v1/messages': {
      model: 'claude-sonnet-5',
      max_tokens: 10,
      system: word(3),
      metadata: { user_id: word(4) },
      tools: [{ name: word(5), description: word(6), input_schema: {} }],
      messages: anthropicMessages(8, { results: (turn) => `${word(turn)} exit code: 1\n`.repeat(200) }).map(
        (message, i) => (i === 0 ? { role: 'user', content: word(7) } : message),
      ),
    },
    '/v1/chat/completions': {
      model: 'gpt-5',
      user: word(8),
      tools: [{ type: 'function', function: { name: word(9), description: word(10) } }],
      messages: [
        { role: 'system', content: word(11) },
        { role: 'user', content: word(12) },
        {
          role: 'assistant',
          tool_calls: [
            { id: word(13), type: 'function', function: { name: word(14), arguments: `{"a":"${word(15)}"}` } },
          ],
        },
        { role: 'tool', tool_call_id: word(13), content: word(16) },
      ],
    },
    '/v1/responses': {
      model: 'gpt-5',
      instructions: word(17),
      input: [
        { role: 'user', content: word(18) },
        { type: 'reasoning', summary: [{ type: 'summary_text', text: word(19) }] },
        { type: 'function_call', call_id: word(20), name: word(21), arguments: word(22) },
        { type: 'function_call_output', call_id: word(20), output: word(23) },
      ],
    },
    '/v1beta/models/gemini-3-pro:generateContent': {
      systemInstruction: { parts: [{ text: word(24) }] },
      contents: [
        { role: 'user', parts: [{ text: word(25) }] },
        { role: 'model', parts: [{ functionCall: { name: word(26), args: { a: word(27) } } }] },
        { role: 'user', parts: [{ functionResponse: { name: word(26), response: { error: word(28) } } }] },
      ],
    },
    '/api/chat': { model: 'llama', messages: [{ role: 'user', content: word(29) }] },
  };

  async function sendAll(store: Store): Promise<void> {
    const { url } = await startAnthropic(answered);
    const gateway = await startGateway(url, { store, policy: slidingWindow({ turns: 2 }) });
    for (const [path, body] of Object.entries(bodies)) await post(gateway.url, body, path);
    await post(gateway.url, { ...bodies['/v1/responses'], previous_response_id: word(30) }, '/v1/responses');
    const headers = { authorization: `Bearer ${word(31)}`, 'user-agent': word(32), 'x-session-id': word(33) };
    const request = { method: 'POST', headers, body: `not JSON ${word(34)}` };
    await (await fetch(`${gateway.url}/v1/messages?key=${word(35)}`, request)).arrayBuffer();
    await gateway.close();
    expect((await allIn(store)).length).toBe(7);
  }

  it('in a folder has anything of a text', async () => {
    const path = join(folder, 'wordless');
    const store = await openStore({ path });
    await sendAll(store);
    // The masked results are there, where they belong.
    expect((await collect(store.search(WORD))).length).toBeGreaterThan(0);
    await store.close();
    const records = join(path, 'default/records');
    const files = readdirSync(records).map((name) => readFileSync(join(records, name), 'latin1'));
    expect([files.length > 0, files.join('').includes(WORD), files.join('').includes('sk-one')]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('in a database has anything of a text', async () => {
    const pool = new Pool({ connectionString: postgres.url });
    const store = createPostgresStore({ pool, tenant: 'wordless' });
    await sendAll(store);
    const { rows } = await pool.query(`SELECT records::text AS row FROM palimpsest.records WHERE tenant = 'wordless'`);
    const texts = rows.map(({ row }) => String(row)).join('\n');
    expect([rows.length, texts.includes(WORD), texts.includes('sk-one')]).toEqual([7, false, false]);
    await pool.end();
  });
});

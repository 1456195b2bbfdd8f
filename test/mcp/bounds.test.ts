import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it } from 'vitest';
import { type HttpServer, serveHttp } from '../../src/mcp/serve-http.ts';
import { serveStdio } from '../../src/mcp/serve-stdio.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import { searchTexts } from '../../src/store/search-texts.ts';
import type { Store } from '../../src/store/store.ts';

const servers: HttpServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function serve(store: Store): Promise<string> {
  const server = await serveHttp({ store, session: 's' }, { port: 0 });
  servers.push(server);
  return server.url;
}

const call = (name: string, args: object, id = 1): object => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
});

async function post(url: string, body: unknown): Promise<{ status: number; text: string }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

/** A client that asks and can leave. Not `fetch`, which keeps the connection where its own signal was garbage-collected. */
function ask(url: string, body: unknown): { heard(): string; leave(): void } {
  let heard = '';
  const client = request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    agent: false,
  });
  client
    .on('error', () => {})
    .on('response', (response) => {
      response
        .on('error', () => {})
        .on('data', (part) => {
          heard += part;
        });
    });
  client.end(JSON.stringify(body));
  return { heard: () => heard, leave: () => void client.destroy() };
}

interface Watched<T> {
  readonly value: T;
  /** The longest time in which nothing else had its turn. */
  readonly longestMs: number;
  readonly allMs: number;
  /** How often the event loop turned. */
  readonly turns: number;
}

async function watchLoop<T>(work: () => Promise<T>): Promise<Watched<T>> {
  const startMs = performance.now();
  let [last, longestMs, turns, isOver] = [startMs, 0, 0, false];
  const tick = (): void => {
    turns += 1;
    longestMs = Math.max(longestMs, performance.now() - last);
    last = performance.now();
    if (!isOver) setImmediate(tick);
  };
  setImmediate(tick);
  const value = await work();
  isOver = true;
  tick();
  return { value, longestMs, turns, allMs: performance.now() - startMs };
}

describe('the MCP server', () => {
  // Only /proc tells how many threads there are.
  it.skipIf(process.platform !== 'linux')(
    'runs all patterns of many batches in a few processes, with few threads',
    async () => {
      const store = createMemoryStore();
      await store.put('one line\nanother line', { session: 's', turn: 1 });
      const url = await serve(store);
      const threads = (): number => Number(/^Threads:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
      const before = threads();
      let most = 0;
      const watching = setInterval(() => {
        most = Math.max(most, threads());
      }, 5);
      const batch = Array.from({ length: 30 }, (_, i) =>
        call('search_masked', { query: `l.ne|${i}`, regex: true }, i + 1),
      );
      const answers = await Promise.all(Array.from({ length: 6 }, () => post(url, batch)));
      clearInterval(watching);
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      expect(answers[0]?.text).toContain('matching lines 1–2');
      // Two for patterns, each with what the engine starts beside it.
      expect(most - before).toBeLessThan(15);
    },
    60_000,
  );

  it('refuses a batch of too many messages and a body that is too large', async () => {
    const url = await serve(createMemoryStore());
    const batch = Array.from({ length: 33 }, (_, i) => call('list_masked', {}, i + 1));
    expect(await post(url, batch)).toMatchObject({
      status: 400,
      text: expect.stringContaining('Expected a batch of at most 32 messages but found 33'),
    });
    expect(await post(url, batch.slice(1))).toMatchObject({ status: 200 });
    expect(await post(url, call('list_masked', { handle: 'p'.repeat(1024 * 1024) }))).toMatchObject({ status: 413 });
  });

  it('refuses a batch with two calls of one id', async () => {
    const url = await serve(createMemoryStore());
    expect(await post(url, [call('list_masked', {}, 1), call('list_masked', {}, 1)])).toMatchObject({
      status: 400,
      text: expect.stringContaining('Expected calls with different ids but found an id twice'),
    });
  });

  it('refuses a query that is longer than any', async () => {
    const url = await serve(createMemoryStore());
    const { text } = await post(url, call('search_masked', { query: 'q'.repeat(10_001) }));
    expect(text).toContain('10000');
    expect(text).toContain('"isError":true');
  });

  it.each([
    ['list_masked', {}, 'masked texts 1–'],
    ['context_report', {}, 'session s: 150 texts'],
    ['search_masked', { query: 'no such line' }, 'no line matches'],
  ])(
    'lets everyone else have a turn while %s works on a large session',
    async (name, args, expected) => {
      const store = createMemoryStore();
      const lines = '\n'.repeat(1_000_000);
      await store.putMany(
        Array.from({ length: 150 }, (_, turn) => ({
          text: `text ${turn}${lines}${turn}`,
          about: { session: 's', turn },
        })),
      );
      const url = await serve(store);
      // The first call loads code.
      await post(url, call('recall', { handle: 'none' }));
      const { value, longestMs, allMs } = await watchLoop(() => post(url, call(name, args)));
      expect(value.text).toContain(expected);
      expect(longestMs).toBeLessThan(Math.max(500, allMs / 2));
    },
    60_000,
  );
});

describe('a session of many short texts', () => {
  it.each([
    ['list_masked', 'of 100000'],
    ['context_report', 'session s: 100,000 texts'],
    ['list_turns', 'of 100000'],
  ])(
    'is walked in many short steps by %s',
    async (name, expected) => {
      const store = createMemoryStore();
      const about = { session: 's', turn: 1 };
      await store.putMany(Array.from({ length: 100_000 }, (_, i) => ({ text: `t${i}`, about })));
      const record = { session: 's', reasoning: '', action: 'a', observation: '', masked: false };
      await store.putTurns(Array.from({ length: 100_000 }, (_, turn) => ({ ...record, turn })));
      const url = await serve(store);
      await post(url, call('recall', { handle: 'none' }));
      const { value, turns } = await watchLoop(() => post(url, call(name, {})));
      expect(value.text).toContain(expected);
      // Those of the request itself are fewer than 10.
      expect(turns).toBeGreaterThan(15);
    },
    60_000,
  );
});

/** Six batches of 32 calls at once: the text of all answers. */
async function ask192(url: string, name: string, args: object = {}): Promise<string> {
  const batch = Array.from({ length: 32 }, (_, i) => call(name, args, i + 1));
  const answers = await Promise.all(Array.from({ length: 6 }, () => post(url, batch)));
  return answers.map(({ text }) => text).join('\n');
}

const countOf = (text: string, part: string): number => text.split(part).length - 1;

describe('many calls at once', () => {
  it.each([
    ['list_masked', 'masked texts 1–30 of 30'],
    ['context_report', 'session s: 30 texts'],
    ['search_masked', 'no line matches'],
    ['list_turns', '1–30 of 30'],
  ])('of %s let everyone else have a turn; those beyond the queue are refused', async (name, expected) => {
    const store = createMemoryStore();
    for (let turn = 1; turn <= 30; turn++) {
      const observation = `text ${turn}\n${'line\n'.repeat(200_000)}`;
      await store.put(observation, { session: 's', turn });
      await store.putTurn({ session: 's', turn, reasoning: '', action: '', observation, masked: false });
    }
    const url = await serve(store);
    const args = name === 'search_masked' ? { query: 'no such line' } : {};
    await post(url, call(name, args));
    const { value, turns } = await watchLoop(() => ask192(url, name, args));
    const answered = countOf(value, expected);
    const refused = countOf(value, 'Expected room for this call but 64 others wait; call again in a moment');
    expect(countOf(value, '"isError":true')).toBe(refused);
    expect(answered + refused).toBe(192);
    expect(answered).toBeGreaterThanOrEqual(66);
    expect(refused).toBeGreaterThan(0);
    expect(turns).toBeGreaterThan(30);
    expect((await post(url, call(name, args))).text).toContain(expected);
  });

  it('of recall on a large text let everyone else have a turn', async () => {
    const store = createMemoryStore();
    const handle = await store.put('a\n'.repeat(5_000_000), { session: 's', turn: 1 });
    const url = await serve(store);
    await post(url, call('recall', { handle }));
    const batch = Array.from({ length: 32 }, (_, i) => call('recall', { handle, lines: [7, 8] }, i + 1));
    const { value, turns } = await watchLoop(() => post(url, batch));
    expect(countOf(value.text, 'lines 7–8 of 5000000')).toBe(32);
    expect(turns).toBeGreaterThan(12);
  });

  it('lets everyone else have a turn while one text of 20 MB is searched for a plain text', async () => {
    const store = createMemoryStore();
    await store.put('a\n'.repeat(10_000_000), { session: 's', turn: 1 });
    const url = await serve(store);
    await post(url, call('recall', { handle: 'none' }));
    const { value, turns } = await watchLoop(() => post(url, call('search_masked', { query: 'a', skip: 1_000_000 })));
    expect(value.text).toContain('matching lines 1000001–1000050');
    expect(turns).toBeGreaterThan(5);
  });
});

/** Endless texts and turns. `ends` has the name of the error with which each walk over them ended. */
function createEndlessStore() {
  const ends: unknown[] = [];
  const started: string[] = [];
  async function* walk<T>(name: string, items: AsyncIterable<T>): AsyncGenerator<T> {
    started.push(name);
    let end: unknown = 'left';
    try {
      yield* items;
    } catch (error) {
      end = (error as { code?: unknown }).code;
      throw error;
    } finally {
      ends.push(end);
    }
  }
  async function* endless<T>(item: T): AsyncGenerator<T> {
    for (;;) yield item;
  }
  const text = `${'a'.repeat(28)}b`;
  const texts = () => endless({ handle: 'p_aaaaaaaaaaaaaaaaaaaaaaaaaa' as const, text, bytes: text.length, refs: [] });
  const turn = { session: 's', turn: 1, reasoning: '', action: '', observation: text, masked: false };
  const store: Store = Object.assign(createMemoryStore(), {
    list: () => walk('list', texts()),
    turns: () => walk('turns', endless(turn)),
    search: (...[query, options]: Parameters<Store['search']>) => walk('search', searchTexts(texts(), query, options)),
  });
  return { store, started, ends };
}

const WALKS: [name: string, args: object][] = [
  ['list_masked', {}],
  ['context_report', {}],
  ['list_turns', {}],
  ['search_masked', { query: 'no such line' }],
  ['search_masked', { query: 'no such l.ne', regex: true }],
];

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}

describe('a call whose client is gone', () => {
  it.each(WALKS)(
    'stops while it runs: %s %o over HTTP',
    async (name, args) => {
      const { store, started, ends } = createEndlessStore();
      const url = await serve(store);
      const client = ask(url, [call(name, args, 1), call(name, args, 2)]);
      await expect.poll(() => started.length).toBe(2);
      await sleep(50);
      collectGarbage();
      client.leave();
      await expect.poll(() => ends.length, { timeout: 20_000 }).toBe(2);
      expect(ends).not.toContain('TIMED_OUT');
    },
    60_000,
  );

  it.each(WALKS)(
    'stops while it runs: %s %o, cancelled over stdio',
    async (name, args) => {
      const { store, started, ends } = createEndlessStore();
      const [input, output] = [new PassThrough(), new PassThrough()];
      const server = serveStdio({ store, session: 's' }, { input, output });
      const tell = (message: object): unknown => input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
      const clientInfo = { name: 'test', version: '1' };
      tell({ id: 0, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } });
      tell({ method: 'notifications/initialized' });
      tell(call(name, args, 7));
      await expect.poll(() => started.length).toBe(1);
      tell({ method: 'notifications/cancelled', params: { requestId: 7 } });
      await expect.poll(() => ends.length, { timeout: 20_000 }).toBe(1);
      expect(ends).not.toContain('TIMED_OUT');
      await server.close();
    },
    60_000,
  );

  it('leaves the queue', async () => {
    const { store, ends, started } = createEndlessStore();
    const url = await serve(store);
    const holders = [1, 2].map(() => ask(url, call('list_masked', {})));
    await expect.poll(() => started.length).toBe(2);
    const batch = Array.from({ length: 32 }, (_, i) => call('search_masked', { query: '(a+)+$', regex: true }, i));
    const clients = [1, 2, 3].map(() => ask(url, batch));
    const refused = (): number => countOf(clients.map(({ heard }) => heard()).join(''), '64 others wait');
    await expect.poll(refused, { timeout: 20_000 }).toBe(32);
    for (const client of [...clients, ...holders]) client.leave();
    await expect.poll(() => ends.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(2);
    expect((await post(url, call('list_turns', { handle: 'none' }))).text).toContain('Expected a handle (p_');
  }, 60_000);
});

/** Of a process: R while it runs. */
function stateOf(pid: string): string | undefined {
  try {
    return /^State:\s+(\w)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}

describe('searches by a pattern', () => {
  it('are refused where too many wait already, and all others are answered', async () => {
    const store = createMemoryStore();
    await store.put('a line', { session: 's', turn: 1 });
    const search = async (): Promise<string> => {
      try {
        for await (const { text } of store.search('l.ne', { regex: true })) return text;
        return 'none';
      } catch (error) {
        return (error as { code: string }).code;
      }
    };
    const answers = await Promise.all(Array.from({ length: 100 }, search));
    expect(answers.filter((answer) => answer === 'a line')).toHaveLength(66);
    expect(answers.filter((answer) => answer === 'BUSY')).toHaveLength(34);
    expect(await search()).toBe('a line');
  });

  it('go on after one that took too long', async () => {
    const store = createMemoryStore();
    await store.put(`${'a'.repeat(40)}b`, { session: 's', turn: 1 });
    const searchFor = async (pattern: string): Promise<number> => {
      let found = 0;
      for await (const _ of store.search(pattern, { regex: true })) found += 1;
      return found;
    };
    // The second takes for ever before it is run: V8 compiles it in exponential time.
    const patterns = ['^(a+)+$', 'a?'.repeat(50) + 'a'.repeat(50)].flatMap((pattern) => [pattern, pattern, pattern]);
    const slow = patterns.map((pattern) => searchFor(pattern).catch((error) => error.code));
    expect(await Promise.all([...slow, searchFor('b$')])).toEqual([...patterns.map(() => 'TIMED_OUT'), 1]);
  }, 60_000);

  it.skipIf(process.platform !== 'linux')(
    'leave no process behind that works on',
    async () => {
      const store = createMemoryStore();
      await store.put('b', { session: 's', turn: 1 });
      const search = async (): Promise<void> => {
        for await (const _ of store.search('a?'.repeat(50) + 'a'.repeat(50), { regex: true }));
      };
      await expect(search()).rejects.toMatchObject({ code: 'TIMED_OUT' });
      const states = (): (string | undefined)[] =>
        readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(stateOf);
      await expect.poll(states, { timeout: 10_000 }).not.toContain('R');
    },
    60_000,
  );
});

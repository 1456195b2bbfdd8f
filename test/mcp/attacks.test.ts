import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStore } from '../../src/store/open-store.ts';
import { ask, type HttpChild, overHttp, overStdio, startHttp } from '../support/mcp-clients.ts';
import { ensureBuilt } from '../support/modules.ts';

const path = mkdtempSync(join(tmpdir(), 'palimpsest-attacks-'));
const TOKEN = 'a-token-of-the-server-itself';
const file = Array.from({ length: 500 }, (_, i) => `line ${i + 1} of a file`).join('\n');
let [own, hostile] = ['', ''];
let server: HttpChild;

beforeAll(async () => {
  await ensureBuilt();
  const store = await openStore({ path, mode: 'write' });
  own = await store.put(file, { session: 'mine', turn: 1, tool: 'read_file' });
  hostile = await store.put(`${'a'.repeat(60)}!${'x'.repeat(60)} ${' '.repeat(30_000)}.`, { session: 'mine', turn: 2 });
  await store.putTurn({ session: 'mine', turn: 1, reasoning: 'r', action: 'a', observation: 'o', masked: false });
  await store.close();
  server = await startHttp(['--store', path, '--whole-store'], { PALIMPSEST_TOKEN: TOKEN });
}, 240_000);

afterAll(async () => {
  await server?.stop();
  rmSync(path, { recursive: true, force: true });
});

const ways: readonly [string, () => Promise<Client>][] = [
  ['streamable HTTP', () => overHttp(server.url, 'legacy', { authorization: `Bearer ${TOKEN}` })],
  ['stdio', () => overStdio(['--store', path, '--whole-store'], 'legacy')],
];

describe.each(ways)('a client that attacks over %s', (way, open) => {
  let client: Client;
  beforeAll(async () => {
    client = await open();
  });
  afterAll(() => client.close());

  /** After all that was tried, an honest call is answered. */
  const stillAnswers = async (): Promise<void> =>
    expect((await ask(client, 'recall', { handle: own, lines: [7, 7] })).text).toContain('line 7 of a file');

  it.each([
    ['../../etc/passwd'],
    ['/etc/passwd'],
    ['..\\..\\secret'],
    ['default/secret'],
    [`p_${'../'.repeat(9)}`.slice(0, 28)],
    ['p_\0'.padEnd(28, 'a')],
    [`p_${'a'.repeat(25)}\n`],
    ['\ud800'],
    ['p_'.repeat(500_000)],
    ['__proto__'],
  ])('reads no file by the handle %j', async (handle) => {
    for (const [tool, input] of [
      ['recall', {}],
      ['search_masked', { query: 'root' }],
      ['list_masked', {}],
      ['list_turns', { turn: 1 }],
      ['context_report', {}],
    ] as const) {
      const { text, isError } = await ask(client, tool, { handle, ...input });
      expect([tool, isError]).toEqual([tool, true]);
      expect(text).toMatch(/handle/);
      expect(text.length).toBeLessThan(1000);
      expect(text).not.toMatch(/root:|ENOENT|\0|[0-9a-f]{64}/);
    }
    await stillAnswers();
  });

  it('gets no more than there is by a range that is huge', async () => {
    const answered: readonly [string, object, RegExp][] = [
      ['recall', { lines: [1, 1e9] }, /lines 1–500 of 500/],
      ['recall', { head: 1e9 }, /lines 1–500 of 500/],
      ['recall', { tail: 1e9 }, /lines 1–500 of 500/],
      ['list_masked', { skip: 1e9 }, /masked texts none of 2/],
      ['list_turns', { skip: 1e9 }, /none of 1/],
      ['search_masked', { query: 'line', skip: 1e9, limit: 1000 }, /no line matches/],
    ];
    for (const [tool, input, said] of answered) {
      const { text, isError } = await ask(client, tool, { handle: own, ...input });
      expect([tool, input, isError]).toEqual([tool, input, false]);
      expect(text).toMatch(said);
      expect(text.length).toBeLessThanOrEqual(20_000);
    }
    const refused: readonly [string, object][] = [
      ['recall', { lines: [1e9, 1e9] }],
      ['recall', { lines: [1, 1e300] }],
      ['recall', { lines: [5, 2] }],
      ['recall', { offset: 1e9 }],
      ['recall', { head: 1.5 }],
      ['recall', { grep: 'line', context: 1e9 }],
      ['list_turns', { turn: 1e9 }],
      ['list_turns', { turn: 1, offset: 1e9 }],
      ['list_masked', { skip: Number.MAX_SAFE_INTEGER }],
      ['search_masked', { query: 'line', limit: 1e9 }],
      ['search_masked', { query: 'line', skip: -1 }],
    ];
    for (const [tool, input] of refused)
      expect([tool, input, (await ask(client, tool, { handle: own, ...input })).isError]).toEqual([tool, input, true]);
    await stillAnswers();
  });

  it('cannot keep the server busy with a pattern', async () => {
    const patterns = [
      '(a+)+$',
      '(a|aa)+$',
      '(a|a)*b',
      '^(([a-z])+.)+[A-Z]([a-z])+$',
      '(.*)*y',
      '(x+x+)+y',
      '\\s+$',
      '(?:a{1,1000}){1,1000}b',
      `${'('.repeat(5000)}a${')'.repeat(5000)}`,
      '(?:'.repeat(5000),
    ];
    // Each is stopped after a second or so. Pairwise: every pattern meets both tools and both ways, once each.
    const first = way === 'stdio' ? 0 : 1;
    for (const [n, pattern] of patterns.entries()) {
      const [tool, input] =
        (n + first) % 2 === 0
          ? (['recall', { grep: pattern }] as const)
          : (['search_masked', { query: pattern, regex: true }] as const);
      const { text } = await ask(client, tool, { handle: hostile, ...input });
      expect(text.length).toBeLessThanOrEqual(20_000);
    }
    await stillAnswers();
  }, 200_000);
});

describe('palimpsest mcp --http with little memory', () => {
  const large = mkdtempSync(join(tmpdir(), 'palimpsest-large-'));
  afterAll(() => rmSync(large, { recursive: true, force: true }));

  it('survives a search that skips millions of matches', async () => {
    const store = await openStore({ path: large, mode: 'write' });
    const handle = await store.put('a\n'.repeat(6_000_000), { session: 'mine', turn: 1 });
    await store.close();
    const small = await startHttp(['--store', large, '--whole-store'], { NODE_OPTIONS: '--max-old-space-size=256' });
    try {
      const client = await overHttp(small.url, 'legacy', {});
      for (const input of [{ query: 'a' }, { query: 'a', regex: true }]) {
        const { text, isError } = await ask(client, 'search_masked', { handle, skip: 1e9, ...input });
        expect([isError, text]).toEqual([false, expect.stringMatching(/no line matches after the first \d+;/)]);
      }
      const { text } = await ask(client, 'search_masked', { handle, query: 'a', skip: 100_000 });
      expect(text).toContain('matching lines 100001–100050;');
      await client.close();
    } finally {
      await small.stop();
    }
  });
});

describe('palimpsest mcp --http', () => {
  /** With a Host of one's own, which `fetch` does not allow. */
  async function statusOf(headers: Readonly<Record<string, string>>, url = server.url): Promise<number> {
    const all = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers };
    const sent = httpRequest(url, { method: 'POST', headers: all, agent: false });
    sent.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }));
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    answer.resume();
    return answer.statusCode ?? 0;
  }

  it('answers neither a wrong token, nor a foreign name, nor a foreign page', async () => {
    const token = { authorization: `Bearer ${TOKEN}` };
    expect(await statusOf(token)).toBe(200);
    for (const authorization of ['', 'Bearer', 'Bearer wrong', TOKEN, `Basic ${TOKEN}`, `Bearer ${TOKEN}x`])
      expect([authorization, await statusOf({ authorization })]).toEqual([authorization, 401]);
    expect(await statusOf({})).toBe(401);
    expect(await statusOf({}, `${server.url}?token=${TOKEN}`)).toBe(401);
    for (const host of ['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '10.0.0.1'])
      expect([host, await statusOf({ ...token, host })]).toEqual([host, 403]);
    for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1.evil.example'])
      expect([origin, await statusOf({ ...token, origin })]).toEqual([origin, 403]);
    expect(await statusOf({ ...token, 'content-type': 'text/plain' })).toBe(415);
  });
});

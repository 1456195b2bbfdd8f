import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ConversationSummary, Receipt } from '../../../src/gateway/index.ts';
import { slidingWindow } from '../../../src/index.ts';
import { openStore } from '../../../src/store/open-store.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  type AgentRequest,
  claudeCode,
  codex,
  geminiCli,
  openCode,
  pi,
  qwen,
  type Run,
} from '../../support/gateway/agent-requests.ts';
import { type Started, startGateway } from '../../support/gateway/gateway.ts';
import { startUpstream, type Upstream } from '../../support/gateway/upstream.ts';
import { ask as askTool, overStdio, REVISIONS } from '../../support/mcp-clients.ts';
import { ensureBuilt } from '../../support/modules.ts';

const closers: (() => Promise<unknown>)[] = [];
let folder = '';

beforeAll(async () => {
  await ensureBuilt();
  folder = mkdtempSync(join(tmpdir(), 'palimpsest-sessions-'));
}, 240_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function start(options: Parameters<typeof startGateway>[1] = {}): Promise<[Started, Upstream]> {
  const upstream = await startUpstream((_request, response) => response.end('{}'));
  const gateway = await startGateway(upstream.url, options);
  closers.push(upstream.close, gateway.close);
  return [gateway, upstream];
}

async function send(gateway: Started, { path, headers, body }: AgentRequest): Promise<void> {
  const response = await fetch(`${gateway.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  expect(response.status).toBe(200);
  await response.arrayBuffer();
}

/** The conversations once all receipts are written, in the order in which they began. */
async function conversationsOf(gateway: Started, requests: number): Promise<ConversationSummary[]> {
  for (;;) {
    const { conversations } = await gateway.ask<{ conversations: ConversationSummary[] }>('conversations');
    if (conversations.reduce((sum, one) => sum + one.requests, 0) >= requests)
      return conversations.sort((a, b) => a.firstAt.localeCompare(b.firstAt) || b.requests - a.requests);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const receiptsOf = async (gateway: Started, id: string): Promise<Receipt[]> =>
  (await gateway.ask<{ receipts: Receipt[] }>(`conversations/${id}`)).receipts;

const AGENTS: Readonly<Record<string, (run: Run) => AgentRequest>> = { codex, qwen, claudeCode, openCode, pi };

describe.each(Object.entries(AGENTS))('two sessions of %s in one folder on one day', (name, agent) => {
  const one = { session: '01a1e460-a204', task: 'Fix the bug in a.txt' };
  const two = { session: '01a1e469-3275', task: 'Write the release notes' };

  it('are two conversations, each with its task as the title', async () => {
    const [gateway] = await start();
    for (const turns of [0, 1, 2]) {
      await send(gateway, agent({ ...one, turns }));
      await send(gateway, agent({ ...two, turns, results: (turn) => `other ${turn}` }));
    }
    const conversations = await conversationsOf(gateway, 6);
    expect(conversations.map(({ requests }) => requests)).toEqual([3, 3]);
    const titles = conversations.map(({ title }) => title.replaceAll('"', ''));
    expect(titles.sort()).toEqual([one.task, two.task]);
    const sessions = conversations.map(({ session }) => session);
    expect(new Set(sessions).size).toBe(2);
    expect(JSON.stringify(conversations)).not.toContain(one.session);
  });

  it.skipIf(name === 'qwen')('with the same task are two too', async () => {
    const [gateway] = await start();
    await send(gateway, agent({ ...one, turns: 0 }));
    await send(gateway, agent({ ...one, session: two.session, turns: 0 }));
    const conversations = await conversationsOf(gateway, 2);
    expect(conversations.map(({ requests }) => requests)).toEqual([1, 1]);
  });
});

describe('the title', () => {
  it('is what the user said to Gemini CLI, not its set-up', async () => {
    const [gateway] = await start();
    await send(gateway, geminiCli({ task: 'Fix the bug in a.txt' }));
    expect((await conversationsOf(gateway, 1)).map(({ title }) => title)).toEqual(['Fix the bug in a.txt']);
  });

  it('is the first line of a prompt that is all in tags', async () => {
    const [gateway] = await start();
    const { path, headers, body } = openCode({ session: 's', task: '', turns: 0 });
    const tagged = { role: 'user', content: '<task>\nFix the bug\n</task>' };
    await send(gateway, { path, headers, body: { ...body, messages: [tagged] } });
    expect((await conversationsOf(gateway, 1)).map(({ title }) => title)).toEqual(['<task>']);
  });

  it('and the session stay when the user goes on after a prompt that was all in tags', async () => {
    const [gateway] = await start();
    const { path, body } = qwen({ session: '', task: '', turns: 0 });
    const headers = { 'content-type': 'application/json' };
    const tagged = { role: 'user', content: '<task>\nFix the bug\n</task>' };
    const more = [
      { role: 'assistant', content: 'Done.' },
      { role: 'user', content: 'Go on' },
    ];
    await send(gateway, { path, headers, body: { ...body, messages: [tagged] } });
    await send(gateway, { path, headers, body: { ...body, messages: [tagged, ...more] } });
    expect((await conversationsOf(gateway, 2)).map(({ requests }) => requests)).toEqual([2]);
  });
});

describe('a session', () => {
  const session = '034bb4d8-785e-4791-86db-9c6604181b37';
  const main = { session, task: 'Fix the bug in a.txt' };
  const helper = { session, task: 'Look for callers' };

  it.each([
    ['claudeCode', claudeCode, claudeCode],
    ['openCode', openCode, (run: Run) => openCode({ ...run, session: 'ses_child', parent: run.session })],
  ])('of %s has its sub-agents, each as a conversation', async (_name, agent, subAgent) => {
    const [gateway] = await start();
    await send(gateway, agent({ ...main, turns: 1 }));
    await send(gateway, subAgent({ ...helper, turns: 1 }));
    const conversations = await conversationsOf(gateway, 2);
    expect(new Set(conversations.map(({ id }) => id)).size).toBe(2);
    expect(new Set(conversations.map((one) => one.session)).size).toBe(1);
    const receipts = (await Promise.all(conversations.map(({ id }) => receiptsOf(gateway, id)))).flat();
    expect(new Set(receipts.map((receipt) => receipt.session)).size).toBe(1);
  });

  it('of another user with the same id is another one', async () => {
    const [gateway] = await start();
    const mine = claudeCode({ ...main, turns: 1 });
    await send(gateway, mine);
    await send(gateway, { ...mine, headers: { ...mine.headers, 'x-api-key': 'sk-ant-of-bob' } });
    const conversations = await conversationsOf(gateway, 2);
    expect(new Set(conversations.map((one) => one.session)).size).toBe(2);
  });

  it('is known by the id in the body where a proxy removed the header', async () => {
    const [gateway] = await start();
    const { 'x-claude-code-session-id': _, ...headers } = claudeCode({ ...main, turns: 1 }).headers;
    await send(gateway, claudeCode({ ...main, turns: 1 }));
    await send(gateway, { ...claudeCode({ ...main, turns: 2 }), headers });
    expect((await conversationsOf(gateway, 2)).map(({ requests }) => requests)).toEqual([2]);
  });

  it('that goes on under a new id keeps its masks to the byte', async () => {
    const [gateway, upstream] = await start({ policy: slidingWindow({ turns: 2 }) });
    for (const turns of [4, 5, 5]) await send(gateway, claudeCode({ ...main, turns }));
    const [before] = upstream.received.slice(-1);
    const again = claudeCode({ ...main, turns: 5 });
    const headers = { ...again.headers, 'x-claude-code-session-id': 'another' };
    await send(gateway, { ...again, headers });
    expect(upstream.received.at(-1)?.body.equals(before?.body as Buffer)).toBe(true);
    expect(before?.body.toString()).toContain('p_');
  });
});

describe('masked texts', () => {
  async function masked(store: Store, agent: (run: Run) => AgentRequest): Promise<[string, string]> {
    const [gateway, upstream] = await start({ policy: slidingWindow({ turns: 1 }), store });
    const handles: string[] = [];
    for (const [session, task] of [
      ['one', 'Fix the bug in a.txt'],
      ['two', 'Write the release notes'],
    ] as const) {
      const results = (turn: number): string => `the ${session} result ${turn}\n`.repeat(60);
      for (const turns of [1, 2, 3]) await send(gateway, agent({ session, task, turns, results }));
      handles.push(/p_[a-z2-7]{26}/.exec(upstream.received.at(-1)?.body.toString() ?? '')?.[0] ?? '');
    }
    return handles as [string, string];
  }

  it.each([
    ['codex', codex],
    ['qwen', qwen],
    ['claudeCode', claudeCode],
  ])('of one session of %s are listed by a handle, and none of the other', async (name, agent) => {
    const place = join(folder, name);
    const store = await openStore({ path: place });
    const [one, two] = await masked(store, agent);
    await store.close();
    const KEY = agent === claudeCode ? 'sk-ant-of-the-tests' : 'sk-of-the-tests';
    const client = await overStdio(['--store', place, '--credential-env', 'KEY'], REVISIONS[0], { KEY });
    closers.push(() => client.close());
    const { text: list } = await askTool(client, 'list_masked', { handle: one });
    expect(list).toContain('the one result');
    expect(list).not.toContain('the two result');
    expect((await askTool(client, 'list_masked', { handle: two })).text).toContain('the two result');
  });

  it('of a session are found by a search of the page in any of its conversations', async () => {
    const [gateway] = await start({ policy: slidingWindow({ turns: 1 }) });
    const session = 'one';
    const results = (turn: number): string => `a needle ${turn}\n`.repeat(60);
    for (const turns of [1, 2, 3]) await send(gateway, claudeCode({ session, task: 'Main', turns, results }));
    await send(gateway, claudeCode({ session, task: 'A sub-agent', turns: 0 }));
    const [first, second] = await conversationsOf(gateway, 4);
    for (const one of [first, second]) {
      const { matches } = await gateway.ask<{ matches: object[] }>(`search?q=needle&conversation=${one?.id}`);
      expect(matches.length).toBeGreaterThan(0);
    }
  });
});

const MINUTE = 60_000;

describe('the cache of a provider', () => {
  /** After a run of session `one`, `two` works on for ten minutes; then comes the next request of `one`. */
  async function actAfterPause(two: (turns: number) => AgentRequest): Promise<string | undefined> {
    let now = 0;
    const [gateway] = await start({ now: () => now });
    const one = (turns: number) => codex({ session: 'one', task: 'Fix the bug in a.txt', turns });
    for (let turns = 0; turns <= 14; turns++) await send(gateway, one(turns));
    for (let turns = 0; turns <= 20; turns++) {
      now += MINUTE;
      await send(gateway, two(turns));
    }
    await send(gateway, one(15));
    const conversations = await conversationsOf(gateway, 37);
    const receipts = (await Promise.all(conversations.map(({ id }) => receiptsOf(gateway, id)))).flat();
    const numberOf = ({ id }: Receipt): number => Number(id.split('-').at(-1));
    return receipts.sort((a, b) => numberOf(a) - numberOf(b)).at(-1)?.act;
  }

  it('is cold after a pause, whatever other sessions of the same first message did', async () => {
    const results = (turn: number): string => `other ${turn}\n`.repeat(20);
    const two = (turns: number) => codex({ session: 'two', task: 'Write the release notes', turns, results });
    expect(await actAfterPause(two)).toBe('cold-cache');
  });

  it('is warm while a fork that shares results uses it', async () => {
    const fork = (turns: number): AgentRequest => {
      const begun = codex({ session: 'one', task: 'Fix the bug in a.txt', turns: 10 });
      const body = {
        ...begun.body,
        input: [...(begun.body.input as object[]), { role: 'user', content: `Fork ${turns}` }],
      };
      return { ...begun, body };
    };
    expect(await actAfterPause(fork)).not.toBe('cold-cache');
  });
});

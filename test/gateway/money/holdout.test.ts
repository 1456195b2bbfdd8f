import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { GatewayOptions, Receipt } from '../../../src/gateway/index.ts';
import { createRecords } from '../../../src/gateway/receipts/records.ts';
import { slidingWindow } from '../../../src/index.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import { openStore } from '../../../src/store/open-store.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  type AgentRequest,
  claudeCode,
  codex,
  openCode,
  qwen,
  type Run,
} from '../../support/gateway/agent-requests.ts';
import { changedStore, startGateway } from '../../support/gateway/gateway.ts';
import { startProcess } from '../../support/gateway/processes.ts';
import { type Received, startUpstream, type Upstream } from '../../support/gateway/upstream.ts';
import { ensureBuilt } from '../../support/modules.ts';

const closers: (() => Promise<unknown>)[] = [];
let folder = '';

beforeAll(async () => {
  await ensureBuilt();
  folder = mkdtempSync(join(tmpdir(), 'palimpsest-holdout-'));
}, 240_000);

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const policy = slidingWindow({ turns: 1 });

async function provider(): Promise<Upstream> {
  const usage = { input_tokens: 1000, cache_read_input_tokens: 0, cache_creation_input_tokens: 0, output_tokens: 7 };
  const upstream = await startUpstream((_request, response) => response.end(JSON.stringify({ usage })));
  closers.push(upstream.close);
  return upstream;
}

/** A gateway, the receipts that it wrote, and what its provider got. */
interface Serving {
  /** Answers with the receipt of the request, once there is one. */
  send(request: AgentRequest): Promise<Receipt>;
  last(): Received;
  close(): Promise<void>;
}

async function serve(upstream: Upstream, options: GatewayOptions): Promise<Serving> {
  const receipts: Receipt[] = [];
  let taken = 0;
  const records = createRecords({ startedAt: 0, onReceipt: (receipt) => receipts.push(receipt) });
  const gateway = await startGateway(upstream.url, { policy, records, ...options });
  closers.push(gateway.close);
  return {
    send: async ({ path, headers, body }) => {
      const response = await fetch(`${gateway.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      expect(response.status).toBe(200);
      await response.arrayBuffer();
      const index = taken++;
      while (receipts.length <= index) await new Promise((resolve) => setTimeout(resolve, 2));
      return receipts[index] as Receipt;
    },
    last: () => upstream.received.at(-1) as Received,
    close: gateway.close,
  };
}

/** A store whose secret is known, so that the same sessions are drawn in every run. */
function storeWithKey(secret = 'the key of these tests'): Store {
  return changedStore(createMemoryStore(), { secret: async () => secret });
}

const isUntouched = ({ last }: Serving, { body }: AgentRequest): boolean =>
  last().body.equals(Buffer.from(JSON.stringify(body)));

const TASK = 'Fix the bug in a.txt';
const run = (session: string, turns: number, more: Partial<Run> = {}): Run => ({ session, task: TASK, turns, ...more });

/** The first session that is drawn for an arm at one half. */
async function sessionOf(arm: Receipt['arm'], store: Store, name = 'session'): Promise<string> {
  const upstream = await provider();
  const gateway = await serve(upstream, { store, holdout: 0.5 });
  for (let i = 0; i < 100; i++) {
    const receipt = await gateway.send(claudeCode(run(`${name}-${i}`, 0)));
    if (receipt.arm === arm) return `${name}-${i}`;
  }
  throw new Error(`Expected a session that is ${arm}`);
}

describe('a session that is held out', () => {
  it.each([
    ['claudeCode', claudeCode],
    ['codex', codex],
    ['openCode', openCode],
    ['qwen', qwen],
  ])('passes untouched to the byte, and is measured (%s)', async (_name, agent) => {
    const gateway = await serve(await provider(), { holdout: 1, store: storeWithKey() });
    for (let turns = 0; turns <= 5; turns++) {
      const request = agent(run('one', turns));
      const receipt = await gateway.send(request);
      expect(isUntouched(gateway, request)).toBe(true);
      expect(receipt).toMatchObject({ arm: 'held-out', holdoutShare: 1, masked: 0, newMasks: [] });
      expect(receipt.without).toEqual(receipt.sent);
      if (turns < 3) continue;
      expect(receipt.unsent?.masked).toBeGreaterThan(0);
      expect(receipt.expected.sent.tokens).toBeLessThan(receipt.expected.without.tokens);
    }
  });

  it('has no text in the files of the store, where one that is treated has', async () => {
    const path = join(folder, 'texts');
    const store = await openStore({ path });
    const upstream = await provider();
    const results = (turn: number): string => `a needle of turn ${turn}\n`.repeat(60);
    const held = await serve(upstream, { holdout: 1, store });
    for (const turns of [0, 1, 2, 3, 4]) await held.send(codex(run('held-out', turns, { results })));
    expect(filesOf(path)).not.toContain('a needle of turn');
    const treated = await serve(upstream, { store });
    for (const turns of [0, 1, 2, 3, 4]) await treated.send(codex(run('treated', turns, { results })));
    expect(filesOf(path)).toContain('a needle of turn');
    await store.close();
  });

  it('stays so after a restart without the option, and one that is treated stays after one with it', async () => {
    const store = storeWithKey();
    const upstream = await provider();
    const before = await serve(upstream, { holdout: 1, store });
    await before.send(codex(run('old', 0)));
    await before.close();
    const without = await serve(upstream, { store });
    for (const turns of [1, 2, 3]) {
      const request = codex(run('old', turns));
      expect(await without.send(request)).toMatchObject({ arm: 'held-out', holdoutShare: 1 });
      expect(isUntouched(without, request)).toBe(true);
    }
    const receipt = await without.send(codex(run('new', 3)));
    expect([receipt.arm, receipt.holdoutShare, receipt.masked > 0]).toEqual(['treated', undefined, true]);
    await without.close();
    const again = await serve(upstream, { holdout: 1, store });
    expect(await again.send(codex(run('new', 4)))).toMatchObject({ arm: 'treated' });
    expect((await again.send(codex(run('new', 5)))).masked).toBeGreaterThan(0);
  });

  it('keeps its arm while small requests without any tool result come', async () => {
    const store = storeWithKey();
    const upstream = await provider();
    const gateway = await serve(upstream, { holdout: 1, store });
    const small = openCode(run('one', 0));
    expect((await gateway.send(small)).arm).toBe('held-out');
    expect((await gateway.send(small)).arm).toBe('held-out');
    const later = await serve(upstream, { store });
    expect((await later.send(small)).arm).toBe('held-out');
  });

  it('counts a request that cannot be read too', async () => {
    const gateway = await serve(await provider(), { holdout: 1, store: storeWithKey() });
    const first = await gateway.send(codex(run('one', 0)));
    const { path, headers, body } = codex(run('one', 2));
    const kept = { path, headers, body: { ...body, previous_response_id: 'resp_1' } };
    const packed = { path, headers: { ...headers, 'content-encoding': 'unknown' }, body };
    for (const request of [kept, packed]) {
      const { act, arm, session } = await gateway.send(request);
      expect([act, arm, session]).toEqual(['pass-through', 'held-out', first.session]);
    }
  });

  it('is counted as it came where its size is asked', async () => {
    const upstream = await provider();
    const gateway = await startGateway(upstream.url, { policy, holdout: 1, store: storeWithKey() });
    closers.push(gateway.close);
    for (const turns of [0, 1, 2, 3, 4]) {
      const { headers, body } = claudeCode(run('one', turns));
      const text = JSON.stringify(body);
      for (const path of ['/v1/messages/count_tokens', '/v1/messages'])
        await (await fetch(`${gateway.url}${path}`, { method: 'POST', headers, body: text })).arrayBuffer();
      expect(upstream.received.slice(-2).map((received) => received.body.toString())).toEqual([text, text]);
    }
  });
});

function filesOf(path: string): string {
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .map((name) => join(path, name))
    .filter((name) => statSync(name).isFile())
    .map((name) => readFileSync(name, 'latin1'))
    .join('\n');
}

describe('the arm of a session', () => {
  it('is held-out in as many of 2,000 sessions as the share says', async () => {
    const gateway = await serve(await provider(), { holdout: 0.1, store: storeWithKey() });
    let held = 0;
    for (let i = 0; i < 2000; i += 50) {
      const some = Array.from({ length: 50 }, (_, k) => gateway.send(openCode(run(`s${i + k}`, 0))));
      held += (await Promise.all(some)).filter(({ arm }) => arm === 'held-out').length;
    }
    const spread = Math.sqrt(2000 * 0.1 * 0.9);
    expect(held).toBeGreaterThan(200 - 3 * spread);
    expect(held).toBeLessThan(200 + 3 * spread);
  }, 60_000);

  it('is drawn by the key of the store', async () => {
    const upstream = await provider();
    const armsWith = async (secret: string): Promise<string[]> => {
      const gateway = await serve(upstream, { holdout: 0.5, store: storeWithKey(secret) });
      const arms: string[] = [];
      for (let i = 0; i < 40; i++) arms.push((await gateway.send(openCode(run(`s${i}`, 0)))).arm);
      return arms;
    };
    const one = await armsWith('one');
    expect(await armsWith('one')).toEqual(one);
    expect(await armsWith('two')).not.toEqual(one);
  });

  it.each(['held-out', 'treated'] as const)('is that of its sub-agents, forks and resumes (%s)', async (arm) => {
    const store = storeWithKey();
    const session = await sessionOf(arm, store);
    const upstream = await provider();
    const gateway = await serve(upstream, { holdout: 0.5, store });
    const others = await Promise.all(
      ['held-out', 'treated'].map((other) => sessionOf(other as 'treated', store, 'other')),
    );
    await gateway.send(claudeCode(run(session, 2)));
    const receipts = [
      await gateway.send(claudeCode(run(session, 0, { task: 'Look for callers' }))),
      await gateway.send(claudeCode(run(session, 3, { task: 'Look for callers' }))),
      await gateway.send(claudeCode(run(session, 5))),
    ];
    // Resumed in another process, under new ids whose own draw would be either arm.
    const later = await serve(upstream, { holdout: 0.5, store });
    for (const id of ['resumed-1', 'resumed-2', 'resumed-3', 'resumed-4']) {
      const { headers } = claudeCode(run(id, 5));
      receipts.push(await later.send({ ...claudeCode(run(session, 5)), headers }));
      receipts.push(await later.send(claudeCode(run(id, 1, { task: 'A sub-agent of the resumed one' }))));
    }
    expect(others.length).toBe(2);
    expect(receipts.map((receipt) => [receipt.arm, receipt.holdoutShare])).toEqual(receipts.map(() => [arm, 0.5]));
  });

  it('is that of the parent where a sub-agent of OpenCode has an id of its own', async () => {
    const gateway = await serve(await provider(), { holdout: 0.5, store: storeWithKey() });
    for (let i = 0; i < 10; i++) {
      const parent = `parent-${i}`;
      const { arm, session } = await gateway.send(openCode(run(parent, 0)));
      const child = await gateway.send(openCode({ ...run(`child-${i}`, 0, { task: 'Look' }), parent }));
      expect([child.arm, child.session]).toEqual([arm, session]);
    }
  });

  it('differs between sessions that begin with the same words', async () => {
    const gateway = await serve(await provider(), { holdout: 0.5, store: storeWithKey() });
    const arms = new Set<string>();
    for (let i = 0; i < 30; i++)
      for (const turns of [0, 1]) arms.add((await gateway.send(codex(run(`s${i}`, turns)))).arm);
    expect(arms).toEqual(new Set(['held-out', 'treated']));
  });

  it('is treated where masks went out before there was a holdout, for its sub-agents too', async () => {
    const store = storeWithKey();
    const upstream = await provider();
    const before = await serve(upstream, { store });
    expect((await before.send(codex(run('one', 4)))).masked).toBeGreaterThan(0);
    await before.close();
    const after = await serve(upstream, { holdout: 1, store });
    const receipts = [
      await after.send(codex(run('one', 0, { task: 'A sub-agent' }))),
      await after.send(codex(run('one', 5))),
    ];
    expect(receipts.map(({ arm, holdoutShare }) => [arm, holdoutShare])).toEqual([
      ['treated', undefined],
      ['treated', undefined],
    ]);
    expect(receipts[1]?.masked).toBeGreaterThan(0);
  });

  it('is treated and in no comparison where a session comes with results that no gateway has seen', async () => {
    const gateway = await serve(await provider(), { holdout: 1, store: storeWithKey() });
    expect((await gateway.send(codex(run('one', 2)))).arm).toBe('treated');
    const receipt = await gateway.send(codex(run('one', 0, { task: 'A sub-agent' })));
    expect([receipt.arm, receipt.holdoutShare]).toEqual(['treated', undefined]);
  });

  it('is the same at two gateways on one store, though their options differ', async () => {
    const store = storeWithKey();
    const upstream = await provider();
    const options = { store, isStoreShared: true };
    const [all, some] = [
      await serve(upstream, { ...options, holdout: 1 }),
      await serve(upstream, { ...options, holdout: 0.3 }),
    ];
    for (let i = 0; i < 20; i++) {
      const gateways = i % 2 === 0 ? [all, some] : [some, all];
      const arms = new Set<string>();
      for (const turns of [0, 1, 2, 3])
        for (const gateway of gateways) arms.add((await gateway.send(codex(run(`s${i}`, turns)))).arm);
      expect(arms.size).toBe(1);
    }
  });

  it('is the same in all workers, and after kill -9 and a start without the option', async () => {
    const upstream = await provider();
    const args = ['--port', '0', '--store', join(folder, 'workers'), '--upstream', `openai=${upstream.url}`];
    const all = [...args, '--workers', '2', '--policy', 'sliding-window:turns=1'];
    let gateway = await startProcess([...all, '--holdout', '50%'], folder);
    closers.push(() => gateway.stop());
    let output = '';
    for (const turns of [0, 1, 2, 3, 4, 5]) {
      if (turns === 4) {
        await gateway.stop('SIGKILL', { isGroup: true });
        output = gateway.output();
        gateway = await startProcess(all, folder);
      }
      for (let i = 0; i < 12; i++) {
        const { path, headers, body } = codex(run(`w${i}`, turns));
        // A connection of its own, so that any worker may get it.
        const init = { method: 'POST', headers: { ...headers, connection: 'close' }, body: JSON.stringify(body) };
        await (await fetch(`${gateway.url}${path}`, init)).arrayBuffer();
      }
    }
    await gateway.stop();
    const lines = `${output}${gateway.output()}`.split('\n').filter((line) => line.includes('"arm":'));
    const entries = lines.map((line) => JSON.parse(line) as Logged);
    const sessions = new Map<string | undefined, Logged[]>();
    for (const entry of entries) {
      const [name] = entry.session.split('-');
      sessions.set(name, [...(sessions.get(name) ?? []), entry]);
    }
    expect(sessions.size).toBe(12);
    for (const logged of sessions.values()) expectOneArm(logged);
    expect(new Set(entries.map(({ arm }) => arm))).toEqual(new Set(['held-out', 'treated']));
  }, 60_000);
});

type Logged = Pick<Receipt, 'session' | 'arm' | 'holdoutShare' | 'masked'>;

/** A request that found the store too slow is in no comparison and has no new mask: a busy machine may cause that. */
function expectOneArm(requests: readonly Logged[]): void {
  const compared = requests.filter(({ holdoutShare }) => holdoutShare !== undefined);
  expect(new Set(compared.map(({ arm, holdoutShare }) => `${arm} ${holdoutShare}`)).size).toBeLessThan(2);
  const wasHeldOut = requests.some(({ arm }) => arm === 'held-out');
  if (wasHeldOut) expect(requests.map(({ masked }) => masked)).toEqual(requests.map(() => 0));
}

describe('without the store', () => {
  const never = (): Promise<never> => new Promise(() => {});
  const failing = (store: Store): Store =>
    changedStore(store, {
      // biome-ignore lint/correctness/useYield: it fails before it has anything.
      list: async function* () {
        throw new Error('the store is down');
      },
      putMany: () => Promise.reject(new Error('the store is down')),
      deletions: () => Promise.reject(new Error('the store is down')),
    });

  it('a session is drawn by the key, and keeps that arm when the store is back', async () => {
    const real = storeWithKey();
    let isDown = true;
    const down = failing(real);
    const store = new Proxy(real, {
      get: (_target, name) => (isDown && name !== 'secret' ? down : real)[name as keyof Store],
    });
    const gateway = await serve(await provider(), { holdout: 0.5, store });
    const arms = new Map<string, string>();
    for (let i = 0; i < 20; i++) arms.set(`s${i}`, (await gateway.send(codex(run(`s${i}`, 0)))).arm);
    expect(new Set(arms.values())).toEqual(new Set(['held-out', 'treated']));
    isDown = false;
    for (const [session, arm] of arms)
      for (const turns of [1, 2, 3]) expect((await gateway.send(codex(run(session, turns)))).arm).toBe(arm);
    const other = await serve(await provider(), { holdout: 0, store: real });
    for (const [session, arm] of arms) expect((await other.send(codex(run(session, 4)))).arm).toBe(arm);
  });

  it('and its key, a session is in no comparison, now and later', async () => {
    const real = storeWithKey();
    let isDown = true;
    const down = changedStore(failing(real), { secret: () => Promise.reject(new Error('the store is down')) });
    const store = new Proxy(real, { get: (_target, name) => (isDown ? down : real)[name as keyof Store] });
    const gateway = await serve(await provider(), { holdout: 1, store });
    const first = await gateway.send(codex(run('one', 0)));
    isDown = false;
    const second = await gateway.send(codex(run('one', 0)));
    const third = await gateway.send(codex(run('one', 3)));
    expect([first, second, third].map(({ arm, holdoutShare }) => [arm, holdoutShare])).toEqual(
      Array(3).fill(['treated', undefined]),
    );
  });

  it('that hangs, a request goes out as it came, in time', async () => {
    const store = changedStore(storeWithKey(), {
      list: () => ({ [Symbol.asyncIterator]: () => ({ next: never }) }),
      putMany: never,
      deletions: never,
    });
    const gateway = await serve(await provider(), { holdout: 0.5, store });
    const request = codex(run('one', 5));
    await gateway.send(request);
    expect(isUntouched(gateway, request)).toBe(true);
  });
});

describe('in shadow', () => {
  it('the original goes out, the act is told as decided, and no text is stored', async () => {
    const path = join(folder, 'shadow');
    const store = await openStore({ path });
    const gateway = await serve(await provider(), { shadow: true, store });
    const results = (turn: number): string => `a needle of turn ${turn}\n`.repeat(60);
    let receipt: Receipt | undefined;
    for (let turns = 0; turns <= 5; turns++) {
      const request = codex(run('one', turns, { results }));
      receipt = await gateway.send(request);
      expect(isUntouched(gateway, request)).toBe(true);
    }
    expect(receipt).toMatchObject({ arm: 'shadow', act: 'mask', masked: 0, newMasks: [], unsent: { newMasks: 1 } });
    expect(receipt?.holdoutShare).toBeUndefined();
    expect(receipt?.without).toEqual(receipt?.sent);
    expect(receipt?.expected.sent.tokens).toBeLessThan(receipt?.expected.without.tokens ?? 0);
    expect(filesOf(path)).not.toContain('a needle of turn');
    await store.close();
  });

  it('a conversation that has masks keeps them', async () => {
    const store = storeWithKey();
    const upstream = await provider();
    const before = await serve(upstream, { store });
    await before.send(codex(run('one', 4)));
    const shadow = await serve(upstream, { store, shadow: true });
    const receipt = await shadow.send(codex(run('one', 5)));
    expect([receipt.arm, receipt.masked > 0]).toEqual(['treated', true]);
  });

  it('a session stays in shadow when the option is gone', async () => {
    const store = storeWithKey();
    const upstream = await provider();
    const shadow = await serve(upstream, { store, shadow: true });
    await shadow.send(codex(run('one', 4)));
    const after = await serve(upstream, { store });
    const request = codex(run('one', 5));
    expect((await after.send(request)).arm).toBe('shadow');
    expect(isUntouched(after, request)).toBe(true);
    expect((await after.send(codex(run('two', 5)))).arm).toBe('treated');
  });
});

describe('as a property', () => {
  const step = fc.record({
    session: fc.integer({ min: 0, max: 3 }),
    what: fc.constantFrom('next', 'next', 'next', 'sub-agent', 'resume', 'restart', 'other gateway'),
    holdout: fc.constantFrom(0, 0.3, 0.7, 1),
  });

  it('an arm that was drawn never changes, whatever restarts and options come between', async () => {
    const upstream = await provider();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), fc.string(), async (steps, secret) => {
        const store = storeWithKey(`key ${secret}`);
        let gateway = await serve(upstream, { store, holdout: 0.5, isStoreShared: true });
        let other = await serve(upstream, { store, holdout: 0.5, isStoreShared: true });
        const turns = [0, 0, 0, 0];
        const ids = ['a', 'b', 'c', 'd'];
        const seen = new Map<number, Receipt[]>();
        for (const [i, { session, what, holdout }] of steps.entries()) {
          if (what === 'restart') {
            await Promise.all([gateway.close(), other.close()]);
            gateway = await serve(upstream, { store, holdout, isStoreShared: true });
            other = await serve(upstream, { store, holdout, isStoreShared: true });
            continue;
          }
          if (what === 'other gateway') [gateway, other] = [other, gateway];
          const first = ids[session] as string;
          const id = what === 'resume' && (turns[session] ?? 0) > 1 ? `${first} again ${i}` : first;
          const task = what === 'sub-agent' ? `Sub-agent ${i}` : `Task of ${first}`;
          const request = claudeCode({ session: first, task, turns: what === 'sub-agent' ? 0 : (turns[session] ?? 0) });
          const headers = { ...request.headers, 'x-claude-code-session-id': id };
          seen.set(session, [...(seen.get(session) ?? []), await gateway.send({ ...request, headers })]);
          if (what !== 'sub-agent') turns[session] = (turns[session] ?? 0) + 1;
        }
        for (const receipts of seen.values()) expectOneArm(receipts);
        await gateway.close();
        await other.close();
      }),
      { numRuns: 15 },
    );
  }, 120_000);
});

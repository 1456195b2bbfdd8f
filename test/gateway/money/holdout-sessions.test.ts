import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { GatewayOptions } from '../../../src/gateway/index.ts';
import { slidingWindow } from '../../../src/index.ts';
import { requestLimits } from '../../../src/limits.ts';
import type { RequestRecord } from '../../../src/report/request-record.ts';
import { createSessionReader } from '../../../src/report/sessions.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import { openStore } from '../../../src/store/open-store.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  type AgentRequest,
  claudeCode,
  codex,
  compactedGemini,
  compactedPi,
  compactedQwen,
  geminiCli,
  openCode,
  piWithAnthropic,
  qwen,
  type Run,
} from '../../support/gateway/agent-requests.ts';
import { changedStore, startGateway } from '../../support/gateway/gateway.ts';
import { startUpstream } from '../../support/gateway/upstream.ts';

const closers: (() => Promise<unknown>)[] = [];
const folder = mkdtempSync(join(tmpdir(), 'palimpsest-holdout-sessions-'));

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const TASK = 'Fix the bug in a.txt';
const SUMMARY = '<overall_goal>Fix the bug.</overall_goal>';
const run = (session: string, turns: number, more: Partial<Run> = {}): Run => ({ session, task: TASK, turns, ...more });

/** One gateway after the other on one store, each with its own options. */
async function createPlace(store: Store = createMemoryStore()) {
  const usage = { input_tokens: 1000, cache_read_input_tokens: 0, cache_creation_input_tokens: 0, output_tokens: 7 };
  const usageMetadata = { promptTokenCount: 1000, candidatesTokenCount: 7 };
  let onRequest = (): unknown => undefined;
  const upstream = await startUpstream((_request, response) => {
    onRequest();
    response.end(JSON.stringify({ usage, usageMetadata }));
  });
  closers.push(upstream.close);
  return {
    store,
    /** Calls a function whenever a request arrives at the upstream. */
    onRequest: (call: () => unknown) => {
      onRequest = call;
    },
    /** Sends requests to a gateway that is started for them, and returns their records. */
    through: async (options: GatewayOptions, requests: readonly AgentRequest[]): Promise<RequestRecord[]> => {
      const known = new Set((await recordsIn(store)).map(({ id }) => id));
      const gateway = await startGateway(upstream.url, { policy: slidingWindow({ turns: 1 }), store, ...options });
      const untouched: boolean[] = [];
      for (const { path, headers, body } of requests) {
        const text = JSON.stringify(body);
        const response = await fetch(`${gateway.url}${path}`, { method: 'POST', headers, body: text });
        expect(response.status).toBe(200);
        await response.arrayBuffer();
        untouched.push(upstream.received.at(-1)?.body.equals(Buffer.from(text)) === true);
      }
      await gateway.close();
      const records = (await recordsIn(store)).filter(({ id }) => !known.has(id));
      const sent = records.map((record) => ({ record, order: Number(record.id.split('-').at(-1)) }));
      const inOrder = sent.sort((a, b) => a.order - b.order).map(({ record }) => record);
      for (const [i, { arm }] of inOrder.entries()) if (arm === 'held-out') expect(untouched[i]).toBe(true);
      return inOrder;
    },
  };
}

async function recordsIn(store: Store): Promise<RequestRecord[]> {
  const records: RequestRecord[] = [];
  for await (const record of store.records?.() ?? []) records.push(record);
  return records;
}

const armsOf = (records: readonly RequestRecord[]): unknown[] =>
  records.map(({ arm, holdoutShare }) => [arm, holdoutShare]);

/** The sessions that a report of these records counts. */
function countSessions(records: readonly RequestRecord[]): number {
  const reader = createSessionReader({ since: 0, until: Date.now() + 10 * 3_600_000 });
  for (const record of records) reader.add(record);
  return reader.read().sessions.length;
}

/** The sessions that a report of these records counts as drawn and held out. */
function heldOutIn(records: readonly RequestRecord[]): number | undefined {
  const reader = createSessionReader({ since: 0, until: Date.now() + 10 * 3_600_000 });
  for (const record of records) reader.add(record);
  return reader.read().drawn?.heldOut;
}

const AGENTS = [
  ['Gemini CLI', geminiCli, compactedGemini],
  ['Qwen Code', qwen, compactedQwen],
  ["pi with Anthropic's API", piWithAnthropic, compactedPi],
] as const;

describe('after the compaction of an agent that sends no id', () => {
  it.each(AGENTS)('a session keeps its arm, also after a restart (%s)', async (_name, agent, compacted) => {
    const place = await createPlace();
    const requests = [0, 1, 2, 3, 4].map((turns) => agent(run('one', turns)));
    const later = [4, 5, 6].map((turns, i) => compacted(run('one', turns), { summary: SUMMARY, keep: 2 + 2 * i }));
    const again = [6, 7].map((turns, i) => compacted(run('one', turns), { summary: 'Shorter.', keep: 2 + 2 * i }));
    const all = [
      ...(await place.through({ holdout: 1 }, requests)),
      ...(await place.through({}, later)),
      ...(await place.through({ holdout: 0.5 }, again)),
    ];
    expect(armsOf(all)).toEqual(all.map(() => ['held-out', 1]));
    expect([new Set(all.map(({ session }) => session)).size, countSessions(all)]).toEqual([3, 1]);
  });

  it('a treated session stays in the comparison, as one session', async () => {
    const place = await createPlace();
    for (let i = 0; ; i++) {
      const task = `Task ${i}`;
      const first = await place.through({ holdout: 0.5 }, [qwen(run(`s${i}`, 0, { task }))]);
      if (first[0]?.arm !== 'treated') continue;
      const requests = [
        ...[1, 2, 3].map((turns) => qwen(run(`s${i}`, turns, { task }))),
        ...[3, 4].map((turns, k) => compactedQwen(run(`s${i}`, turns), { summary: SUMMARY, keep: 2 + 2 * k })),
      ];
      const all = [...first, ...(await place.through({ holdout: 0.5 }, requests))];
      expect(armsOf(all)).toEqual(all.map(() => ['treated', 0.5]));
      expect(countSessions(all)).toBe(1);
      return;
    }
  });

  it.each(AGENTS)(
    'a session without a kept result is a new one, in no comparison (%s)',
    async (_name, agent, compacted) => {
      const place = await createPlace();
      const all = await place.through({ holdout: 1 }, [
        ...[0, 1, 2].map((turns) => agent(run('one', turns))),
        ...[2, 3].map((turns, i) => compacted(run('one', turns), { summary: SUMMARY, keep: 2 * i })),
      ]);
      expect(armsOf(all.slice(3))).toEqual(Array(2).fill(['treated', undefined]));
      expect(new Set(all.map(({ root }) => root))).toEqual(new Set([undefined]));
    },
  );

  it('results that two sessions share are no evidence, nor are short ones under ids that count', async () => {
    const place = await createPlace();
    const [long, short] = [() => 'the same in all\n'.repeat(40), () => 'ok'];
    for (const results of [long, short]) {
      const sessions = ['first', 'second'].flatMap((task) =>
        [0, 1, 2].map((turns) => piWithAnthropic(run('1', turns, { task, results }))),
      );
      await place.through({ holdout: 1 }, sessions);
      const [record] = await place.through({ holdout: 1 }, [
        compactedPi(run('1', 2, { results }), { summary: `After ${results().length}`, keep: 2 }),
      ]);
      expect([record?.arm, record?.holdoutShare, record?.root]).toEqual(['treated', undefined, undefined]);
    }
  });

  it('a result that was cut is known by the id of its call', async () => {
    const place = await createPlace();
    const id = '01A09q90qw90lq917835lq9';
    const all = await place.through({ holdout: 1 }, [
      ...[0, 1, 2].map((turns) => piWithAnthropic(run(id, turns))),
      compactedPi(run(id, 2, { results: () => '[cut]' }), { summary: SUMMARY, keep: 2 }),
    ]);
    expect(armsOf(all)).toEqual(all.map(() => ['held-out', 1]));
  });

  it('a result that was cut is known by its call, where only the call has an id (Gemini CLI)', async () => {
    const place = await createPlace();
    const all = await place.through({ holdout: 1 }, [
      ...[0, 1, 2].map((turns) => geminiCli(run('', turns))),
      compactedGemini(run('', 2, { results: () => '[cut]' }), { summary: SUMMARY, keep: 2 }),
    ]);
    expect(armsOf(all)).toEqual(all.map(() => ['held-out', 1]));
  });

  it('a link holds no text, and without the option there is none', async () => {
    const path = join(folder, 'no text');
    const store = await openStore({ path });
    const place = await createPlace(store);
    const results = (turn: number): string => `a needle of turn ${turn}\n`.repeat(60);
    const requests = [0, 1, 2, 3, 4, 5, 6].map((turns) => piWithAnthropic(run('needle-id', turns, { results })));
    const links = async (): Promise<string[]> => {
      const names: string[] = [];
      for await (const { session } of store.sessions()) if (session.startsWith('gl-')) names.push(session);
      return names;
    };
    await place.through({ policy: slidingWindow({ turns: 9 }) }, requests);
    expect(await links()).toEqual([]);
    await place.through(
      { holdout: 1 },
      requests.map((request) => ({
        ...request,
        body: {
          ...request.body,
          messages: [{ role: 'user', content: 'Another task' }, ...(request.body.messages as object[]).slice(1)],
        },
      })),
    );
    expect((await links()).length).toBe(1);
    expect(filesOf(path)).not.toMatch(/needle/);
    await store.close();
  });
});

function filesOf(path: string): string {
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .map((name) => join(path, name))
    .filter((name) => statSync(name).isFile())
    .map((name) => readFileSync(name, 'latin1'))
    .join('\n');
}

describe('a fork or resume under a new id', () => {
  it('is counted with its session, and so are its sub-agents', async () => {
    const place = await createPlace();
    const resumed = { ...claudeCode(run('first', 3)), headers: claudeCode(run('second', 3)).headers };
    const all = [
      ...(await place.through(
        { holdout: 1 },
        [0, 1, 2].map((turns) => claudeCode(run('first', turns))),
      )),
      ...(await place.through({ holdout: 0.5 }, [
        resumed,
        claudeCode(run('second', 0, { task: 'A sub-agent' })),
        { ...claudeCode(run('first', 4)), headers: claudeCode(run('third', 4)).headers },
        claudeCode(run('other', 0, { task: 'Another task' })),
      ])),
    ];
    expect(new Set(all.slice(3, 6).map(({ root }) => root))).toEqual(new Set([all[0]?.session]));
    expect(armsOf(all.slice(0, 6))).toEqual(Array(6).fill(['held-out', 1]));
    expect([all.at(-1)?.root, countSessions(all)]).toEqual([undefined, 2]);
  });
});

describe('a request that cannot be read', () => {
  it.each([
    ['held-out', { holdout: 1 }],
    ['shadow', { shadow: true }],
  ] as const)('has the arm of its session, as the first one after a restart too (%s)', async (arm, options) => {
    const place = await createPlace();
    const [first] = await place.through(options, [codex(run('one', 0))]);
    const { path, headers, body } = codex(run('one', 2));
    const packed = { path, headers: { ...headers, 'content-encoding': 'unknown' }, body };
    const kept = { path, headers, body: { ...body, previous_response_id: 'resp_1' } };
    for (const request of [packed, kept]) {
      const [record] = await place.through({}, [request]);
      expect([record?.act, record?.arm, record?.holdoutShare, record?.session]).toEqual([
        'pass-through',
        arm,
        first?.holdoutShare,
        first?.session,
      ]);
    }
  });
});

describe('a request that cannot be read, as the first one after a restart with a slow store,', () => {
  const { path, headers, body } = codex(run('one', 2));
  const packed = { path, headers: { ...headers, 'content-encoding': 'unknown' }, body };
  const kept = { path, headers, body: { ...body, previous_response_id: 'resp_1' } };

  it.each([
    ['its body', packed],
    ['its history', kept],
  ])('has the arm of its session, and waits for nothing: %s is unknown', async (_name, request) => {
    const real = createMemoryStore();
    const place = await createPlace(real);
    await place.through({ holdout: 1 }, [codex(run('one', 0))]);
    const order: string[] = [];
    const store = changedStore(real, {
      putRecords: real.putRecords?.bind(real) as NonNullable<Store['putRecords']>,
      records: real.records?.bind(real) as NonNullable<Store['records']>,
      list: async function* (session) {
        await setTimeout(2 * requestLimits.storeWaitMs);
        order.push('store');
        yield* real.list(session);
      },
    });
    place.onRequest(() => order.push('upstream'));
    const [record] = await place.through({ store }, [request]);
    expect([record?.act, record?.arm, record?.holdoutShare]).toEqual(['pass-through', 'held-out', 1]);
    expect(order).toEqual(['upstream', 'store']);
  });
});

/** The same store, which fails the first questions for an arm. */
function failing(real: Store, failures: number): Store {
  let left = failures;
  return changedStore(real, {
    putRecords: real.putRecords?.bind(real) as NonNullable<Store['putRecords']>,
    records: real.records?.bind(real) as NonNullable<Store['records']>,
    list: async function* (session) {
      if (session.startsWith('ga-') && left-- > 0) throw new Error('the store is down');
      yield* real.list(session);
    },
  });
}

describe('a store that fails at the first requests after a restart', () => {
  it.each([{}, { holdout: 0.5 }])('takes no session out of its arm (%j)', async (options) => {
    const real = createMemoryStore();
    const place = await createPlace(real);
    await place.through({ holdout: 1 }, [codex(run('one', 0))]);
    const later = await place.through(
      { ...options, store: failing(real, 2) },
      [3, 4, 5, 6].map((turns) => codex(run('one', turns))),
    );
    for (const record of later.slice(0, 2)) expect(record).toMatchObject({ masked: 0, isArmUnknown: true });
    expect(armsOf(later.slice(2))).toEqual(Array(2).fill(['held-out', 1]));
    expect(heldOutIn(await recordsIn(real))).toBe(1);
  });

  it.each([
    ['its body', { 'content-encoding': 'unknown' }, {}],
    ['its history', {}, { previous_response_id: 'resp_1' }],
  ])('takes no session out of its arm if that request cannot be read: %s is unknown', async (_name, header, field) => {
    const real = createMemoryStore();
    const place = await createPlace(real);
    await place.through({ holdout: 1 }, [codex(run('one', 0))]);
    const { path, headers, body } = codex(run('one', 2));
    const unread = { path, headers: { ...headers, ...header }, body: { ...body, ...field } };
    for (const options of [{}, { holdout: 0.5 }, { shadow: true }]) {
      const [first, second] = await place.through({ ...options, store: failing(real, 1) }, [
        unread,
        codex(run('one', 3)),
      ]);
      expect(first).toMatchObject({ act: 'pass-through', isArmUnknown: true });
      expect(armsOf(second ? [second] : [])).toEqual([['held-out', 1]]);
    }
    expect(heldOutIn(await recordsIn(real))).toBe(1);
  });
});

describe('a session whose first request cannot be read', () => {
  it('is drawn at the first one that can', async () => {
    const place = await createPlace();
    const { path, headers, body } = codex(run('one', 0));
    const packed = { path, headers: { ...headers, 'content-encoding': 'unknown' }, body };
    const records = await place.through({ holdout: 1 }, [packed, codex(run('one', 0)), codex(run('one', 1))]);
    expect(records[0]).toMatchObject({ act: 'pass-through', isArmUnknown: true });
    expect(armsOf(records.slice(1))).toEqual(Array(2).fill(['held-out', 1]));
    expect(heldOutIn(records)).toBe(1);
  });
});

describe('a session that began before the option was set', () => {
  it('is not drawn at the first request of a sub-agent', async () => {
    const place = await createPlace();
    for (const agent of [claudeCode, openCode]) {
      await place.through({}, [agent(run(`old-${agent.name}`, 0)), agent(run(`old-${agent.name}`, 1))]);
      const requests = [
        agent(run(`old-${agent.name}`, 0, { task: 'A sub-agent' })),
        agent(run(`old-${agent.name}`, 2)),
      ];
      const later = await place.through({ holdout: 1 }, requests);
      expect(armsOf(later)).toEqual(Array(2).fill(['treated', undefined]));
      const [fresh] = await place.through({ holdout: 1 }, [agent(run(`new-${agent.name}`, 0))]);
      expect(fresh?.arm).toBe('held-out');
    }
  });

  it('is not drawn at a later request without any tool result, where the agent sends no id', async () => {
    const place = await createPlace();
    const { body, ...request } = qwen(run('', 0));
    const messages = body.messages as object[];
    const reply = [
      { role: 'assistant', content: 'Which bug?' },
      { role: 'user', content: 'The first one.' },
    ];
    await place.through({}, [{ ...request, body }]);
    const later = await place.through({ holdout: 1 }, [
      { ...request, body: { ...body, messages: [...messages, ...reply] } },
    ]);
    expect(armsOf(later)).toEqual([['treated', undefined]]);
    const [fresh] = await place.through({ holdout: 1 }, [qwen(run('', 0, { task: 'Another task' }))]);
    expect(fresh?.arm).toBe('held-out');
  });

  it('is in shadow from then on, as long as it has no masks', async () => {
    const place = await createPlace();
    await place.through({}, [codex(run('old', 0))]);
    const [later] = await place.through({ shadow: true }, [codex(run('old', 1))]);
    expect(later?.arm).toBe('shadow');
  });
});

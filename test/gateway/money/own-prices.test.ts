import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { Io } from '../../../src/cli/io.ts';
import type { GatewayOptions } from '../../../src/gateway/index.ts';
import { type OwnPrices, type Prices, priceLists } from '../../../src/index.ts';
import { toPrices } from '../../../src/plan/prices.ts';
import type { RequestRecord } from '../../../src/report/request-record.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { startGateway, TOKEN } from '../../support/gateway/gateway.ts';
import { anthropicBody, anthropicMessages, Desk, maskedIn, successor } from '../../support/gateway/requests.ts';
import { type Received, startUpstream } from '../../support/gateway/upstream.ts';
import { palimpsest } from '../../support/memory-io.ts';
import { collect } from '../../support/store/stores.ts';

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-prices-'));
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const five = priceLists['anthropic-5m'];
const markers: Prices['lookup'] = { kind: 'markers', lookBackBlocks: 20 };
const numbers = { read: 0.1, write: 1.25, lifeMs: 300_000, leastTokens: 1024 };
const bodyOf = (turns: number) => anthropicBody(anthropicMessages(turns, { lines: 120 }));
const TURNS = 60;

/** The turns at which a mask is new. */
function turnsOf(bodies: readonly Uint8Array[]): number[] {
  const masks = bodies.map((body) => maskedIn(body).filter(Boolean).length);
  return masks.flatMap((count, i) => (count > (masks[i - 1] ?? 0) ? [i + 1] : []));
}

/** What the gateway's decision sends, turn by turn. */
function decided(prices?: Prices): Buffer[] {
  const desk = new Desk({ prices });
  return Array.from({ length: TURNS }, (_, i) => desk.ask(bodyOf(i + 1)).out);
}

async function startAnswering() {
  const upstream = await startUpstream((_request, response) => response.end('{}'));
  closers.push(upstream.close);
  return upstream;
}

async function sendAll(url: string): Promise<void> {
  const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' };
  for (let turns = 1; turns <= TURNS; turns++)
    await fetch(`${url}/v1/messages`, { method: 'POST', headers, body: JSON.stringify(bodyOf(turns)) });
}

const bodiesOf = ({ received }: { received: readonly Received[] }): Buffer[] => received.map(({ body }) => body);

/** What a gateway with these prices sends to its upstream. */
async function sentAt(prices: OwnPrices | 'anthropic-5m'): Promise<Buffer[]> {
  const upstream = await startAnswering();
  const gateway = await startGateway(upstream.url, { prices });
  closers.push(() => gateway.close({ graceMs: 0 }));
  await sendAll(gateway.url);
  return bodiesOf(upstream);
}

let stores = 0;

/** The same through `palimpsest serve`. */
async function servedWith(args: readonly string[], yaml = ''): Promise<Buffer[]> {
  const upstream = await startAnswering();
  let said = '';
  let stop = (): void => {};
  const io: Partial<Io> = {
    env: { PALIMPSEST_TOKEN: TOKEN, XDG_CONFIG_HOME: folder },
    readFile: async (path) => (path === 'mine.yaml' ? yaml : Promise.reject(new Error('ENOENT: no such file'))),
    stdout: (text) => (said += text),
    interrupted: () => new Promise((resolve) => (stop = resolve)),
  };
  const store = join(folder, `store-${++stores}`);
  const flags = ['--port', '0', '--quiet', '--store', store, '--upstream', `anthropic=${upstream.url}`, ...args];
  const running = palimpsest(['serve', ...flags, ...(yaml === '' ? [] : ['--config', 'mine.yaml'])], io);
  while (!said.includes('Ctrl-C'))
    await Promise.race([
      new Promise((resolve) => setTimeout(resolve, 5)),
      running.then((ran) => Promise.reject(new Error(ran.stderr))),
    ]);
  await sendAll(/^listening on (\S+)$/m.exec(said)?.[1] ?? '');
  stop();
  await running;
  return bodiesOf(upstream);
}

const MARKED = turnsOf(decided(five));
const ANY_PREFIX = turnsOf(decided(toPrices('test', { read: 0.1, write: 1.25 })));

describe('own prices of a gateway', () => {
  it('decide as the named list with equal numbers and lookup', () => {
    expect(turnsOf(decided({ ...five, name: 'mine' }))).toEqual(MARKED);
    expect(turnsOf(decided(toPrices('test', { ...numbers, lookup: markers })))).toEqual(MARKED);
    // As does the list that the request tells.
    expect(turnsOf(decided())).toEqual(MARKED);
  });

  it('find any prefix where they do not say how, whatever they are called', () => {
    expect(ANY_PREFIX).not.toEqual(MARKED);
    for (const name of ['mine', 'anthropic-5m', 'anthropic'])
      expect(turnsOf(decided(toPrices('test', { ...numbers, name })))).toEqual(ANY_PREFIX);
  });

  it('take the second epoch earlier with a longer look-back, and later in longer steps', () => {
    const second = (lookup: Prices['lookup']): number => turnsOf(decided({ ...five, lookup }))[1] ?? 0;
    const nearby = MARKED[1] ?? 0;
    expect(second({ kind: 'markers', lookBackBlocks: 1000 })).toBeGreaterThan(0);
    expect(second({ kind: 'markers', lookBackBlocks: 1000 })).toBeLessThan(nearby);
    expect(second({ kind: 'prefix', stepTokens: 8000 })).toBeGreaterThan(ANY_PREFIX[1] ?? 0);
  });

  it('send the same bytes as the named list, in code', async () => {
    const named = await sentAt('anthropic-5m');
    expect(turnsOf(named)).toEqual(MARKED);
    const own = await sentAt({ ...numbers, lookup: markers });
    expect(own.map(String)).toEqual(named.map(String));
    expect(turnsOf(await sentAt(numbers))).toEqual(ANY_PREFIX);
  }, 30_000);

  it('are read from palimpsest.yaml, under gateway and under policy', async () => {
    const own =
      'read: 0.1, write: 1.25, life_ms: 300000, least_tokens: 1024, lookup: { kind: markers, look_back_blocks: 20 }';
    expect(turnsOf(await servedWith([], `gateway: { prices: { ${own} } }`))).toEqual(MARKED);
    expect(turnsOf(await servedWith([], `policy: { prices: { ${own} } }`))).toEqual(MARKED);
    expect(turnsOf(await servedWith([], 'gateway: { prices: { read: 0.1, write: 1.25 } }'))).toEqual(ANY_PREFIX);
  }, 30_000);

  it('are read from --prices', async () => {
    const own = 'mine:read=0.1,write=1.25,life-ms=300000,least-tokens=1024';
    expect(turnsOf(await servedWith(['--prices', `${own},look-back-blocks=20`]))).toEqual(MARKED);
    expect(turnsOf(await servedWith(['--prices', `${own},step-tokens=1`]))).toEqual(ANY_PREFIX);
  }, 30_000);

  it('take back no mask where only the lookup changes', () => {
    const first = new Desk({ prices: five });
    const recorded = Array.from({ length: 40 }, (_, i) => first.ask(bodyOf(i + 1)));
    const last = recorded.at(-1);
    const events = recorded.flatMap((asked) => asked.events);
    const prices: Prices = { ...five, lookup: { kind: 'prefix', stepTokens: 1 } };
    if (!last) throw new Error('nothing was asked');
    const heir = successor(last, events, { prices });
    const masks = maskedIn(last.out);
    expect(masks).toContain(true);
    for (let turns = 41; turns <= TURNS; turns++)
      expect(maskedIn(heir.ask(bodyOf(turns)).out).slice(0, masks.lastIndexOf(true) + 1)).not.toContain(false);
  });
});

describe('the prices of a model in dollars', () => {
  const CHEAP_READS = 'claude-opus-5-5';
  const MINE = { 'my-claude': { input: 10, output: 50, cacheRead: 0.25 } };

  async function held(options: GatewayOptions, model: string, turns: readonly number[]) {
    const upstream = await startAnswering();
    const store = options.store ?? createMemoryStore();
    const gateway = await startGateway(upstream.url, { ...options, store });
    const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' };
    for (const turn of turns) {
      const body = JSON.stringify({ ...bodyOf(turn), model });
      await fetch(`${gateway.url}/v1/messages`, { method: 'POST', headers, body });
    }
    await gateway.close();
    return { bodies: bodiesOf(upstream), records: await collect((store as Store).records?.() ?? noRecords()) };
  }

  async function* noRecords(): AsyncGenerator<RequestRecord> {}

  const all = Array.from({ length: TURNS }, (_, i) => i + 1);

  it.each([
    ['of the list', {}, CHEAP_READS, 0.05, 512],
    ['of --price-file', { modelPrices: MINE }, 'my-claude', 0.025, 1024],
  ] as const)(
    '%s give the multiples that its conversations are planned with',
    async (_, options, model, read, least) => {
      const { bodies, records } = await held(options, model, all);
      const prices = { ...five, read, leastTokens: least };
      const named = await held({ ...options, prices: 'anthropic-5m' }, model, all);
      expect(turnsOf(bodies)).toEqual(turnsOf((await held({ prices }, model, all)).bodies));
      expect(turnsOf(bodies)).not.toEqual(turnsOf(named.bodies));
      expect(records.at(-1)?.prices).toMatchObject({ name: 'anthropic-5m', read, write: 1.25 });
      expect(named.records.at(-1)?.prices.read).toBe(0.1);
    },
  );

  it('change no byte of a conversation that was planned with the list of its provider before', async () => {
    const store = createMemoryStore();
    // The list of the provider masks at turn 33, the model's own prices at turn 40.
    const first = all.slice(0, 36);
    const before = await held({ store, prices: 'anthropic-5m' }, CHEAP_READS, [...first, 36]);
    expect(turnsOf(before.bodies).length).toBeGreaterThan(0);
    const after = await held({ store }, CHEAP_READS, all.slice(35));
    expect(after.bodies[0]?.toString()).toBe(before.bodies.at(-1)?.toString());
    for (const [i, body] of after.bodies.slice(1).entries()) {
      const [old, now] = [maskedIn(after.bodies[i] as Buffer), maskedIn(body)];
      expect(old.filter((isMasked, n) => isMasked && !now[n])).toEqual([]);
    }
  });
});

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import parse from 'parse-prometheus-text-format';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Metric, metricList } from '../../../src/gateway/receipts/metric-list.ts';
import { createRecords, type Finished, priced, type Records } from '../../../src/gateway/receipts/records.ts';
import { listPrices } from '../../../src/money/price-book.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import { anthropicSdk } from '../../support/gateway/clients/anthropic-sdk.ts';
import { jobScript } from '../../support/gateway/conversations.ts';
import { changedStore, startGateway } from '../../support/gateway/gateway.ts';
import { ensureBuilt, ROOT } from '../../support/modules.ts';
import { startProvider } from '../../support/provider/start-provider.ts';

const closers: (() => Promise<unknown>)[] = [];
const STARTED_AT = 1_763_000_000_000;

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Records as the gateway keeps them, and everything that they were told. */
function watchedRecords(): { readonly records: Records; readonly told: Finished[] } {
  const told: Finished[] = [];
  const records = createRecords({ startedAt: STARTED_AT, version: '1.2.3 "quoted\\' });
  const finish = (finished: Finished): void => {
    told.push(finished);
    records.finish(finished);
  };
  return { told, records: { ...records, finish } };
}

/** The same requests, counted by prom-client. */
async function countedByLibrary(told: readonly Finished[]): Promise<string> {
  const registry = new Registry();
  const made = Object.fromEntries(
    Object.entries(metricList).map(([name, metric]) => [name, make(registry, name, metric)]),
  );
  const count = (name: keyof typeof metricList, value: number, labels: Record<string, string> = {}): void => {
    const metric = made[name];
    if (metric instanceof Histogram) metric.observe(value);
    else metric?.inc(labels, value);
  };
  const conversations = new Set<string>();
  for (const of of ['sent', 'output', 'without'])
    for (const tokens of ['billed', 'estimated']) count('palimpsest_cost_dollars_total', 0, { of, tokens });
  for (const { provider, status, ended, storeTrouble, entry } of told) {
    const isWhole = ended === 'passed' || ended === 'held';
    count('palimpsest_responses_total', 1, { provider, status: isWhole ? `${Math.floor(status / 100)}xx` : ended });
    if (storeTrouble) count('palimpsest_store_troubles_total', 1, { reason: storeTrouble });
    if (!entry) continue;
    const receipt = priced(entry, listPrices);
    const { api, act, without, sent, cost, money } = receipt;
    conversations.add(receipt.conversation);
    count('palimpsest_requests_total', 1, { api, act });
    count('palimpsest_tokens_in_total', without.tokens);
    count('palimpsest_tokens_sent_total', sent.tokens);
    count('palimpsest_tokens_cached_total', sent.cached);
    count('palimpsest_tokens_written_total', sent.written);
    for (const of of ['without', 'sent'] as const) count('palimpsest_cost_base_tokens_total', cost[of], { of });
    const tokens = receipt.estimated ? 'estimated' : 'billed';
    if (sent.tokens > 0 && money && 'output' in money)
      for (const of of ['sent', 'output', 'without'] as const)
        count('palimpsest_cost_dollars_total', money[of], { of, tokens });
    if (sent.tokens > 0 && !money) count('palimpsest_unpriced_requests_total', 1);
    count('palimpsest_masked_results_total', receipt.newMasks.length);
    for (const { how } of receipt.newShaped ?? []) count('palimpsest_shaped_results_total', 1, { how });
    if (receipt.refused) count('palimpsest_refused_requests_total', 1);
    count('palimpsest_overhead_seconds', receipt.overheadMs / 1000);
    count('palimpsest_request_seconds', receipt.totalMs / 1000);
  }
  count('palimpsest_conversations_total', conversations.size);
  count('palimpsest_start_time_seconds', STARTED_AT / 1000);
  count('palimpsest_build_info', 1, { version: '1.2.3 "quoted\\' });
  return registry.metrics();
}

function make(registry: Registry, name: string, { type, help, labels = [], buckets = [] }: Metric) {
  const about = { name, help, labelNames: [...labels], registers: [registry] };
  if (type === 'histogram') return new Histogram({ ...about, buckets: [...buckets] });
  return type === 'gauge' ? new Gauge(about) : new Counter(about);
}

/** As a scraper reads it: in one order, without metrics that have no value. */
function read(text: string): object[] {
  return parse(text)
    .filter(({ metrics }) => metrics.length > 0)
    .map(({ name, type, help, metrics }) => ({ name, type, help, metrics: metrics.map(inOrder).sort(byText) }))
    .sort(byText);
}

const byText = (a: object, b: object): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);

/** Values as numbers, rounded: sums of floating point numbers depend on their order. */
function inOrder(sample: object): object {
  const entries = Object.entries(sample).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(
    entries.map(([key, value]) => [key, typeof value === 'string' ? Number(Number(value).toPrecision(10)) : value]),
  );
}

describe('the metrics', () => {
  it('are those that prom-client makes of the same requests, as a parser reads both', {
    timeout: 120_000,
  }, async () => {
    const job = { turns: 40, parallel: 2, resultChars: 2500 };
    const provider = await startProvider({ script: jobScript(job) });
    const { records, told } = watchedRecords();
    const gateway = await startGateway(provider.url, { store: createMemoryStore(), records });
    const broken = changedStore(createMemoryStore(), { putMany: () => Promise.reject(new Error('broken')) });
    const storeless = await startGateway(provider.url, { store: broken, records });
    const unreachable = await startGateway('http://127.0.0.1:1', { records });
    closers.push(provider.close, ...[gateway, storeless, unreachable].map((one) => () => one.close()));
    await anthropicSdk.converse(gateway.url, job);
    await anthropicSdk.converse(storeless.url, { ...job, task: 'Another' });
    for (const url of [gateway.url, unreachable.url])
      for (const path of ['/v1/other', '/v1/chat/completions'])
        await (await fetch(`${url}${path}`, { method: 'POST', body: '{"model":"m","messages":[]}' })).text();
    expect(new Set(told.map(({ storeTrouble }) => storeTrouble))).toEqual(new Set([undefined, 'store-failed']));
    const answer = await fetch(`${gateway.url}/metrics`);
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(read(await answer.text())).toEqual(read(await countedByLibrary(told)));
  });

  it('have no labels but those of the list', async () => {
    const { records } = watchedRecords();
    for (const { name, metrics } of parse(await records.metrics())) {
      const { labels = [] }: Metric = metricList[name as keyof typeof metricList];
      for (const sample of metrics) expect(Object.keys(sample.labels ?? {}).sort()).toEqual([...labels].sort());
    }
  });
});

describe('the Grafana dashboard and the alerts', () => {
  beforeAll(() => ensureBuilt(), 240_000);

  it('are what the script makes of the metrics', () => {
    const { status, stderr } = spawnSync('node', ['scripts/monitoring.js', '--check'], { cwd: ROOT, encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });

  it('show every metric, and none that is not there', () => {
    const text = readFileSync(join(ROOT, 'deploy/grafana-dashboard.json'), 'utf8');
    const shown = new Set([...text.matchAll(/palimpsest_\w+/g)].map(([name]) => name.replace(/_bucket$/, '')));
    expect([...shown].sort()).toEqual(Object.keys(metricList).sort());
  });
});

describe('the page for operators', () => {
  it('names only metrics that there are', () => {
    const page = readFileSync(join(ROOT, 'docs/operating.md'), 'utf8');
    const named = [...page.matchAll(/\bpalimpsest_[a-z_]+/g)].map(([name]) => name.replace(/_bucket$/, ''));
    expect(named.length).toBeGreaterThan(6);
    expect(named.filter((name) => !(name in metricList))).toEqual([]);
  });
});

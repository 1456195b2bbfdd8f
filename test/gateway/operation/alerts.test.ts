import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { metricList } from '../../../src/gateway/receipts/metric-list.ts';
import { createRecords } from '../../../src/gateway/receipts/records.ts';
import { ROOT } from '../../support/modules.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: { readonly summary: string; readonly description: string };
}

const FILE = join(ROOT, 'deploy/alerts.yaml');
const text = readFileSync(FILE, 'utf8');
const rules: readonly Rule[] = parse(text).groups.flatMap((group: { readonly rules: readonly Rule[] }) => group.rules);

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-alerts-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Series as promtool writes them, a value for each step. */
type Series = Readonly<Record<string, string>>;

interface Case {
  readonly trouble: Series;
  /** The summary that the operator reads, and the labels of the alert next to its severity. */
  readonly summary: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly quiet: Series;
  /** The minutes of a step. It is looked at after 20 of them. @default 1 */
  readonly step?: number;
}

const UP = 'up{job="palimpsest",instance="a"}';
const here = { job: 'palimpsest', instance: 'a' };
const BUCKET = 'palimpsest_overhead_seconds_bucket';
const BUILD = 'palimpsest_build_info';
const COST = 'palimpsest_cost_base_tokens_total';
const HOURS = 60;
/** It fires after a day. */
const DAILY = 2 * HOURS;

const cases: Readonly<Record<string, Case>> = {
  PalimpsestGatewayDown: {
    trouble: { [UP]: '1 0x30', 'up{job="palimpsest",instance="b"}': '1x30' },
    summary: 'The gateway a does not answer',
    labels: here,
    // One scrape may fail.
    quiet: { [UP]: '1x16 0 1x16' },
  },
  PalimpsestNoGateway: {
    trouble: { [UP]: '1 0x30', 'up{job="other"}': '1x30' },
    summary: 'No gateway answers',
    quiet: { [UP]: '0x30', 'up{job="palimpsest",instance="b"}': '1x30' },
  },
  PalimpsestStoreTrouble: {
    trouble: { 'palimpsest_store_troubles_total{job="palimpsest",instance="a",reason="store-failed"}': '0+1x30' },
    summary: 'The store of a is in trouble: store-failed',
    labels: { instance: 'a', reason: 'store-failed' },
    // A server that starts again.
    quiet: { 'palimpsest_store_troubles_total{job="palimpsest",instance="a",reason="store-failed"}': '0+9x4 36x30' },
  },
  PalimpsestRecordsWait: {
    trouble: { 'palimpsest_records_waiting{job="palimpsest",instance="a"}': '0 1200x30' },
    summary: '1200 records of a wait for the store',
    labels: here,
    quiet: { 'palimpsest_records_waiting{job="palimpsest",instance="a"}': '900x30' },
  },
  PalimpsestRecordsLost: {
    trouble: { 'palimpsest_records_dropped_total{job="palimpsest",instance="a"}': '0x9 5x30' },
    summary: 'a lost records of requests',
    labels: here,
    quiet: { 'palimpsest_records_dropped_total{job="palimpsest",instance="a"}': '5x30' },
  },
  PalimpsestEditsRefused: {
    trouble: { 'palimpsest_refused_requests_total{job="palimpsest",instance="a"}': '0x15 1x30' },
    summary: 'A provider refused what a edited',
    labels: here,
    quiet: { 'palimpsest_refused_requests_total{job="palimpsest",instance="a"}': '1x30' },
  },
  PalimpsestUpstreamFails: {
    trouble: { 'palimpsest_responses_total{instance="a",provider="openai",status="unreachable"}': '0+1x30' },
    summary: 'Requests to openai fail',
    labels: { provider: 'openai' },
    quiet: {
      'palimpsest_responses_total{instance="a",provider="openai",status="2xx"}': '0+9x30',
      'palimpsest_responses_total{instance="a",provider="openai",status="4xx"}': '0+1x30',
    },
  },
  PalimpsestSlow: {
    trouble: {
      [`${BUCKET}{le="0.25"}`]: '0+90x30',
      [`${BUCKET}{le="0.5"}`]: '0+100x30',
      [`${BUCKET}{le="+Inf"}`]: '0+100x30',
    },
    summary: 'One request of a hundred waits longer than 250 ms for the gateway',
    quiet: {
      [`${BUCKET}{le="0.25"}`]: '0+100x30',
      [`${BUCKET}{le="0.5"}`]: '0+100x30',
      [`${BUCKET}{le="+Inf"}`]: '0+100x30',
    },
  },
  PalimpsestSavesNothing: {
    trouble: { [`${COST}{of="sent"}`]: '0+100x30', [`${COST}{of="without"}`]: '0+100x30' },
    summary: 'The gateways saved no input cost for a day',
    // After some hours nobody asks anything.
    quiet: { [`${COST}{of="sent"}`]: '0+99x5 495x30', [`${COST}{of="without"}`]: '0+100x5 500x30' },
    step: DAILY,
  },
  PalimpsestTwoVersions: {
    trouble: { [`${BUILD}{instance="a",version="1"}`]: '1x30', [`${BUILD}{instance="b",version="2"}`]: '1x30' },
    summary: '2 versions have run for a day',
    // An upgrade that takes some hours.
    quiet: { [`${BUILD}{instance="a",version="1"}`]: '1x5', [`${BUILD}{instance="b",version="2"}`]: '1x30' },
    step: DAILY,
  },
};

function promtool(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' });
  return status === 0 ? '' : `${stdout}${stderr}`;
}

/** Debian has it in the package `prometheus`, which `.ci/run` installs: there these tests must run. */
const isAbsent = spawnSync('promtool', ['--version']).status !== 0 && !process.env.PALIMPSEST_CI;

/** A test of promtool: these series make the alert, or do not. */
function toTest(rule: Rule, { summary, labels = {}, step = 1 }: Case, series: Series, fires: boolean): object {
  const { severity } = rule.labels;
  const exp_annotations = { summary, description: rule.annotations.description };
  return {
    interval: `${step}m`,
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    alert_rule_test: [
      {
        eval_time: `${20 * step}m`,
        alertname: rule.alert,
        exp_alerts: fires ? [{ exp_labels: { severity, ...labels }, exp_annotations }] : [],
      },
    ],
  };
}

describe('the alerts', () => {
  it('name only metrics that there are, and each has a case', () => {
    const named = [...text.matchAll(/\bpalimpsest_\w+/g)].map(([name]) => name.replace(/_bucket$/, ''));
    expect(named.filter((name) => !(name in metricList))).toEqual([]);
    expect(rules.map(({ alert }) => alert)).toEqual(Object.keys(cases));
  });

  it('are those of the page for operators', () => {
    const page = readFileSync(join(ROOT, 'docs/operating.md'), 'utf8');
    const rows = [...page.matchAll(/^\| `(Palimpsest\w+)` +\| `(.+?)` +\| (\S*) +\|/gm)];
    const shown = rows.map(([, alert, expr, wait]) => [alert, expr?.replaceAll('\\|', '|'), wait]);
    expect(shown).toEqual(rules.map(({ alert, expr, for: wait }) => [alert, expr, wait ?? '']));
  });

  it.skipIf(isAbsent)('are sound for promtool, and so are the metrics of a gateway', async () => {
    expect(promtool('check', 'rules', FILE)).toBe('');
    const metrics = await createRecords({ startedAt: 0, version: '1.2.3' }).metrics();
    const { status, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: metrics, encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });

  it.skipIf(isAbsent).each([1, DAILY])(
    'fire when there is trouble, say what it is, and are quiet otherwise: steps of %i minutes',
    (minutes) => {
      const tests = rules.flatMap((rule) => {
        const about = cases[rule.alert] as Case;
        if ((about.step ?? 1) !== minutes) return [];
        return [toTest(rule, about, about.trouble, true), toTest(rule, about, about.quiet, false)];
      });
      const path = join(folder, `tests-${minutes}.yaml`);
      writeFileSync(path, stringify({ rule_files: [FILE], evaluation_interval: `${minutes}m`, tests }));
      expect(tests.length).toBeGreaterThan(3);
      expect(promtool('test', 'rules', path)).toBe('');
    },
  );
});

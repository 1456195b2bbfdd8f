// Writes deploy/grafana-dashboard.json and deploy/alerts.yaml from the list of metrics: npm run build && node scripts/monitoring.js && npm run format
// With --check it compares instead, and fails where a file is not what it would write.
import { readFileSync, writeFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import { metricList } from '../dist/gateway/receipts/metric-list.js';

const DASHBOARD = new URL('../deploy/grafana-dashboard.json', import.meta.url);
const ALERTS = new URL('../deploy/alerts.yaml', import.meta.url);
const WINDOW = '[$__rate_interval]';

/** The name of a metric that there is. */
function named(name) {
  if (!(name in metricList)) throw new Error(`There is no metric ${name}`);
  return `${name}{job="$job"}`;
}

const rate = (name) => `rate(${named(name)}${WINDOW})`;
const sum = (name) => `sum(${rate(name)})`;
const part = (name, label, value) => `sum(rate(${named(name).replace('}', `,${label}="${value}"}`)}${WINDOW}))`;
const quantile = (name, share) => {
  named(name);
  return `histogram_quantile(${share}, sum by (le) (rate(${name}_bucket{job="$job"}${WINDOW})))`;
};

/** What an operator looks at first. */
const overview = [
  ['Requests per second', 'reqps', [[sum('palimpsest_responses_total'), 'requests']]],
  [
    'Share of answers with an error',
    'percentunit',
    [
      [
        `sum(rate(${named('palimpsest_responses_total').replace('}', ',status!~"2xx|3xx"}')}${WINDOW})) / ${sum('palimpsest_responses_total')}`,
        'errors',
      ],
    ],
  ],
  [
    'Input cost saved',
    'percentunit',
    [
      [
        `1 - ${part('palimpsest_cost_base_tokens_total', 'of', 'sent')} / ${part('palimpsest_cost_base_tokens_total', 'of', 'without')}`,
        'saved',
      ],
    ],
  ],
  [
    'Share of the prompt read from the cache',
    'percentunit',
    [[`${sum('palimpsest_tokens_cached_total')} / ${sum('palimpsest_tokens_sent_total')}`, 'cached']],
  ],
  [
    'Overhead of the gateway',
    's',
    [
      [quantile('palimpsest_overhead_seconds', 0.5), 'median'],
      [quantile('palimpsest_overhead_seconds', 0.99), '99 of 100'],
    ],
  ],
  ['Requests without new masks because of the store', 'reqps', [[sum('palimpsest_store_troubles_total'), 'requests']]],
];

/** Every metric, so that none is missing. */
const everything = Object.entries(metricList).map(([name, { type, help, labels = [] }]) => {
  const legend = labels.map((label) => `{{${label}}}`).join(' ') || '{{instance}}';
  if (type === 'gauge') return [help, 'short', [[named(name), legend]]];
  if (type === 'histogram')
    return [help, 's', [0.5, 0.9, 0.99].map((share) => [quantile(name, share), `${share * 100} %`])];
  const by = labels.length === 0 ? 'instance' : labels.join(', ');
  return [`${help} Per second.`, 'short', [[`sum by (${by}) (${rate(name)})`, legend]]];
});

const source = { type: 'prometheus', uid: '$source' };
let id = 0;

const panel = ([title, unit, targets], index) => ({
  id: ++id,
  type: 'timeseries',
  title,
  datasource: source,
  gridPos: { x: (index % 3) * 8, y: Math.floor(index / 3) * 8, w: 8, h: 8 },
  fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
  targets: targets.map(([expr, legendFormat], at) => ({
    refId: String.fromCharCode(65 + at),
    datasource: source,
    expr,
    legendFormat,
  })),
});

const row = (title, y) => ({
  id: ++id,
  type: 'row',
  title,
  collapsed: false,
  gridPos: { x: 0, y, w: 24, h: 1 },
  panels: [],
});
const below = (panels, y) => panels.map((one) => ({ ...one, gridPos: { ...one.gridPos, y: one.gridPos.y + y } }));
const heightOf = (panels) => Math.ceil(panels.length / 3) * 8;

const dashboard = {
  uid: 'palimpsest',
  title: 'Palimpsest',
  tags: ['palimpsest', 'llm'],
  schemaVersion: 39,
  refresh: '30s',
  time: { from: 'now-6h', to: 'now' },
  templating: {
    list: [
      { name: 'source', type: 'datasource', query: 'prometheus', label: 'Data source' },
      {
        name: 'job',
        type: 'query',
        label: 'Job',
        datasource: source,
        query: 'label_values(palimpsest_build_info, job)',
        refresh: 1,
      },
    ],
  },
  panels: [
    row('Overview', 0),
    ...below(overview.map(panel), 1),
    row('All metrics', 1 + heightOf(overview)),
    ...below(everything.map(panel), 2 + heightOf(overview)),
  ],
};

/** The name of a metric that there is, of all jobs: the alerts are for every Prometheus that has these metrics. */
function known(name) {
  named(name);
  return name;
}

/** One alert: its expression, for how long it holds, whether it wakes somebody, and what the operator does then. */
const alerts = [
  {
    alert: 'PalimpsestGatewayDown',
    expr: 'up{job="palimpsest"} == 0',
    for: '2m',
    severity: 'warning',
    summary: 'The gateway {{ $labels.instance }} does not answer',
    description: 'The others take its requests, if there are others. See its log and /readyz.',
  },
  {
    alert: 'PalimpsestNoGateway',
    expr: 'absent(up{job="palimpsest"} == 1)',
    for: '1m',
    severity: 'critical',
    summary: 'No gateway answers',
    description: 'Agents cannot work.',
  },
  {
    alert: 'PalimpsestStoreTrouble',
    expr: `sum by (instance, reason) (rate(${known('palimpsest_store_troubles_total')}[5m])) > 0`,
    for: '10m',
    severity: 'warning',
    summary: 'The store of {{ $labels.instance }} is in trouble: {{ $labels.reason }}',
    description: 'Nothing new is masked, so requests grow. See to the database or the disk.',
  },
  {
    alert: 'PalimpsestRecordsWait',
    expr: `${known('palimpsest_records_waiting')} > 1000`,
    for: '5m',
    severity: 'warning',
    summary: '{{ $value }} records of {{ $labels.instance }} wait for the store',
    description: 'The report lacks them. 10,000 for each tenant are kept, further ones are lost.',
  },
  {
    alert: 'PalimpsestRecordsLost',
    expr: `increase(${known('palimpsest_records_dropped_total')}[1h]) > 0`,
    severity: 'warning',
    summary: '{{ $labels.instance }} lost records of requests',
    description: 'The store was away for too long. The report lacks these requests.',
  },
  {
    alert: 'PalimpsestEditsRefused',
    expr: `rate(${known('palimpsest_refused_requests_total')}[15m]) > 0`,
    severity: 'warning',
    summary: 'A provider refused what {{ $labels.instance }} edited',
    description: 'The original was sent instead. Read the receipts with the mark refused, and report it.',
  },
  {
    alert: 'PalimpsestUpstreamFails',
    expr: `sum by (provider) (rate(${known('palimpsest_responses_total')}{status=~"5xx|unreachable|broken"}[5m])) > 0`,
    for: '10m',
    severity: 'warning',
    summary: 'Requests to {{ $labels.provider }} fail',
    description: 'It is the provider, or the network to it.',
  },
  {
    alert: 'PalimpsestSlow',
    expr: `histogram_quantile(0.99, sum by (le) (rate(${known('palimpsest_overhead_seconds')}_bucket[5m]))) > 0.25`,
    for: '10m',
    severity: 'warning',
    summary: 'One request of a hundred waits longer than 250 ms for the gateway',
    description: 'The store is slow (requests wait 250 ms for it), or there are too few cores: --workers auto.',
  },
  {
    alert: 'PalimpsestSavesNothing',
    expr: saved('1d'),
    for: '1h',
    severity: 'info',
    summary: 'The gateways saved no input cost for a day',
    description: 'Conversations are short, or the policy never masks. palimpsest report says more.',
  },
  {
    alert: 'PalimpsestTwoVersions',
    expr: `count(count by (version) (${known('palimpsest_build_info')})) > 1`,
    for: '1d',
    severity: 'info',
    summary: '{{ $value }} versions have run for a day',
    description: 'An upgrade did not finish.',
  },
];

/** True where what was sent cost as much as what would have been sent. Without requests there is nothing to save. */
function saved(window) {
  const cost = (of) => `sum(increase(${known('palimpsest_cost_base_tokens_total')}{of="${of}"}[${window}]))`;
  return `${cost('sent')} >= ${cost('without')} > 0`;
}

const rules = {
  groups: [
    {
      name: 'palimpsest',
      rules: alerts.map(({ severity, summary, description, ...rule }) => ({
        ...rule,
        labels: { severity },
        annotations: { summary, description },
      })),
    },
  ],
};
const NOTE = `# What to alert on: docs/operating.md. Made by scripts/monitoring.js from the list of metrics.
# In prometheus.yml: rule_files: [alerts.yaml]. The job of the gateways is named palimpsest.
`;

const files = [
  { url: DASHBOARD, read: JSON.parse, value: dashboard, text: `${JSON.stringify(dashboard, null, 2)}\n` },
  { url: ALERTS, read: parse, value: rules, text: NOTE + stringify(rules, { lineWidth: 0 }) },
];
for (const { url, read, value, text } of files) {
  if (!process.argv.includes('--check')) writeFileSync(url, text);
  // The linter formats files in its own way.
  else if (JSON.stringify(read(readFileSync(url, 'utf8'))) !== JSON.stringify(value)) {
    console.error(`${url.pathname.split('/').at(-1)} is not what the metrics make of it: node scripts/monitoring.js`);
    process.exitCode = 1;
  }
}

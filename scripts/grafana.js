// Writes deploy/grafana-dashboard.json from the list of metrics: npm run build && node scripts/grafana.js && npm run format
// With --check it compares instead, and fails where the file is not what it would write.
import { readFileSync, writeFileSync } from 'node:fs';
import { metricList } from '../dist/gateway/receipts/metric-list.js';

const FILE = new URL('../deploy/grafana-dashboard.json', import.meta.url);
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

const text = JSON.stringify(dashboard, null, 2);
if (process.argv.includes('--check')) {
  // The linter formats the file in its own way.
  if (JSON.stringify(JSON.parse(readFileSync(FILE, 'utf8')), null, 2) !== text) {
    console.error('deploy/grafana-dashboard.json is not what the metrics make of it: node scripts/grafana.js');
    process.exitCode = 1;
  }
} else writeFileSync(FILE, `${text}\n`);

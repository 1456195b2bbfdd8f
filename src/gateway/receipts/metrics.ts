import type { DollarSums } from '../../money/money-totals.ts';
import type { Histogram } from './histogram.ts';
import { type Metric, type MetricName, metricList } from './metric-list.ts';
import type { Totals } from './receipt.ts';

type Labels = Readonly<Record<string, string>>;

/** One value of a metric. */
interface Sample {
  readonly labels?: Labels;
  readonly value: number;
}

/** Counts by name and labels. */
export class Counters {
  readonly #counts = new Map<string, { readonly name: MetricName; readonly labels: Labels; value: number }>();

  add(name: MetricName, labels: Labels): void {
    // A name always has the same labels in the same order.
    const key = `${name}\n${Object.values(labels).join('\n')}`;
    const found = this.#counts.get(key);
    if (found) found.value++;
    else this.#counts.set(key, { name, labels, value: 1 });
  }

  samples(name: MetricName): Sample[] {
    return [...this.#counts.values()].filter((count) => count.name === name);
  }
}

/** Everything that is measured. */
export interface Measured {
  readonly totals: Totals;
  readonly overhead: Histogram;
  readonly duration: Histogram;
  readonly counters: Counters;
  readonly droppedRecords: number;
  readonly waitingRecords: number;
  readonly startedAt: number;
  readonly version: string;
}

/** The text format of Prometheus, version 0.0.4. */
export function toPrometheus(measured: Measured): string {
  const values = valuesOf(measured);
  const names = Object.keys(metricList) as MetricName[];
  return names.map((name) => show(name, metricList[name], values[name])).join('');
}

function valuesOf(measured: Measured): Readonly<Record<MetricName, number | readonly Sample[] | Histogram>> {
  const { totals, overhead, duration, counters, startedAt, version } = measured;
  const { cost, money } = totals;
  return {
    palimpsest_requests_total: counters.samples('palimpsest_requests_total'),
    palimpsest_responses_total: counters.samples('palimpsest_responses_total'),
    palimpsest_tokens_in_total: totals.tokensIn,
    palimpsest_tokens_sent_total: totals.tokensSent,
    palimpsest_tokens_cached_total: totals.cached,
    palimpsest_tokens_written_total: totals.written,
    palimpsest_cost_base_tokens_total: [
      { labels: { of: 'without' }, value: cost.without },
      { labels: { of: 'sent' }, value: cost.sent },
    ],
    palimpsest_cost_dollars_total: [...dollars('billed', money.billed), ...dollars('estimated', money.estimated)],
    palimpsest_unpriced_requests_total: money.unpriced,
    palimpsest_masked_results_total: totals.masked,
    palimpsest_shaped_results_total: counters.samples('palimpsest_shaped_results_total'),
    palimpsest_refused_requests_total: totals.refused,
    palimpsest_conversations_total: totals.conversations,
    palimpsest_store_troubles_total: counters.samples('palimpsest_store_troubles_total'),
    palimpsest_records_dropped_total: measured.droppedRecords,
    palimpsest_records_waiting: measured.waitingRecords,
    palimpsest_overhead_seconds: overhead,
    palimpsest_request_seconds: duration,
    palimpsest_start_time_seconds: startedAt / 1000,
    palimpsest_build_info: [{ labels: { version }, value: 1 }],
  };
}

const dollars = (tokens: string, { sent, output, without }: DollarSums): Sample[] =>
  Object.entries({ sent, output, without }).map(([of, value]) => ({ labels: { of, tokens }, value }));

function show(name: string, { type, help }: Metric, value: number | readonly Sample[] | Histogram): string {
  const lines = linesOf(name, value);
  return lines.length === 0 ? '' : `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('\n')}\n`;
}

function linesOf(name: string, value: number | readonly Sample[] | Histogram): string[] {
  if (typeof value === 'number') return [`${name} ${value}`];
  if (isSamples(value)) return value.map((sample) => `${seriesOf(name, sample.labels)} ${sample.value}`);
  const buckets = [...value.buckets(), ['+Inf', value.count] as const];
  return [
    ...buckets.map(([bound, count]) => `${seriesOf(`${name}_bucket`, { le: String(bound) })} ${count}`),
    `${name}_sum ${value.sum}`,
    `${name}_count ${value.count}`,
  ];
}

const isSamples = (value: readonly Sample[] | Histogram): value is readonly Sample[] => Array.isArray(value);

/** `name{label="value"}`. */
function seriesOf(name: string, labels: Labels = {}): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${escaped(value)}"`);
  return pairs.length === 0 ? name : `${name}{${pairs.join(',')}}`;
}

const escaped = (value: string): string => value.replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`));

import type { DollarSums } from '../../money/money-totals.ts';
import type { Quantiles } from './quantiles.ts';
import type { Totals } from './receipt.ts';

/** Counts by name and labels. Every label is one of a few words of ours: nothing that a client sends becomes one. */
export class Counters {
  readonly #counts = new Map<string, number>();

  /** `name{label="value"}`, as Prometheus writes it. */
  add(series: string): void {
    this.#counts.set(series, (this.#counts.get(series) ?? 0) + 1);
  }

  /** The series of one name, as Prometheus reads them. */
  lines(name: string): string[] {
    return [...this.#counts].filter(([series]) => series.startsWith(`${name}{`)).map(([s, count]) => `${s} ${count}`);
  }
}

/** Everything that is measured. */
export interface Measured {
  readonly totals: Totals;
  readonly overhead: Quantiles;
  readonly counters: Counters;
  readonly droppedRecords: number;
  readonly startedAt: number;
}

/** The text format of Prometheus, version 0.0.4. */
export function toPrometheus({ totals, overhead, counters, droppedRecords, startedAt }: Measured): string {
  const counted = (name: string, help: string): string => metric(name, 'counter', help, counters.lines(name));
  const one = (name: string, help: string, value: number): string =>
    metric(name, 'counter', help, [`${name} ${value}`]);
  const { cost } = totals;
  return [
    counted('palimpsest_requests_total', 'Requests that were understood, by interface and what was done with them.'),
    counted('palimpsest_responses_total', 'Answers of upstreams, and requests that got none, by class of status.'),
    one('palimpsest_tokens_in_total', 'Prompt tokens as the clients sent them (an estimate).', totals.tokensIn),
    one('palimpsest_tokens_sent_total', 'Prompt tokens as they were sent.', totals.tokensSent),
    one('palimpsest_tokens_cached_total', 'Of those sent, tokens read from the cache.', totals.cached),
    one('palimpsest_tokens_written_total', 'Of those sent, tokens not read from the cache.', totals.written),
    metric('palimpsest_cost_base_tokens_total', 'counter', 'Input cost in tokens at the base price.', [
      `palimpsest_cost_base_tokens_total{of="without"} ${cost.without}`,
      `palimpsest_cost_base_tokens_total{of="sent"} ${cost.sent}`,
    ]),
    metric('palimpsest_cost_dollars_total', 'counter', 'Dollars at the prices of the models that have one.', [
      ...dollarLines('billed', totals.money.billed),
      ...dollarLines('estimated', totals.money.estimated),
    ]),
    one('palimpsest_unpriced_requests_total', 'Requests of models without a known price.', totals.money.unpriced),
    one('palimpsest_masked_results_total', 'Tool results that were masked.', totals.masked),
    counted('palimpsest_shaped_results_total', 'Tool results that were made smaller when they first went out, by how.'),
    one('palimpsest_refused_requests_total', 'Edited requests that a provider refused.', totals.refused),
    one('palimpsest_conversations_total', 'Conversations that were seen.', totals.conversations),
    one('palimpsest_records_dropped_total', 'Records of requests that the store never got.', droppedRecords),
    overheadHistogram(overhead),
    metric('palimpsest_start_time_seconds', 'gauge', 'When the gateway started.', [
      `palimpsest_start_time_seconds ${startedAt / 1000}`,
    ]),
  ].join('');
}

const dollarLines = (tokens: string, { sent, output, without }: DollarSums): string[] =>
  Object.entries({ sent, output, without }).map(
    ([of, dollars]) => `palimpsest_cost_dollars_total{of="${of}",tokens="${tokens}"} ${dollars}`,
  );

const BUCKETS_MS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500];

function overheadHistogram(overhead: Quantiles): string {
  const name = 'palimpsest_overhead_seconds';
  return metric(name, 'histogram', 'Time between a whole request and its sending on.', [
    ...BUCKETS_MS.map((ms) => `${name}_bucket{le="${ms / 1000}"} ${overhead.upTo(ms)}`),
    `${name}_bucket{le="+Inf"} ${overhead.count}`,
    `${name}_sum ${overhead.sum / 1000}`,
    `${name}_count ${overhead.count}`,
  ]);
}

function metric(name: string, type: string, help: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('\n')}\n`;
}

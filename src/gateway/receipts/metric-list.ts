/** A metric as Prometheus knows it. */
export interface Metric {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** Names of labels. Every value is one of a few words of ours, never text from a client. */
  readonly labels?: readonly string[];
  /** Upper bounds of the buckets of a histogram, in seconds. */
  readonly buckets?: readonly number[];
}

/** All metrics of a gateway, in the order in which they are shown. The Grafana dashboard and the docs are compared with it. */
export const metricList = {
  palimpsest_requests_total: counter(
    'Requests that were understood, by interface and what was done with them.',
    'api',
    'act',
  ),
  palimpsest_responses_total: counter(
    'Answers of upstreams, and requests that got none, by class of status.',
    'provider',
    'status',
  ),
  palimpsest_tokens_in_total: counter('Prompt tokens as the clients sent them (an estimate).'),
  palimpsest_tokens_sent_total: counter('Prompt tokens as they were sent.'),
  palimpsest_tokens_cached_total: counter('Of those sent, tokens read from the cache.'),
  palimpsest_tokens_written_total: counter('Of those sent, tokens not read from the cache.'),
  palimpsest_cost_base_tokens_total: counter('Input cost in tokens at the base price.', 'of'),
  palimpsest_cost_dollars_total: counter('Dollars at the prices of the models that have one.', 'of', 'tokens'),
  palimpsest_unpriced_requests_total: counter('Requests of models without a known price.'),
  palimpsest_masked_results_total: counter('Tool results that were masked.'),
  palimpsest_shaped_results_total: counter(
    'Tool results that were made smaller when they were first sent, by how.',
    'how',
  ),
  palimpsest_refused_requests_total: counter('Edited requests that a provider refused.'),
  palimpsest_conversations_total: counter('Conversations that were seen.'),
  palimpsest_store_troubles_total: counter(
    'Requests that were sent without new masks because the store was slow, full or failed.',
    'reason',
  ),
  palimpsest_records_dropped_total: counter('Records of requests that the store never got.'),
  palimpsest_records_waiting: { type: 'gauge', help: 'Records of requests that wait to be written to the store.' },
  palimpsest_overhead_seconds: {
    type: 'histogram',
    help: 'Time between a whole request and its sending on.',
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5],
  },
  palimpsest_request_seconds: {
    type: 'histogram',
    help: 'Time of a request with its answer.',
    buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500],
  },
  palimpsest_start_time_seconds: { type: 'gauge', help: 'When the gateway started.' },
  palimpsest_build_info: { type: 'gauge', help: 'The version that runs. The value is always 1.', labels: ['version'] },
} as const satisfies Readonly<Record<string, Metric>>;

export type MetricName = keyof typeof metricList;

function counter(help: string, ...labels: readonly string[]): Metric {
  return labels.length === 0 ? { type: 'counter', help } : { type: 'counter', help, labels };
}

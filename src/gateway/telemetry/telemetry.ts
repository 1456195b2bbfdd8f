import type * as OpenTelemetry from '@opentelemetry/api';
import type { Attributes, Context, Histogram, Span } from '@opentelemetry/api';
import {
  type Answered,
  type Asked,
  answerAttributes,
  errorType,
  metricAttributes,
  requestAttributes,
} from './attributes.ts';

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Spans and metrics of requests, with the names of the GenAI semantic conventions. */
export interface Telemetry {
  /**
   * Begins the span of a request that was decided. Its parent is the trace that the client's headers name. Undefined while no
   * SDK is registered.
   */
  begin(asked: Asked, options: { readonly headers: Headers; readonly startedAt: number }): RequestSpan | undefined;
}

/** The span of one request. */
export interface RequestSpan {
  /** The headers that continue the trace at the upstream. */
  readonly headers: Readonly<Record<string, string>>;
  /** Runs work as a part of this span. */
  run<T>(work: () => T): T;
  end(answered: Answered): void;
}

export function createTelemetry(api: typeof OpenTelemetry, version: string): Telemetry {
  const tracer = api.trace.getTracer(SCOPE, version);
  // Created when an SDK is registered, which may be after the gateway was created.
  let instruments: Instruments | undefined;
  return {
    begin: (asked, { headers, startedAt }) => {
      instruments ??= isMetered(api) ? createInstruments(api, version) : undefined;
      if (!instruments && !isTraced(api)) return undefined;
      const active = api.context.active();
      // An instrumented server has already read the headers.
      const parent = api.trace.getSpan(active) ? active : api.propagation.extract(active, headers, fromHeaders);
      const attributes = requestAttributes(asked);
      const span = tracer.startSpan(
        nameOf(attributes),
        { kind: api.SpanKind.CLIENT, startTime: startedAt, attributes },
        parent,
      );
      const context = api.trace.setSpan(parent, span);
      return createRequestSpan({ api, span, context, asked, startedAt, instruments });
    },
  };
}

const SCOPE = 'palimpsest';

/**
 * Whether an SDK takes spans. Many packages install the API alone, which does nothing, and creating spans for it takes as long as
 * forwarding a small request.
 */
function isTraced({ trace, ProxyTracerProvider }: typeof OpenTelemetry): boolean {
  const provider = trace.getTracerProvider();
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer(SCOPE) !== undefined;
}

/** Whether an SDK takes metrics. */
const isMetered = ({ metrics, createNoopMeter }: typeof OpenTelemetry): boolean =>
  metrics.getMeter(SCOPE) !== createNoopMeter();

/** The span's name by the conventions: operation and model. */
const nameOf = (attributes: Attributes): string =>
  [attributes['gen_ai.operation.name'], attributes['gen_ai.request.model']].filter(Boolean).join(' ');

interface Begun {
  readonly api: typeof OpenTelemetry;
  readonly span: Span;
  readonly context: Context;
  readonly asked: Asked;
  readonly startedAt: number;
  readonly instruments: Instruments | undefined;
}

function createRequestSpan({ api, span, context, asked, startedAt, instruments }: Begun): RequestSpan {
  const headers: Record<string, string> = {};
  api.propagation.inject(context, headers, { set: (carrier, key, value) => (carrier[key.toLowerCase()] = value) });
  return {
    headers,
    run: (work) => api.context.with(context, work),
    end: (answered) => {
      if (span.isRecording()) span.setAttributes(answerAttributes(answered));
      if (errorType(answered) !== undefined) span.setStatus({ code: api.SpanStatusCode.ERROR });
      if (instruments) measure(instruments, context, { asked, answered });
      span.end(startedAt + answered.totalMs);
    },
  };
}

interface Instruments {
  readonly tokens: Histogram;
  readonly duration: Histogram;
}

function createInstruments(api: typeof OpenTelemetry, version: string): Instruments {
  const meter = api.metrics.getMeter(SCOPE, version);
  return {
    tokens: meter.createHistogram('gen_ai.client.token.usage', {
      description: 'Number of input and output tokens used.',
      unit: '{token}',
      advice: { explicitBucketBoundaries: Array.from({ length: 14 }, (_, i) => 4 ** i) },
    }),
    duration: meter.createHistogram('gen_ai.client.operation.duration', {
      description: 'GenAI operation duration.',
      unit: 's',
      advice: { explicitBucketBoundaries: Array.from({ length: 14 }, (_, i) => 0.01 * 2 ** i) },
    }),
  };
}

/** Records tokens only if the provider counted them. */
function measure(
  { tokens, duration }: Instruments,
  context: Context,
  { asked, answered }: { readonly asked: Asked; readonly answered: Answered },
): void {
  const attributes = metricAttributes(asked, answered);
  const type = errorType(answered);
  duration.record(answered.totalMs / 1000, type ? { ...attributes, 'error.type': type } : attributes, context);
  const { usage } = answered;
  if (!usage) return;
  tokens.record(usage.cached + usage.written, { ...attributes, 'gen_ai.token.type': 'input' }, context);
  tokens.record(usage.completionTokens, { ...attributes, 'gen_ai.token.type': 'output' }, context);
}

const fromHeaders = {
  keys: (headers: Headers): string[] => Object.keys(headers),
  get: (headers: Headers, key: string): string | string[] | undefined => {
    const value = headers[key.toLowerCase()];
    return typeof value === 'string' || value === undefined ? value : [...value];
  },
};

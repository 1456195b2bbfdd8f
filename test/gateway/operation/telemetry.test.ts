import * as api from '@opentelemetry/api';
import { context, metrics, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import * as conventions from '@opentelemetry/semantic-conventions/incubating';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Status } from '../../../src/gateway/index.ts';
import { createTelemetry } from '../../../src/gateway/telemetry/telemetry.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import { anthropicSdk } from '../../support/gateway/clients/anthropic-sdk.ts';
import { jobScript, runTool } from '../../support/gateway/conversations.ts';
import { type Started, startGateway } from '../../support/gateway/gateway.ts';
import { startUpstream, type Upstream } from '../../support/gateway/upstream.ts';
import { startProvider } from '../../support/provider/start-provider.ts';

const spans = new InMemorySpanExporter();
const measured = new InMemoryMetricExporter(AggregationTemporality.DELTA);
/** Throws where it is told to, as a processor of a user may. */
class FailingProcessor implements SpanProcessor {
  fails: 'onStart' | 'onEnd' | undefined;
  onStart(): void {
    if (this.fails === 'onStart') throw new Error('a bug');
  }
  onEnd(): void {
    if (this.fails === 'onEnd') throw new Error('a bug');
  }
  async forceFlush(): Promise<void> {}
  async shutdown(): Promise<void> {}
}

const failing = new FailingProcessor();
const tracing = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans), failing] });
const metering = new MeterProvider({
  readers: [new PeriodicExportingMetricReader({ exporter: measured, exportIntervalMillis: 3_600_000 })],
});
const closers: (() => Promise<unknown>)[] = [];

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(tracing);
  metrics.setGlobalMeterProvider(metering);
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
});

beforeEach(async () => {
  await metering.forceFlush();
  measured.reset();
  spans.reset();
});

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

afterAll(async () => {
  await Promise.all([tracing.shutdown(), metering.shutdown()]);
  for (const api of [context, trace, metrics, propagation]) api.disable();
});

const USAGE = {
  input_tokens: 10,
  cache_read_input_tokens: 300,
  cache_creation_input_tokens: 40,
  output_tokens: 7,
};

async function start(status = 200): Promise<Started & { readonly upstream: Upstream }> {
  const upstream = await startUpstream((_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ type: 'message', model: 'claude-sonnet-5-20260901', usage: USAGE, content: [] }));
  });
  const gateway = await startGateway(upstream.url);
  closers.push(upstream.close, () => gateway.close());
  return { ...gateway, upstream };
}

const post = async (url: string, headers: Record<string, string> = {}, path = '/v1/messages'): Promise<Response> => {
  const answer = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'k', ...headers },
    body: '{"model":"claude-sonnet-5","max_tokens":5,"messages":[{"role":"user","content":"A secret question"}]}',
  });
  await answer.text();
  return answer;
};

const CLIENT_TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CLIENT_SPAN = '00f067aa0ba902b7';

/** The names of the released conventions: attributes and metrics. */
const NAMES = new Set(
  Object.entries(conventions).flatMap(([key, name]) => (/^(?:ATTR|METRIC)_/.test(key) ? [String(name)] : [])),
);

describe('a span processor that throws', () => {
  afterEach(() => {
    failing.fails = undefined;
  });

  for (const fails of ['onStart', 'onEnd'] as const)
    it(`in ${fails} keeps no request from its answer and its receipt`, async () => {
      const { url, ask } = await start();
      failing.fails = fails;
      expect((await post(url)).status).toBe(200);
      const { totals } = await ask<Status>('status');
      expect(totals.requests).toBe(1);
    });
});

describe('a span', () => {
  it('has the tokens, the decision and the ids of its request, in the names of the conventions', async () => {
    const { url, upstream, port: _port, ask } = await start();
    await post(url, { 'x-request-id': 'given' });
    const [span] = spans.getFinishedSpans() as [ReadableSpan];
    expect([span.name, span.kind, span.status.code]).toEqual([
      'chat claude-sonnet-5',
      SpanKind.CLIENT,
      SpanStatusCode.UNSET,
    ]);
    const { conversations } = await ask<{ conversations: { id: string; session: string }[] }>('conversations');
    expect(span.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'anthropic',
      'gen_ai.request.model': 'claude-sonnet-5',
      'gen_ai.response.model': 'claude-sonnet-5-20260901',
      'gen_ai.request.stream': false,
      'gen_ai.usage.input_tokens': 350,
      'gen_ai.usage.cache_read.input_tokens': 300,
      'gen_ai.usage.cache_creation.input_tokens': 40,
      'gen_ai.usage.output_tokens': 7,
      'gen_ai.conversation.id': conversations[0]?.id,
      'server.address': '127.0.0.1',
      'server.port': upstream.port,
      'http.response.status_code': 200,
      'palimpsest.request.id': 'given',
      'palimpsest.session.id': conversations[0]?.session,
      'palimpsest.act': 'wait',
      'palimpsest.masks': 0,
      'palimpsest.tokens.sent': 350,
      'palimpsest.tenant': 'default',
    });
    const unknown = Object.keys(span.attributes).filter((name) => !name.startsWith('palimpsest.') && !NAMES.has(name));
    expect(unknown).toEqual([]);
  });

  it('goes on with the trace of the client, and the upstream with that of the span', async () => {
    const { url, upstream } = await start();
    await post(url, { traceparent: `00-${CLIENT_TRACE}-${CLIENT_SPAN}-01`, tracestate: 'vendor=1' });
    const [span] = spans.getFinishedSpans() as [ReadableSpan];
    expect([span.spanContext().traceId, span.parentSpanContext?.spanId]).toEqual([CLIENT_TRACE, CLIENT_SPAN]);
    expect(upstream.received[0]?.headers).toMatchObject({
      traceparent: `00-${CLIENT_TRACE}-${span.spanContext().spanId}-01`,
      tracestate: 'vendor=1',
    });
  });

  it('begins a trace where the client has none', async () => {
    const { url, upstream } = await start();
    await post(url);
    const [span] = spans.getFinishedSpans() as [ReadableSpan];
    expect(span.parentSpanContext).toBeUndefined();
    const { traceId, spanId } = span.spanContext();
    expect(upstream.received[0]?.headers.traceparent).toBe(`00-${traceId}-${spanId}-01`);
  });

  it('is not there for a path that passes through: its trace context passes as it came', async () => {
    const { url, upstream } = await start();
    const traceparent = `00-${CLIENT_TRACE}-${CLIENT_SPAN}-01`;
    await post(url, { traceparent }, '/v1/other');
    expect(spans.getFinishedSpans()).toEqual([]);
    expect(upstream.received[0]?.headers.traceparent).toBe(traceparent);
  });

  it.each([
    [429, '429'],
    [500, '500'],
  ])('tells an error of status %i', async (status, type) => {
    const { url } = await start(status);
    await post(url);
    const [span] = spans.getFinishedSpans() as [ReadableSpan];
    expect([span.status.code, span.attributes['error.type']]).toEqual([SpanStatusCode.ERROR, type]);
  });

  it('tells that an upstream could not be reached', async () => {
    const gateway = await startGateway('http://127.0.0.1:1');
    closers.push(() => gateway.close());
    await post(gateway.url);
    const [span] = spans.getFinishedSpans() as [ReadableSpan];
    expect([span.status.code, span.attributes['error.type']]).toEqual([SpanStatusCode.ERROR, 'ECONNREFUSED']);
    expect(span.attributes).not.toHaveProperty('http.response.status_code');
  });

  it('has the operation of its API, and counts of tokens have their own', async () => {
    const { url } = await start();
    await post(url, {}, '/v1beta/models/gemini-3-pro:generateContent');
    await post(url, {}, '/v1/messages/count_tokens');
    await post(url, {}, '/xai/v1/chat/completions');
    const told = spans
      .getFinishedSpans()
      .map(({ attributes }) => [attributes['gen_ai.operation.name'], attributes['gen_ai.provider.name']]);
    expect(told).toEqual([
      ['generate_content', 'gcp.gemini'],
      ['count_tokens', 'anthropic'],
      ['chat', 'x_ai'],
    ]);
  });
});

describe('a long conversation of a real client', () => {
  it('has a span for each request, whose tokens and masks are those of the bill and the receipts, and no text', {
    timeout: 120_000,
  }, async () => {
    const job = { turns: 60, parallel: 2, resultChars: 2500, streams: true, task: 'Find the needle in the haystack' };
    const provider = await startProvider({ script: jobScript(job) });
    const gateway = await startGateway(provider.url, { store: createMemoryStore() });
    closers.push(provider.close, () => gateway.close());
    const seen = await anthropicSdk.converse(gateway.url, job);
    // The SDK of the client may write spans of its own.
    const all = spans
      .getFinishedSpans()
      .filter(({ instrumentationScope }) => instrumentationScope.name === 'palimpsest');
    expect(all).toHaveLength(provider.bill.requests);
    const sumOf = (name: string): number => all.reduce((sum, { attributes }) => sum + Number(attributes[name] ?? 0), 0);
    const { totals } = await gateway.ask<Status>('status');
    expect([sumOf('gen_ai.usage.input_tokens'), sumOf('gen_ai.usage.cache_read.input_tokens')]).toEqual([
      provider.bill.prompt,
      totals.cached,
    ]);
    expect(totals.masked).toBeGreaterThan(0);
    expect([sumOf('palimpsest.new_masks'), sumOf('palimpsest.tokens.without')]).toEqual([
      totals.masked,
      totals.tokensIn,
    ]);
    expect(all.every(({ attributes }) => attributes['gen_ai.request.stream'] === true)).toBe(true);
    const written = JSON.stringify(
      all.map(({ name, attributes, events, status }) => [name, attributes, events, status]),
    );
    const [call] = seen.calls;
    const texts = [
      job.task,
      runTool(call?.name ?? '', call?.input, job),
      ...seen.texts.filter(({ length }) => length > 3),
    ];
    for (const text of texts) expect(written).not.toContain(String(text).slice(0, 40));
  });
});

describe('metrics', () => {
  it('count the tokens and the duration of requests, and no model that no provider took', async () => {
    const { url } = await start();
    await post(url);
    const refusing = await start(404);
    await post(refusing.url);
    await metering.forceFlush();
    const found = measured.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
    const pointsOf = (name: string) =>
      found
        .filter(({ descriptor }) => descriptor.name === name)
        .flatMap(({ dataPoints }) =>
          dataPoints.map(({ attributes, value }) => ({ attributes, value: value as { sum: number; count: number } })),
        );
    expect(found.map(({ descriptor }) => descriptor.name).filter((name) => !NAMES.has(name))).toEqual([]);
    const tokens = pointsOf('gen_ai.client.token.usage');
    expect(tokens.map(({ attributes, value }) => [attributes['gen_ai.token.type'], value.sum])).toEqual([
      ['input', 350],
      ['output', 7],
    ]);
    const durations = pointsOf('gen_ai.client.operation.duration');
    expect(durations.map(({ attributes }) => [attributes['gen_ai.request.model'], attributes['error.type']])).toEqual([
      ['claude-sonnet-5', undefined],
      [undefined, '404'],
    ]);
  });
});

it('makes nothing while no SDK is registered, and begins when one is', async () => {
  for (const one of [trace, metrics]) one.disable();
  const telemetry = createTelemetry(api, '1.0.0');
  const asked = {
    requestId: 'r',
    tenant: 'default',
    operation: 'chat',
    provider: 'anthropic',
    model: 'm',
    origin: ORIGIN,
  };
  const begin = () => telemetry.begin(asked, { headers: {}, startedAt: Date.now() });
  expect(begin()).toBeUndefined();
  trace.setGlobalTracerProvider(tracing);
  const answered = {
    status: 200,
    failure: undefined,
    usage: undefined,
    streamed: false,
    receipt: undefined,
    totalMs: 5,
  };
  begin()?.end(answered);
  expect(spans.getFinishedSpans().map(({ name }) => name)).toEqual(['chat m']);
  metrics.setGlobalMeterProvider(metering);
  begin()?.end(answered);
  await metering.forceFlush();
  const names = measured.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics: all }) => all));
  expect(names.map(({ descriptor }) => descriptor.name)).toContain('gen_ai.client.operation.duration');
});

const ORIGIN = 'https://api.anthropic.com';

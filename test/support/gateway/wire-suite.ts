import { afterEach, describe, expect, it } from 'vitest';
import type { GatewayOptions } from '../../../src/gateway/index.ts';
import { polling, slidingWindow } from '../../../src/index.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import { startGateway } from './gateway.ts';
import { recordsOf } from './held.ts';
import { type Json, output } from './requests.ts';
import { type Received, startUpstream, type Upstream } from './upstream.ts';

/** A wire, as the suite needs it. */
export interface WireCase {
  readonly api: string;
  /** Paths as a client sends them, and as the provider gets them. */
  readonly path: Path;
  readonly streamedPath: Path;
  readonly countPath?: Path;
  readonly model: string;
  readonly prices: string;
  /** A request after so many turns with one call each, the last of them unanswered. */
  body(turns: number, text: (turn: number) => string): Json;
  /** What asks for a stream, beside the path. */
  readonly streamed: Json;
  /** The messages, or the field that has them. */
  readonly messages: string | ((body: Json) => unknown);
  /** The texts of all results, in their order. */
  results(body: Json): string[];
  readonly answer: Answer;
  readonly stream: Answer;
  /** What both of them say. */
  readonly usage: { readonly tokens: number; readonly cached: number; readonly completionTokens: number };
}

export interface Path {
  readonly sent: string;
  readonly got: string;
}

export interface Answer {
  readonly type: string;
  readonly text: string;
}

/** What holds for every wire, through the real server. */
export function describeWire(wire: WireCase): void {
  const closers: (() => Promise<void>)[] = [];

  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  async function start(options: GatewayOptions) {
    const upstream = await startUpstream((request, response) => {
      const { type, text } = request.url === wire.streamedPath.got && isStreamed(upstream) ? wire.stream : wire.answer;
      response.writeHead(200, { 'content-type': type });
      // In two writes, cut in the middle of a line.
      response.write(text.slice(0, text.length - 20));
      response.end(text.slice(text.length - 20));
    });
    closers.push(upstream.close);
    const gateway = await startGateway(upstream.url, options);
    closers.push(() => gateway.close({ graceMs: 0 }));
    return { gateway, upstream };
  }

  const isStreamed = ({ received }: Upstream): boolean =>
    Object.entries(wire.streamed).every(([name, value]) => jsonOf(received.at(-1))[name] === value);

  const post = (url: string, body: Json): Promise<Response> =>
    fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

  const original = (turns: number): Json => wire.body(turns, output);

  describe(`the wire ${wire.api}`, () => {
    it('masks all but the last turns, and changes nothing else', async () => {
      const store = createMemoryStore();
      const { gateway, upstream } = await start({ policy: slidingWindow({ turns: 2 }), store });
      await post(`${gateway.url}${wire.path.sent}`, original(8));
      const [got] = upstream.received;
      expect(got?.url).toBe(wire.path.got);
      const texts = wire.results(jsonOf(got));
      expect(texts.map(isMask)).toEqual([...Array(6).fill(true), false, false]);
      // Only the texts of the six results differ.
      expect(jsonOf(got)).toEqual(withoutMarkers(wire.body(8, (turn) => texts[turn - 1] as string)));
      const { receipts } = await recordsOf(gateway, 1);
      const handles = receipts[0]?.newMasks.map(({ handle }) => handle) ?? [];
      const stored = await Promise.all(handles.map((handle) => store.get(handle)));
      expect(stored.map((found) => found?.text)).toEqual([1, 2, 3, 4, 5, 6].map((turn) => output(turn)));
    });

    it('begins every request with the one before, except where a receipt has new masks', async () => {
      const { gateway, upstream } = await start({ policy: polling({ turns: 3, every: 3 }) });
      for (let turns = 1; turns <= 14; turns++) await post(`${gateway.url}${wire.path.sent}`, original(turns));
      const { receipts } = await recordsOf(gateway, 14);
      const { messages } = wire;
      const listOf = typeof messages === 'string' ? (body: Json) => body[messages] : messages;
      const sent = upstream.received.map((got) => JSON.stringify(listOf(jsonOf(got))).slice(0, -1));
      const isNew = receipts.toSorted((a, b) => a.request - b.request).map(({ newMasks }) => newMasks.length > 0);
      const isChanged = sent.map((text, i) => i > 0 && !text.startsWith(sent[i - 1] as string));
      expect(isChanged).toEqual(isNew);
      expect(isNew.filter(Boolean).length).toBeGreaterThanOrEqual(2);
      expect(isNew.filter(Boolean).length).toBeLessThanOrEqual(5);
    });

    it.each([
      { kind: 'an answer', path: wire.path, more: {}, expected: wire.answer, streamed: false },
      { kind: 'a stream', path: wire.streamedPath, more: wire.streamed, expected: wire.stream, streamed: true },
    ])('reads the usage from $kind, which passes unchanged', async ({ path, more, expected, streamed }) => {
      const { gateway } = await start({ policy: slidingWindow({ turns: 2 }) });
      const response = await post(`${gateway.url}${path.sent}`, { ...original(8), ...more });
      expect(response.headers.get('content-type')).toBe(expected.type);
      expect(await response.text()).toBe(expected.text);
      const { receipts } = await recordsOf(gateway, 1);
      const { tokens, cached, completionTokens } = wire.usage;
      expect(receipts[0]).toMatchObject({
        api: wire.api,
        path: path.got.split('?')[0],
        model: wire.model,
        prices: wire.prices,
        status: 200,
        masked: 6,
        sent: { tokens, cached, written: tokens - cached },
        completionTokens,
        estimated: false,
        streamed,
      });
      expect(receipts[0]?.without.tokens).toBeGreaterThan(tokens);
    });

    it('counts small talk, which is not planned, with the same prices and usage', async () => {
      const { gateway } = await start({});
      const small = wire.body(0, output);
      await post(`${gateway.url}${wire.path.sent}`, small);
      const { receipts } = await recordsOf(gateway, 1);
      expect(receipts[0]).toMatchObject({ api: wire.api, model: wire.model, masked: 0, estimated: false });
    });

    it.runIf(wire.countPath)('masks a question for the size alike, and writes no receipt', async () => {
      const { gateway, upstream } = await start({ policy: slidingWindow({ turns: 2 }) });
      await post(`${gateway.url}${wire.countPath?.sent}`, original(8));
      await post(`${gateway.url}${wire.path.sent}`, original(8));
      const [count, request] = upstream.received;
      expect(count?.url).toBe(wire.countPath?.got);
      expect(count?.body).toEqual(request?.body);
      const { receipts } = await recordsOf(gateway, 1);
      expect(receipts.map(({ path }) => path)).toEqual([wire.path.got.split('?')[0]]);
    });
  });
}

/** Without cache markers, which move from request to request. */
const jsonOf = (got: Received | undefined): Json => withoutMarkers(JSON.parse(got?.body.toString() ?? '{}'));

const withoutMarkers = (body: Json): Json =>
  JSON.parse(JSON.stringify(body, (key, value) => (key === 'cache_control' ? undefined : value)));
const isMask = (text: string): boolean => text.includes(' chars masked · ');

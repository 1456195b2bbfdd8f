import { afterEach, describe, expect, it } from 'vitest';
import { PalimpsestError } from '../../../src/errors.ts';
import type { GatewayOptions, Receipt } from '../../../src/gateway/index.ts';
import type { ConversationDetail } from '../../../src/gateway/receipts/receipt-log.ts';
import { createRecords } from '../../../src/gateway/receipts/records.ts';
import { breakEven, formatByName, slidingWindow } from '../../../src/index.ts';
import { originalHandle } from '../../../src/plan/arrival/last-line.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { bodyOf, isShaped, messagesOf, someTurns, type Turn, textOf } from '../../support/gateway/arrival-requests.ts';
import { changedStore, startGateway } from '../../support/gateway/gateway.ts';
import { isMasked, type Json, parsed, resultsIn } from '../../support/gateway/requests.ts';
import { startUpstream, type Upstream } from '../../support/gateway/upstream.ts';
import { type Fields, fieldsOf } from '../../support/provider/json.ts';
import { HEADERS, PATHS, post } from '../../support/provider/requests.ts';
import { startProvider } from '../../support/provider/start-provider.ts';
import { resolved } from '../../support/visible-texts.ts';

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Counts four bytes as a token, and has cached the request before. */
async function provider(): Promise<Upstream> {
  let cached = 0;
  const upstream = await startUpstream((_request, response, body) => {
    const tokens = Math.round(body.length / 4);
    const usage = { input_tokens: Math.max(0, tokens - cached), cache_read_input_tokens: cached, output_tokens: 7 };
    cached = tokens;
    response.end(JSON.stringify({ usage }));
  });
  closers.push(upstream.close);
  return upstream;
}

/** A gateway, and the results as the upstream gets them. */
async function serve(upstream: Upstream, options: GatewayOptions) {
  const receipts: Receipt[] = [];
  const records = createRecords({ startedAt: 0, onReceipt: (receipt) => receipts.push(receipt) });
  const gateway = await startGateway(upstream.url, { policy, records, ...options });
  closers.push(() => gateway.close({ graceMs: 0 }));
  const send = async (body: Json, path: string = PATHS.anthropic): Promise<string[]> => {
    const answer = await fetch(gateway.url + path, { method: 'POST', headers: HEADERS, body: JSON.stringify(body) });
    expect(answer.status).toBe(200);
    await answer.arrayBuffer();
    return resultsIn(parsed(upstream.received.at(-1)?.body ?? Buffer.of())).map(textOf);
  };
  return { ...gateway, receipts, send };
}

const handleIn = (placeholder: string): string => /p_[a-z2-7]{26}/.exec(placeholder)?.[0] ?? '';

/** Masks nothing in these short conversations. */
const policy = breakEven({ prices: 'anthropic-5m' });
const shapedIn = (results: readonly string[]): boolean[] => results.map(isShaped);
const wholeIn = (turns: number): string[] => resultsIn({ messages: messagesOf(someTurns(turns)) }).map(textOf);

/** A store whose writes go as a test says. */
function withWrites(write: (store: Store, items: Parameters<Store['putMany']>[0]) => ReturnType<Store['putMany']>) {
  const store = createMemoryStore();
  return { store, changed: changedStore(store, { putMany: (items) => write(store, items) }) };
}

async function eventsIn(store: Store): Promise<Json[]> {
  const events: Json[] = [];
  for await (const { session } of store.sessions())
    if (session.startsWith('ge-')) for await (const { text } of store.list(session)) events.push(JSON.parse(text));
  return events;
}

describe('a conversation that began without arrival', () => {
  it('keeps its sent bytes, and only results from the next turn on are shaped', async () => {
    const upstream = await provider();
    const store = createMemoryStore();
    const window = { turns: 3 };
    // An older version records settings without arrival options.
    const old = await serve(upstream, { store, policy: slidingWindow(window) });
    for (let turns = 1; turns <= 6; turns++) await old.send(bodyOf(someTurns(turns)));
    const before = await old.send(bodyOf(someTurns(6)));
    expect([before.filter(isMasked).length, before.filter(isShaped).length]).toEqual([3, 0]);
    expect((await eventsIn(store)).filter(({ arrival }) => arrival !== undefined)).toEqual([]);
    await old.close();
    const options = { store, policy: slidingWindow({ ...window, clean: true, references: true }) };
    const next = await serve(upstream, options);
    expect(await next.send(bodyOf(someTurns(6)))).toEqual(before);
    const later = await next.send(bodyOf(someTurns(7)));
    expect(shapedIn(later)).toEqual(Array(7).fill(false));
    const last = await next.send(bodyOf(someTurns(8)));
    expect(shapedIn(last)).toEqual([...Array(7).fill(false), true]);
    await next.close();
    const third = await serve(upstream, options);
    expect(await third.send(bodyOf(someTurns(8)))).toEqual(last);
  });

  it('keeps the results from before the gateway was put in: only the newest turn is shaped', async () => {
    const upstream = await provider();
    const store = createMemoryStore();
    const first = await serve(upstream, { store });
    const results = await first.send(bodyOf(someTurns(6)));
    expect(results.slice(0, 5)).toEqual(wholeIn(5));
    expect(shapedIn(results)).toEqual([false, false, false, false, false, true]);
    const next = await first.send(bodyOf(someTurns(8)));
    expect(next.slice(0, 6)).toEqual(results);
    expect(isShaped(next[7])).toBe(true);
    await first.close();
    const again = await serve(upstream, { store });
    expect(await again.send(bodyOf(someTurns(8)))).toEqual(next);
  });

  it('shapes nothing where each option is off', async () => {
    const upstream = await provider();
    const off = breakEven({ prices: 'anthropic-5m', clean: false, references: false });
    const gateway = await serve(upstream, { policy: off });
    for (let turns = 1; turns <= 6; turns++)
      expect(await gateway.send(bodyOf(someTurns(turns)))).toEqual(wholeIn(turns));
  });
});

describe('a result that is made smaller and masked later', () => {
  it('is stored as it was sent and as it came, also by a gateway that only saw it masked', async () => {
    const upstream = await provider();
    const shells = (count: number): Turn[] => Array.from({ length: count }, () => ({ shows: 'shell', from: 1 }));
    const whole = resultsIn({ messages: messagesOf(shells(8)) }).map(textOf);
    const puts: string[] = [];
    const { store, changed } = withWrites((inner, items) => {
      puts.push(...items.map(({ text }) => text));
      return inner.putMany(items);
    });
    const options = { store: changed, policy: slidingWindow({ turns: 3, clean: true, references: true }) };
    const first = await serve(upstream, options);
    for (let turns = 1; turns <= 8; turns++) await first.send(bodyOf(shells(turns)));
    await first.close();
    puts.length = 0;
    const next = await serve(upstream, options);
    const masked = (await next.send(bodyOf(shells(8)))).filter(isMasked);
    let shaped = 0;
    for (const placeholder of masked) {
      const asSent = (await store.get(handleIn(placeholder)))?.text ?? '';
      const handle = originalHandle(asSent);
      if (handle === undefined) continue;
      shaped += 1;
      const original = (await store.get(handle))?.text;
      expect(whole).toContain(original);
      const shown = await next.ask<{ text: string }>(`masked/${handleIn(placeholder)}?original=true`);
      expect(shown).toMatchObject({ handle, text: original });
      expect(puts).toEqual(expect.arrayContaining([asSent, original]));
    }
    expect(shaped).toBeGreaterThan(1);
  });
});

describe('a client that takes old results away itself', () => {
  const upTo = (turns: number, change: (messages: Json[]) => void): Json => {
    const messages = messagesOf(someTurns(turns));
    change(messages);
    return { ...bodyOf(someTurns(turns)), messages };
  };
  const clear = (turn: number) => (messages: Json[]) => {
    const [block] = (messages[2 * turn] as Json).content as Json[];
    (block as Json).content = '[Old tool result content cleared]';
  };

  it.each([
    ['clears the result', clear(2)],
    ['clears a result that refers and is referred to', clear(4)],
    ['leaves the first turns out', (messages: Json[]) => void messages.splice(1, 4)],
  ])('%s: no reference is sent without its lines, also after a restart', async (_, change) => {
    const upstream = await provider();
    const store = createMemoryStore();
    const whole = wholeIn(9);
    for (const isRestarted of [false, true]) {
      const first = await serve(upstream, { store });
      for (let turns = 1; turns <= 6; turns++) await first.send(bodyOf(someTurns(turns)));
      if (isRestarted) await first.close();
      const gateway = isRestarted ? await serve(upstream, { store }) : first;
      const requests: string[][] = [];
      for (let turns = 6; turns <= 9; turns++) {
        requests.push(await gateway.send(upTo(turns, change)));
        const { messages } = parsed(upstream.received.at(-1)?.body ?? Buffer.of());
        for (const { whole: rebuilt } of resolved(formatByName('anthropic').view(messages as object[])))
          expect(whole).toContain(rebuilt);
      }
      for (const [i, results] of requests.entries())
        expect(results.slice(0, requests[i - 1]?.length ?? 0)).toEqual(requests[i - 1] ?? []);
      expect(requests.at(-1)?.some(isShaped)).toBe(true);
      await gateway.close();
    }
  });
});

describe('a result whose original is not stored', () => {
  it('goes out whole and stays whole, when the store is back and after a restart', async () => {
    let isDown = false;
    const upstream = await provider();
    const { store, changed } = withWrites((kept, items) =>
      isDown ? Promise.reject(new PalimpsestError('STORE_FAILED', 'no space left')) : kept.putMany(items),
    );
    const gateway = await serve(upstream, { store: changed });
    for (let turns = 1; turns <= 3; turns++) await gateway.send(bodyOf(someTurns(turns)));
    expect(shapedIn(await gateway.send(bodyOf(someTurns(4))))).toEqual([false, false, false, true]);
    isDown = true;
    const down = await gateway.send(bodyOf(someTurns(6)));
    expect(shapedIn(down)).toEqual([false, false, false, true, false, false]);
    isDown = false;
    const back = await gateway.send(bodyOf(someTurns(8)));
    expect(back.slice(0, 6)).toEqual(down);
    expect(isShaped(back[7])).toBe(true);
    expect((await eventsIn(store)).map(({ kind }) => kind)).toEqual(['settings', 'sent-whole']);
    await gateway.close();
    const next = await serve(upstream, { store });
    expect(await next.send(bodyOf(someTurns(8)))).toEqual(back);
  });

  it('stays whole where a slow store took everything in after the request was sent', async () => {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const upstream = await provider();
    const { store, changed } = withWrites(async (kept, items) => {
      if (items.some(({ about }) => about.session?.startsWith('ge-'))) await released;
      return kept.putMany(items);
    });
    const gateway = await serve(upstream, { store: changed });
    const late = await gateway.send(bodyOf(someTurns(4)));
    expect(late).toEqual(wholeIn(4));
    release();
    await expect.poll(async () => (await eventsIn(store)).map(({ kind }) => kind)).toEqual(['settings', 'sent-whole']);
    await gateway.close({ graceMs: 0 });
    const next = await serve(upstream, { store });
    expect((await next.send(bodyOf(someTurns(6)))).slice(0, 4)).toEqual(late);
  });
});

describe('arms and counts', () => {
  it.each([{ shadow: true }, { holdout: 1 }])('with %o nothing is shaped and no text is stored', async (arms) => {
    const upstream = await provider();
    const store = createMemoryStore();
    const gateway = await serve(upstream, { store, ...arms });
    for (let turns = 0; turns <= 6; turns++)
      expect(await gateway.send(bodyOf(someTurns(turns)))).toEqual(wholeIn(turns));
    for await (const { session } of store.sessions()) expect(session).not.toMatch(/^g-/);
    await expect.poll(() => gateway.receipts.length).toBe(7);
    expect(gateway.receipts.at(-1)?.unsent?.shaped).toBe(2);
    expect(gateway.receipts.at(-1)).not.toHaveProperty('shaped');
  });

  it('count_tokens counts the shaped body and leaves no trace', async () => {
    const upstream = await provider();
    const store = createMemoryStore();
    const gateway = await serve(upstream, { store });
    const { max_tokens: _most, ...body } = bodyOf(someTurns(4));
    const counted = await gateway.send(body, PATHS.count);
    expect((await store.stats()).texts).toBe(0);
    expect(counted).toEqual(await gateway.send(bodyOf(someTurns(4))));
    expect(shapedIn(counted)).toEqual([false, false, false, true]);
    await expect.poll(() => gateway.receipts.length).toBe(1);
  });
});

describe('receipts', () => {
  it('tell shaped results from masks, with the saving, and the page finds the original', async () => {
    const upstream = await provider();
    const gateway = await serve(upstream, { store: createMemoryStore() });
    for (let turns = 1; turns <= 4; turns++) await gateway.send(bodyOf(someTurns(turns)));
    await expect.poll(() => gateway.receipts.length).toBe(4);
    const [, , third, last] = gateway.receipts;
    expect(third).not.toHaveProperty('shaped');
    expect(last).toMatchObject({ act: 'wait', masked: 0, newMasks: [], shaped: 1 });
    const [one] = last?.newShaped ?? [];
    expect(one).toMatchObject({ how: 'references', turn: 4, tool: 'read_file', chars: wholeIn(4)[3]?.length });
    // All of it would have been written.
    const saved = (last?.without.written ?? 0) - (last?.sent.written ?? 0);
    expect(saved / (one?.tokens ?? 0)).toBeCloseTo(1, 0);
    expect([last?.without.cached, third?.without]).toEqual([last?.sent.cached, third?.sent]);
    const { conversation } = last as Receipt;
    const detail = await gateway.ask<ConversationDetail>(`conversations/${conversation}`);
    expect([detail.conversation.shaped, detail.masks, detail.shaped]).toEqual([1, [], [one]]);
    const recalled = await gateway.ask<{ text: string }>(`masked/${one?.handle}`);
    expect(JSON.stringify(recalled)).toContain('const value35 = compute');
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    expect(metrics).toContain('palimpsest_shaped_results_total{how="references"} 1');
    expect(metrics).toContain('palimpsest_masked_results_total 0');
  });
});

describe('signed thinking', () => {
  it('stays valid over results that were shaped when they first went out: no opt-in, no refusal', async () => {
    const calls = [{ name: 'read_file', input: { path: 'src/a.ts' } }];
    const strict = await startProvider({ script: ({ turn }) => ({ thinking: `thought ${turn}`, calls }) });
    closers.push(strict.close);
    const gateway = await startGateway(strict.url, { policy });
    closers.push(gateway.close);
    const messages: Fields[] = [{ role: 'user', content: 'Fix it.' }];
    const lines = Array.from({ length: 40 }, (_, i) => `${i + 1}\tconst value${i} = compute(${i * 37});`).join('\n');
    for (let turn = 0; turn < 6; turn++) {
      const { status, body, text } = await post(gateway.url + PATHS.anthropic, {
        ...{ model: 'claude-opus-5-5', max_tokens: 4096, thinking: { type: 'adaptive' }, messages },
        tools: [{ name: 'read_file', input_schema: { type: 'object' } }],
      });
      expect(status, text).toBe(200);
      messages.push({ role: 'assistant', content: body.content });
      const [use] = fieldsOf(body.content).filter(({ type }) => type === 'tool_use');
      messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: use?.id, content: lines }] });
    }
    expect(strict.requests.map(({ status }) => status)).toEqual(Array(6).fill(200));
    expect(strict.requests.filter(({ headers }) => headers['anthropic-beta'] !== undefined)).toEqual([]);
    const sent = resultsIn(parsed(strict.requests.at(-1)?.bytes ?? Buffer.of())).map(textOf);
    expect(shapedIn(sent)).toEqual([false, true, true, true, true]);
  });
});

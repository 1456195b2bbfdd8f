import { afterEach, describe, expect, it } from 'vitest';
import { createFetchHandler } from '../../../src/gateway/index.ts';
import type { Receipt } from '../../../src/gateway/receipts/receipt.ts';
import type { RequestRecord } from '../../../src/report/request-record.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import { everyProvider, type Started, startGateway } from '../../support/gateway/gateway.ts';
import { startUpstream, type Upstream } from '../../support/gateway/upstream.ts';

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const KEY = 'sk-ant-api03-AbCdEfGh1234567890';

async function start(): Promise<Started & { readonly upstream: Upstream; records(): Promise<RequestRecord[]> }> {
  const upstream = await startUpstream((_request, response) => {
    response.setHeader('x-request-id', 'of-the-provider').setHeader('x-palimpsest-request-id', 'of-another-gateway');
    response.end('{}');
  });
  const store = createMemoryStore();
  const gateway = await startGateway(upstream.url, { store });
  closers.push(upstream.close, () => gateway.close());
  const records = async (): Promise<RequestRecord[]> => {
    await gateway.close();
    const found: RequestRecord[] = [];
    for await (const record of store.records?.({}) ?? []) found.push(record);
    return found;
  };
  return { ...gateway, upstream, records };
}

const post = (url: string, headers: Record<string, string> = {}, path = '/v1/messages'): Promise<Response> =>
  fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': KEY, ...headers },
    body: '{"model":"claude-sonnet-5","max_tokens":5,"messages":[{"role":"user","content":"Hi"}]}',
  });

const idOf = (answer: Response): string | null => answer.headers.get('x-palimpsest-request-id');

async function receiptsOf({ ask }: Started): Promise<readonly Receipt[]> {
  const { conversations } = await ask<{ conversations: { id: string }[] }>('conversations');
  const all = await Promise.all(
    conversations.map(({ id }) => ask<{ receipts: Receipt[] }>(`conversations/${encodeURIComponent(id)}`)),
  );
  return all.flatMap(({ receipts }) => receipts);
}

describe('the id of a request', () => {
  it('is that of the client in the answer, the log, the receipt and the record, and goes to the provider as it came', async () => {
    const gateway = await start();
    const answer = await post(gateway.url, { 'X-Request-Id': 'turn-17:retry.1' });
    await answer.text();
    expect(idOf(answer)).toBe('turn-17:retry.1');
    expect(answer.headers.get('x-request-id')).toBe('of-the-provider');
    expect(gateway.upstream.received[0]?.headers).toMatchObject({ 'x-request-id': 'turn-17:retry.1' });
    const [receipt] = await receiptsOf(gateway);
    expect(receipt?.requestId).toBe('turn-17:retry.1');
    expect(gateway.logged).toMatchObject([{ message: 'request', id: receipt?.id, requestId: 'turn-17:retry.1' }]);
    expect(await gateway.records()).toMatchObject([{ id: receipt?.id, requestId: 'turn-17:retry.1' }]);
  });

  it('is made where the client gives none, and nothing is added to the request', async () => {
    const gateway = await start();
    const answers = [await post(gateway.url), await post(gateway.url)];
    await Promise.all(answers.map((answer) => answer.text()));
    const ids = answers.map(idOf);
    expect(new Set(ids).size).toBe(2);
    expect(JSON.stringify(gateway.upstream.received[0]?.rawHeaders)).not.toContain('request-id');
    expect((await receiptsOf(gateway)).map(({ id, requestId }) => [id, requestId])).toEqual(ids.map((id) => [id, id]));
    expect(gateway.logged.map(({ requestId }) => requestId)).toEqual(ids);
    const records = await gateway.records();
    expect(records.map(({ id, requestId }) => [id, requestId])).toEqual(ids.map((id) => [id, undefined]));
  });

  it('that a retry repeats leaves two receipts and two records', async () => {
    const gateway = await start();
    for (let i = 0; i < 2; i++) await (await post(gateway.url, { 'x-client-request-id': 'same' })).text();
    expect((await receiptsOf(gateway)).map(({ requestId }) => requestId)).toEqual(['same', 'same']);
    expect(await gateway.records()).toHaveLength(2);
  });

  it.each([
    ['has blanks', 'a b'],
    ['is long', 'x'.repeat(129)],
    ['could forge a line of a log', 'a"}\t{"level":"error'],
    ['is the key', KEY],
    ['looks like a key', 'sk-proj-0123456789abcdefghijklmnop'],
    ['is empty', ''],
  ])('is made where that of the client %s', async (_why, given) => {
    const gateway = await start();
    const answer = await post(gateway.url, { 'x-request-id': given });
    await answer.text();
    expect(idOf(answer)).toMatch(/^[0-9a-f-]{13}-\d+$/);
    expect(gateway.logged.map(({ requestId }) => requestId)).toEqual([idOf(answer)]);
  });

  it('is in the answer of a path that passes through, and in the answer and log of a failure', async () => {
    const gateway = await start();
    const headers = { 'x-request-id': 'given' };
    expect(idOf(await post(gateway.url, headers, '/v1/other'))).toBe('given');
    const unreachable = await startGateway('http://127.0.0.1:1');
    closers.push(() => unreachable.close());
    const answer = await post(unreachable.url, headers);
    expect([answer.status, idOf(answer)]).toEqual([502, 'given']);
    expect(unreachable.logged).toMatchObject([
      { message: 'upstream unreachable', requestId: 'given' },
      { message: 'request', requestId: 'given', status: 502 },
    ]);
  });

  it('is the same through the handler for other runtimes', async () => {
    const { upstream } = await start();
    const handle = createFetchHandler({ upstreams: everyProvider(upstream.url) });
    const ask = (headers: Record<string, string>) =>
      handle(new Request('http://127.0.0.1/v1/models', { headers: { 'x-api-key': KEY, ...headers } }));
    expect(idOf(await ask({ 'x-request-id': 'given' }))).toBe('given');
    expect(idOf(await ask({}))).toMatch(/^[0-9a-f-]{13}-\d+$/);
  });
});

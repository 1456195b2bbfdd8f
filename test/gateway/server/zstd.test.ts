import * as zlib from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { slidingWindow } from '../../../src/index.ts';
import { type Started, startGateway } from '../../support/gateway/gateway.ts';
import { recordsOf } from '../../support/gateway/held.ts';
import { type Json, output } from '../../support/gateway/requests.ts';
import { sendRaw, startUpstream, type Upstream } from '../../support/gateway/upstream.ts';

/** Node has it from 22.15 on; the types of Node 20 do not. */
const { zstdCompressSync, constants } = zlib as unknown as {
  zstdCompressSync?: (bytes: Buffer, options?: object) => Buffer;
  constants: Record<string, number>;
};
const canZstd = zstdCompressSync !== undefined;
const compress = (text: string, params: Record<string, number> = {}): Buffer =>
  zstdCompressSync?.(Buffer.from(text), {
    params: Object.fromEntries(Object.entries(params).map(([name, value]) => [constants[name], value])),
  }) ?? Buffer.alloc(0);

const USAGE = { input_tokens: 1000, output_tokens: 7, input_tokens_details: { cached_tokens: 900 } };
const ANSWER = JSON.stringify({ object: 'response', model: 'gpt-5', output: [], usage: USAGE });

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function start(answer: Buffer | string, headers: Record<string, string> = {}) {
  const upstream = await startUpstream((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(answer);
  });
  closers.push(upstream.close);
  const gateway = await startGateway(upstream.url, { policy: slidingWindow({ turns: 2 }) });
  closers.push(() => gateway.close({ graceMs: 0 }));
  return { gateway, upstream };
}

const post = ({ url }: Started, body: Buffer | string, headers: Record<string, string>): Promise<Response> =>
  fetch(`${url}/backend-api/codex/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });

const ZSTD = { 'content-encoding': 'zstd' };

function request(turns: number): Json {
  const input: Json[] = [{ type: 'message', role: 'user', content: 'Fix the failing test' }];
  for (let turn = 1; turn <= turns; turn++)
    input.push(
      { type: 'function_call', call_id: `c${turn}`, name: 'read', arguments: '{}' },
      { type: 'function_call_output', call_id: `c${turn}`, output: output(turn) },
    );
  return { model: 'gpt-5', input };
}

const body = JSON.stringify(request(8));
const masksIn = ({ received }: Upstream): number =>
  received[0]?.body.toString().match(/ chars masked · /g)?.length ?? 0;

describe.skipIf(!canZstd)('zstd, where Node can undo it (22.15 and later)', () => {
  it('a body is read, and the edited one is sent without its encoding', async () => {
    const { gateway, upstream } = await start(ANSWER);
    await post(gateway, compress(body), ZSTD);
    expect(masksIn(upstream)).toBe(6);
    expect(upstream.received[0]?.headers['content-encoding']).toBeUndefined();
    expect((await recordsOf(gateway, 1)).receipts[0]).toMatchObject({ api: 'chatgpt', masked: 6, model: 'gpt-5' });
  });

  it.each([
    ['that grows to more than a hundred times its size', compress(JSON.stringify({ input: 'x'.repeat(1e6) }))],
    [
      'that asks for a window above 8 MiB',
      compress(JSON.stringify({ input: output(1, 200_000) }), { ZSTD_c_windowLog: 26, ZSTD_c_contentSizeFlag: 0 }),
    ],
    ['that is damaged', Buffer.concat([compress(body).subarray(0, 200), Buffer.alloc(50)])],
  ])('a body %s passes unread', async (_name, bytes) => {
    const { gateway, upstream } = await start(ANSWER);
    await post(gateway, bytes, ZSTD);
    expect(upstream.received[0]?.body.equals(bytes)).toBe(true);
    expect((await recordsOf(gateway, 1)).receipts[0]).toMatchObject({
      act: 'pass-through',
      because: 'a compression that cannot be undone',
    });
  });

  it('the usage of an answer is read, and the client gets its bytes', async () => {
    const { gateway, upstream } = await start(compress(ANSWER), ZSTD);
    const head = `host: 127.0.0.1\r\nconnection: close\r\ncontent-length: ${Buffer.byteLength(body)}`;
    const accept = 'accept-encoding: gzip, zstd';
    const line = 'POST /backend-api/codex/responses HTTP/1.1';
    const answer = await sendRaw(gateway.port, `${line}\r\n${head}\r\n${accept}\r\n\r\n${body}`);
    expect(answer).toContain(compress(ANSWER).toString('latin1'));
    expect(upstream.received[0]?.headers['accept-encoding']).toBe('gzip, zstd');
    expect((await recordsOf(gateway, 1)).receipts[0]).toMatchObject({
      estimated: false,
      sent: { tokens: 1000, cached: 900 },
    });
  });

  it('an answer that asks for a window above 8 MiB is not read', async () => {
    const padded = JSON.stringify({ ...JSON.parse(ANSWER), output: [output(1, 200_000)] });
    const { gateway } = await start(compress(padded, { ZSTD_c_windowLog: 26, ZSTD_c_contentSizeFlag: 0 }), ZSTD);
    const answer = await post(gateway, body, {});
    await answer.arrayBuffer().catch(() => {});
    expect((await recordsOf(gateway, 1)).receipts[0]).toMatchObject({ status: 200, estimated: true });
  });
});

describe.skipIf(canZstd)('zstd, where Node cannot undo it (before 22.15)', () => {
  it('a body passes unread, and receipt and log say why', async () => {
    const { gateway, upstream } = await start(ANSWER);
    const bytes = Buffer.from('28b52ffd0458e900007b226d6f64656c223a226770742d35222c22696e707574223a224869227d', 'hex');
    await post(gateway, bytes, ZSTD);
    expect(upstream.received[0]?.body.equals(bytes)).toBe(true);
    expect(upstream.received[0]?.headers['content-encoding']).toBe('zstd');
    const because = 'the body is compressed with zstd, which Node can undo from 22.15 on';
    expect((await recordsOf(gateway, 1)).receipts[0]).toMatchObject({ act: 'pass-through', because });
    expect(gateway.logged.filter(({ message }) => message === 'request')).toMatchObject([{ because }]);
  });

  it.each([
    ['gzip, deflate, br, zstd', 'gzip, deflate, br'],
    ['ZSTD;q=1.0, gzip;q=0.5', 'gzip;q=0.5'],
    ['zstd', 'identity'],
    ['gzip', 'gzip'],
  ])('the upstream is not asked for it: %s becomes %s', async (accepted, asked) => {
    const { gateway, upstream } = await start(ANSWER);
    await post(gateway, body, { 'accept-encoding': accepted });
    expect(upstream.received[0]?.headers['accept-encoding']).toBe(asked);
  });

  it('requests that are not read for usage go out as they came', async () => {
    const { gateway, upstream } = await start('{}');
    await fetch(`${gateway.url}/v1/models`, { headers: { 'accept-encoding': 'gzip, zstd' } });
    expect(upstream.received[0]?.headers['accept-encoding']).toBe('gzip, zstd');
  });
});

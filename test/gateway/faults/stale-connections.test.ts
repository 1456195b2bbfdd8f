import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { requestLimits } from '../../../src/limits.ts';
import { startGateway } from '../../support/gateway/gateway.ts';
import { startSocket } from '../../support/gateway/upstream.ts';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}';
const POST = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: '{"model":"m","messages":[{"role":"user","content":"hello"}]}',
};

/** An upstream that answers the first request of each connection; then `onReuse` has the socket. */
async function start(onReuse: (socket: Socket) => void, isFirstAnswered = true) {
  const seen = { requests: 0, connections: 0 };
  const upstream = await startSocket((socket) => {
    seen.connections += 1;
    let isUsed = false;
    socket.on('data', (bytes) => {
      if (!/^[A-Z]+ /.test(bytes.toString())) return;
      seen.requests += 1;
      if (isUsed || !isFirstAnswered) onReuse(socket);
      else socket.write(OK);
      isUsed = true;
    });
  });
  closers.push(upstream.close);
  const gateway = await startGateway(upstream.url);
  closers.push(() => gateway.close({ graceMs: 0 }));
  const ask = async (path = '/v1/messages', init: RequestInit = POST): Promise<number> => {
    const answer = await fetch(`${gateway.url}${path}`, init);
    await answer.text();
    return answer.status;
  };
  return { seen, ask };
}

const CLOSES: readonly (readonly [string, (socket: Socket) => void])[] = [
  ['closes', (socket) => void socket.end()],
  ['resets', (socket) => void socket.resetAndDestroy()],
];

describe.each(CLOSES)('an upstream that %s a used connection as a request comes', (_what, onReuse) => {
  it('gets the request once more, on a new connection', async () => {
    const { seen, ask } = await start(onReuse);
    for (let time = 0; time < 6; time++) expect(await ask()).toBe(200);
    // The first, and two each time that the connection kept by the pool was closed. The others have connections of their own.
    expect(seen).toEqual({ requests: 9, connections: 6 });
  });

  it('gets a request that only reads once more', async () => {
    const { ask } = await start(onReuse);
    for (let time = 0; time < 4; time++) expect(await ask('/v1/models', {})).toBe(200);
  });

  it('does not get an upload twice', async () => {
    const { seen, ask } = await start(onReuse);
    expect(await ask('/v1/files')).toBe(200);
    expect(await ask('/v1/files')).toBe(502);
    expect(seen.requests).toBe(2);
  });

  it('gets requests of many clients once more at the same time', async () => {
    const { ask } = await start(onReuse);
    for (let time = 0; time < 3; time++)
      expect(new Set(await Promise.all(Array.from({ length: 20 }, () => ask())))).toEqual(new Set([200]));
  });
});

describe('no request is sent again', () => {
  it('if its connection was new', async () => {
    const { seen, ask } = await start((socket) => void socket.end(), false);
    expect(await ask()).toBe(502);
    expect(seen.requests).toBe(1);
  });

  it.each([
    ['a part of a head', 'HTTP/1.1 200 OK\r\nconte'],
    ['only a "100 Continue"', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ])('if its answer began with %s', async (_what, bytes) => {
    const { seen, ask } = await start((socket) => void socket.end(bytes));
    expect([await ask(), await ask()]).toEqual([200, 502]);
    expect(seen.requests).toBe(2);
  });

  it('if the upstream worked on it', async () => {
    const { seen, ask } = await start((socket) => void delay(requestLimits.staleMs + 200).then(() => socket.end()));
    expect([await ask(), await ask()]).toEqual([200, 502]);
    expect(seen.requests).toBe(2);
  });
});

import { EventEmitter, once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { createMemoryStore } from '../store/memory-store.ts';
import { serveStdio } from './serve-stdio.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** The two ends of a connection. */
async function connected(): Promise<readonly [client: Socket, served: Socket]> {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [served] = (await once(server, 'connection')) as [Socket];
  closers.push(() => {
    client.destroy();
    served.destroy();
    server.close();
  });
  return [client, served];
}

const HELLO = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};
const LIST = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'list_masked', arguments: {} } };

/** Serves a client whose call waits for the store. */
async function waiting() {
  const [client, served] = await connected();
  const events = new EventEmitter();
  const store = async () => {
    const opened = once(events, 'open');
    events.emit('asked');
    await opened;
    return createMemoryStore();
  };
  const asked = once(events, 'asked');
  const { closed } = serveStdio({ store, session: 's' }, { input: served, output: served });
  client.write(`${JSON.stringify(HELLO)}\n${JSON.stringify(LIST)}\n`);
  await asked;
  return { client, served, closed, goOn: () => events.emit('open') };
}

describe('a connection over a socket', () => {
  it('stays open until the call of a client that has closed its end is answered', async () => {
    const { client, closed, goOn } = await waiting();
    let received = '';
    client.on('data', (bytes) => {
      received += bytes;
    });
    client.end();
    expect(await Promise.race([closed.then(() => 'closed'), setTimeout(200, 'open')])).toBe('open');
    goOn();
    await closed;
    await expect.poll(() => received).toContain('"id":2');
  });

  it.each<[string, (sides: Awaited<ReturnType<typeof waiting>>) => unknown]>([
    ['the client is gone', ({ client }) => client.resetAndDestroy()],
    ['the program drops the connection', ({ served }) => served.destroy()],
  ])('closes if %s before a call is answered', async (_what, end) => {
    const sides = await waiting();
    end(sides);
    await sides.closed;
    sides.goOn();
  });
});

import { afterEach, describe, expect, it } from 'vitest';
import type { GatewayOptions, Status } from '../../src/gateway/index.ts';
import { slidingWindow } from '../../src/index.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import { startGateway, TOKEN } from './gateway.ts';
import { anthropicBody, anthropicMessages, maskedIn } from './requests.test-data.ts';
import { type Received, startUpstream } from './upstream.ts';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function start(options: GatewayOptions, token = TOKEN) {
  const upstream = await startUpstream();
  closers.push(upstream.close);
  const gateway = await startGateway(upstream.url, { policy: slidingWindow({ turns: 2 }), ...options });
  closers.push(() => gateway.close({ graceMs: 0 }));
  /** Sends a conversation of its own for each name. Returns what the provider got. */
  const send = async (name: string, turns = 8): Promise<string> => {
    const results = (turn: number): string => `result ${turn} of ${name}\n${'some line\n'.repeat(300)}`;
    const [, ...rest] = anthropicMessages(turns, { results });
    const body = JSON.stringify(anthropicBody([{ role: 'user', content: `The task is ${name}` }, ...rest]));
    const headers = { 'x-palimpsest-token': token };
    expect((await fetch(`${gateway.url}/v1/messages`, { method: 'POST', headers, body })).status).toBe(200);
    return (upstream.received.at(-1) as Received).body.toString();
  };
  const recalled = async (sent: string): Promise<number[]> => {
    const handles = handlesIn(sent);
    const authorization = `Bearer ${token}`;
    return Promise.all(
      handles.map(async (handle) => (await gateway.api(`masked/${handle}`, { authorization })).status),
    );
  };
  return { ...gateway, send, recalled };
}

const handlesIn = (sent: string): string[] => [...new Set(sent.match(/p_[a-z2-7]{26}/g))];

const all = (status: number): number[] => Array.from({ length: 6 }, () => status);

describe('a gateway without a store', () => {
  it('keeps the newest conversations within its limit, and stores an older one again with its next request', async () => {
    const { send, recalled } = await start({ limits: { memoryStoreBytes: 100_000 } });
    const sent: string[] = [];
    for (let i = 0; i < 12; i++) {
      sent.push(await send(`number ${i}`));
      expect(await recalled(sent[i] as string)).toEqual(all(200));
    }
    expect(await recalled(sent[0] as string)).toEqual(all(404));
    expect(await recalled(sent[10] as string)).toEqual(all(200));
    expect(handlesIn(await send('number 0'))).toEqual(handlesIn(sent[0] as string));
    expect(await recalled(sent[0] as string)).toEqual(all(200));
  });

  it('keeps a conversation that is used, while others come and go', async () => {
    const { send, recalled } = await start({ limits: { memoryStoreBytes: 100_000 } });
    const first = await send('the one');
    for (let i = 0; i < 20; i++) {
      await send(`number ${i}`);
      expect(handlesIn(await send('the one'))).toEqual(handlesIn(first));
      expect(await recalled(first)).toEqual(all(200));
    }
  });

  it('masks nothing new in a request that hides more than the limit, and tells the setting', async () => {
    const { send, ask, api } = await start({ limits: { memoryStoreBytes: 10_000 } });
    expect(maskedIn(Buffer.from(await send('large'))).filter(Boolean)).toEqual([]);
    expect((await ask<Status>('status')).store).toMatchObject({
      ok: false,
      because: expect.stringContaining('limits.memoryStoreBytes'),
    });
    expect((await api('status')).status).toBe(200);
  });

  it('has a limit for each tenant beside the one whose store was given', async () => {
    const token = 'token-of-tenant-aaaa';
    const options = { store: createMemoryStore(), tenants: { [token]: 'a' }, limits: { memoryStoreBytes: 100_000 } };
    const { send, recalled } = await start(options, token);
    const first = await send('the first');
    expect(await recalled(first)).toEqual(all(200));
    for (let i = 0; i < 12; i++) await send(`number ${i}`);
    expect(await recalled(first)).toEqual(all(404));
  });
});

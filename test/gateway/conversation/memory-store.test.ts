import { afterEach, describe, expect, it } from 'vitest';
import type { GatewayOptions, Receipt, Status } from '../../../src/gateway/index.ts';
import { slidingWindow } from '../../../src/index.ts';
import { memoryLimits } from '../../../src/limits.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import { startGateway, TOKEN } from '../../support/gateway/gateway.ts';
import { anthropicBody, anthropicMessages, maskedIn } from '../../support/gateway/requests.ts';
import { type Received, startUpstream } from '../../support/gateway/upstream.ts';

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
  const send = async (name: string, turns = 8, { key = '', tag = '' } = {}): Promise<string> => {
    const results = (turn: number): string => `result ${turn} of ${name}${tag}\n${'some line\n'.repeat(300)}`;
    const [, ...rest] = anthropicMessages(turns, { results });
    const body = JSON.stringify(anthropicBody([{ role: 'user', content: `The task is ${name}` }, ...rest]));
    const headers = { 'x-palimpsest-token': token, ...(key ? { 'x-api-key': key } : {}) };
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

  it('keeps a conversation whose requests mask nothing new, while others come and go', async () => {
    const { send, recalled } = await start({ limits: { memoryStoreBytes: 100_000 } });
    const first = await send('the one');
    for (let i = 0; i < 40; i++) {
      await send(`number ${i}`, 3);
      expect(await recalled(first)).toEqual(all(200));
      expect(handlesIn(await send('the one'))).toEqual(handlesIn(first));
    }
  });

  it('keeps the conversation that stores new texts, and deletes from the others', async () => {
    const { send, recalled } = await start({ limits: { memoryStoreBytes: 100_000 } });
    for (let i = 0; i < 2; i++) await send('the one', 4);
    const others: string[] = [];
    for (let i = 0; i < 4; i++) others.push(await send(`number ${i}`));
    const sent = await send('the one', 7);
    expect(await recalled(sent)).toEqual(all(200).slice(0, 5));
    expect(await recalled(others[0] as string)).toEqual(all(404));
    expect(await recalled(others[3] as string)).toEqual(all(200));
  });

  it('masks nothing new in a conversation that outgrows the limit, and keeps the masks that were sent', async () => {
    const { send, recalled, ask } = await start({ limits: { memoryStoreBytes: 50_000 } });
    let handles: string[] = [];
    for (let turns = 4; turns < 24; turns++) {
      const sent = await send('the one', turns);
      expect(handlesIn(sent).slice(0, handles.length)).toEqual(handles);
      handles = handlesIn(sent);
      expect(await recalled(sent)).toEqual(handles.map(() => 200));
    }
    expect(handles.length).toBe(13);
    const { conversations } = await ask<{ conversations: { id: string }[] }>('conversations');
    const { receipts } = await ask<{ receipts: Receipt[] }>(`conversations/${conversations[0]?.id}`);
    expect(receipts).toContainEqual(
      expect.objectContaining({
        ...{ act: 'wait', masked: 13 },
        because: expect.stringContaining('limits.memoryStoreBytes'),
      }),
    );
    expect((await ask<Status>('status')).store).toMatchObject({
      ok: false,
      because: expect.stringMatching(/^STORE_FULL: .*limits\.memoryStoreBytes/),
    });
  });

  it('keeps the masks that were sent of such a conversation after it was deleted, and with another key', async () => {
    const { send, recalled } = await start({ limits: { memoryStoreBytes: 50_000 } });
    let sent = '';
    for (let turns = 4; turns < 18; turns++) sent = await send('the one', turns, { key: 'the-first-key' });
    const handles = handlesIn(sent);
    expect(handles.length).toBe(13);
    for (let turns = 18; turns < 22; turns++) {
      await send(`a large one before turn ${turns}`, 10);
      expect((await recalled(sent)).filter((status) => status === 404)).toHaveLength(13);
      sent = await send('the one', turns, { key: turns < 20 ? 'the-first-key' : 'another-key' });
      expect(handlesIn(sent)).toEqual(handles);
      expect(await recalled(sent)).toEqual(handles.map(() => 200));
    }
  });

  it('keeps them also after it forgot the last request of the conversation', async () => {
    const { send, recalled } = await start({ limits: { memoryStoreBytes: 50_000 } });
    let sent = '';
    for (let turns = 4; turns < 20; turns++) sent = await send('the one', turns);
    const handles = handlesIn(sent);
    expect(handles.length).toBe(13);
    for (let i = 0; i <= memoryLimits.branchesPerConversation; i++) await send('the one', 1, { tag: `, branch ${i}` });
    await send('a large one', 10);
    expect(await recalled(sent)).toEqual(handles.map(() => 404));
    sent = await send('the one', 20);
    expect(handlesIn(sent)).toEqual(handles);
    expect(await recalled(sent)).toEqual(handles.map(() => 200));
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

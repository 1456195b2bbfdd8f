import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import { describe, expect, it } from 'vitest';
import { createGateway } from './create-gateway.ts';
import { type ListenOptions, listen } from './server.ts';

describe('listen', () => {
  it.each<[unknown, string]>([
    [undefined, 'the options of listen'],
    [{}, 'option port'],
    [{ port: '8787' }, 'option port'],
    [{ port: 65_536 }, 'option port'],
    [{ port: 0, host: '' }, 'option host'],
    [{ port: 0, host: 5 }, 'option host'],
    [{ port: 0, hots: '127.0.0.1' }, 'did you mean host?'],
  ])('refuses %j: Node would listen on all addresses, or on any port', async (options, words) => {
    const listening = listen(createGateway(), options as ListenOptions);
    await expect(listening).rejects.toMatchObject({ code: 'BAD_OPTION', message: expect.stringContaining(words) });
  });

  it('listens on this machine only, if no host is given', async () => {
    const { url, close } = await listen(createGateway(), { port: 0 });
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    await close({ graceMs: 0 });
  });

  it('takes an upload that arrives for longer than the five minutes of Node', async () => {
    const limits: number[] = [];
    const onStart = (message: unknown): void => void limits.push((message as { server: Server }).server.requestTimeout);
    subscribe('http.server.request.start', onStart);
    const { url, close } = await listen(createGateway(), { port: 0 });
    await fetch(`${url}/healthz`);
    await close({ graceMs: 0 });
    unsubscribe('http.server.request.start', onStart);
    expect(limits).toEqual([3_600_000]);
  });
});

import { describe, expect, it } from 'vitest';
import { slidingWindow } from '../../../src/index.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import { startGateway } from '../../support/gateway/gateway.ts';
import { recordsOf } from '../../support/gateway/held.ts';
import { type Json, output } from '../../support/gateway/requests.ts';
import { startUpstream } from '../../support/gateway/upstream.ts';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAZAAAAEsCAIAAABi1XKVAAAAA'.padEnd(4000, 'A');
const image = { inlineData: { mimeType: 'image/png', data: PNG } };
const call = (id: string): Json => ({ functionCall: { id, name: 'read_file', args: { path: `${id}.png` } } });
const said = (id: string, text: string, more: Json = {}): Json => ({
  functionResponse: { id, name: 'read_file', response: { output: text }, ...more },
});

/** As Gemini CLI 0.61 sends pictures: behind the response for older models, in it for Gemini 3. */
const contents: Json[] = [
  { role: 'user', parts: [{ text: 'Compare the pictures' }, image] },
  { role: 'model', parts: [call('a'), call('b')] },
  {
    role: 'user',
    parts: [said('a', 'Binary content provided (1 item(s)).'), image, said('b', output(1), { parts: [image] })],
  },
  ...['c', 'd'].flatMap((id): Json[] => [
    { role: 'model', parts: [call(id)] },
    { role: 'user', parts: [said(id, output(2))] },
  ]),
];

describe('the wire gemini', () => {
  it('masks pictures behind a response and in it, stores them, and leaves those of the user', async () => {
    const upstream = await startUpstream();
    const store = createMemoryStore();
    const gateway = await startGateway(upstream.url, { policy: slidingWindow({ turns: 2, minTokens: 0 }), store });
    await fetch(`${gateway.url}/v1beta/models/gemini-2.5-pro:generateContent`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ contents }),
    });
    const sent = JSON.parse(upstream.received[0]?.body.toString() ?? '{}') as { contents: { parts: Json[] }[] };
    expect(sent.contents.filter((_, i) => i !== 2)).toEqual(contents.filter((_, i) => i !== 2));
    const [first, picture, second] = sent.contents[2]?.parts ?? [];
    expect(sent.contents[2]?.parts).toHaveLength(3);
    expect(Object.keys(picture ?? {})).toEqual(['text']);
    expect(String(picture?.text)).toContain('1 file, ');
    expect(Object.keys(second?.functionResponse as Json)).toEqual(['id', 'name', 'response']);
    expect(first?.functionResponse).toMatchObject({ id: 'a', name: 'read_file' });
    const { receipts } = await recordsOf(gateway, 1);
    const handle = /p_[a-z2-7]{26}/.exec(String(picture?.text))?.[0] ?? '';
    expect(receipts[0]?.newMasks.map((mask) => mask.handle)).toContain(handle);
    expect((await store.get(handle))?.text).toBe(JSON.stringify(image));
    await gateway.close();
    await upstream.close();
  });
});

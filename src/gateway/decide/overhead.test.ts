import { describe, expect, it } from 'vitest';
import { countTokens } from '../../tokens/count-tokens.ts';
import { OverheadCache } from './overhead.ts';

const read = (value: unknown) => new OverheadCache(1e6).read(Buffer.from(JSON.stringify(value)));

describe('system prompt and tools', () => {
  it('is sized as text, or as its JSON', () => {
    expect(read('Be brief.')?.tokens).toBe(countTokens('Be brief.'));
    expect(read([{ text: 'Be brief.' }])?.tokens).toBe(countTokens('[{"text":"Be brief."}]'));
    expect(read(null)).toEqual({ tokens: 0, markers: [], hasRecall: false });
  });

  it('has markers, each with its lifetime', () => {
    const marker = { type: 'ephemeral', ttl: '1h' };
    expect(read([{ name: 'a', cache_control: marker }, { name: 'b' }, { cache_control: {} }])?.markers).toEqual([
      '1h',
      undefined,
    ]);
  });

  it.each([
    [[{ name: 'recall' }], true],
    [[{ type: 'function', function: { name: 'recall' } }], true],
    [[{ functionDeclarations: [{ name: 'x' }, { name: 'recall' }] }], true],
    [[{ name: 'mcp__palimpsest__recall' }], true],
    [[{ name: 'recall_all' }, { name: 'product-recall' }], false],
    ['recall', false],
  ])('%j has our tool: %s', (tools, hasRecall) => {
    expect(read(tools)?.hasRecall).toBe(hasRecall);
  });

  it('is recognised at its place, and only byte for byte', () => {
    const memory = new OverheadCache(1e6);
    const tools = Buffer.from('[{"name":"a"}]');
    const overhead = memory.read(tools);
    expect(memory.find(Buffer.from('{"tools":[{"name":"a"}],"x":1}'), 9)).toEqual({ overhead, end: 23 });
    expect(memory.find(Buffer.from('{"tools":[{"name":"b"}]}'), 9)).toBeUndefined();
    expect(memory.find(Buffer.from('{"tools":[{"name":'), 9)).toBeUndefined();
  });

  it('is no JSON where it is none', () => {
    expect(new OverheadCache(1e6).read(Buffer.from('["\\x"]'))).toBeUndefined();
  });

  it('is forgotten where there is too much of it', () => {
    const memory = new OverheadCache(1000);
    const text = (n: number): Buffer => Buffer.from(JSON.stringify(`${n}`.padEnd(100, 'x')));
    for (let n = 0; n < 50; n++) memory.read(text(n));
    expect(memory.find(text(0), 0)).toBeUndefined();
    expect(memory.find(text(49), 0)).toBeDefined();
  });
});

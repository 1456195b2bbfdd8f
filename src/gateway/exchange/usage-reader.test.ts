import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { wires } from '../wire/index.ts';
import { type Usage, UsageReader } from './usage-reader.ts';

const ANSWER = Buffer.from(JSON.stringify({ usage: { input_tokens: 7, output_tokens: 2 } }));

async function usageOf(encoding: string, body: Buffer): Promise<unknown> {
  const reader = new UsageReader(['Content-Encoding', encoding], { wire: wires.anthropic });
  reader.push(body);
  return reader.end();
}

describe('UsageReader', () => {
  it('reads a stream of events, however its type is written', async () => {
    const reader = new UsageReader(['Content-Type', 'Text/Event-Stream; charset=UTF-8'], { wire: wires.anthropic });
    reader.push(Buffer.from(`data: ${ANSWER}\n\n`));
    expect(await reader.end()).toEqual({ cached: 0, written: 7, completionTokens: 2 });
  });

  it.each([
    ['gzip', gzipSync(ANSWER)],
    ['deflate', deflateSync(ANSWER)],
    ['deflate', deflateRawSync(ANSWER)],
    ['br', brotliCompressSync(ANSWER)],
    ['', ANSWER],
  ])('reads what is encoded as "%s"', async (name, body) => {
    expect(await usageOf(name, body)).toEqual({ cached: 0, written: 7, completionTokens: 2 });
  });

  it.each([0, 100_000])('reads a document behind a byte order mark, with %s spaces', async (spaces) => {
    const body = Buffer.from(`\ufeff${' '.repeat(spaces)}${ANSWER}`);
    expect(await usageOf('identity', body)).toEqual({ cached: 0, written: 7, completionTokens: 2 });
  });

  it.each([
    ['no type', [], `event: a\r\ndata: ${ANSWER}\r\n\r\n`],
    ['text/plain', ['content-type', 'text/plain'], `\ufeffdata:{"choices":[]}\n\ndata:${ANSWER}\n\ndata: [DONE]\n\n`],
    ['application/json', ['content-type', 'application/json'], `{"done":false}\n${ANSWER}`],
  ])('reads a stream that comes with %s', async (_what, headers, text) => {
    const reader = new UsageReader(headers, { wire: wires.anthropic });
    for (const byte of Buffer.from(text)) reader.push(Buffer.of(byte));
    expect(await reader.end()).toEqual({ cached: 0, written: 7, completionTokens: 2 });
    expect(reader.isEvents).toBe(true);
  });

  it('finds nothing in a document that is broken off, though it holds a usage', async () => {
    const reader = new UsageReader([], { wire: wires.anthropic });
    reader.push(ANSWER.subarray(0, -1));
    expect(await reader.end()).toBeUndefined();
    expect(reader.isEvents).toBe(false);
  });

  it('finds nothing in an answer without a byte', async () => {
    const reader = new UsageReader(['Content-Encoding', 'gzip'], { wire: wires.anthropic });
    expect(await reader.end()).toBeUndefined();
  });

  it.each([
    ['Anthropic', { input_tokens: 7, cache_creation_input_tokens: 2, cache_read_input_tokens: 4 }, 4, 9, 7],
    ['Anthropic without a cache', { input_tokens: 7, cache_creation_input_tokens: null }, 0, 7, 7],
    ['Bedrock', { inputTokens: 7, cacheReadInputTokens: 4, cacheWriteInputTokens: 2 }, 4, 9, 7],
    ['OpenRouter', { prompt_tokens: 13, prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 } }, 4, 9, 7],
    ['the Responses API', { input_tokens: 13, input_tokens_details: { cache_write_tokens: 2 } }, 0, 13, 11],
    ['more written than there is', { prompt_tokens: 3, prompt_tokens_details: { cache_write_tokens: 5 } }, 0, 3, 0],
    [
      'a provider that does not tell',
      { input_tokens: 13, input_tokens_details: { cached_tokens: 4 } },
      4,
      9,
      undefined,
    ],
  ])('tells tokens that were not written to the cache: %s', async (_, usage, cached, written, uncached) => {
    const told = (await usageOf('identity', Buffer.from(JSON.stringify({ usage })))) as Usage;
    expect([told.cached, told.written, told.uncached]).toEqual([cached, written, uncached]);
  });

  it.each(['zstd', 'constructor'])(
    'finds nothing in an answer that is encoded as %s, and lets it pass',
    async (name) => {
      expect(await usageOf(name, ANSWER)).toBeUndefined();
    },
  );
});

import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { wires } from '../wire/index.ts';
import { UsageReader } from './usage-reader.ts';

const ANSWER = Buffer.from(JSON.stringify({ usage: { input_tokens: 7, output_tokens: 2 } }));

async function usageOf(encoding: string, body: Buffer): Promise<unknown> {
  const reader = new UsageReader(['Content-Encoding', encoding], { wire: wires.anthropic });
  reader.push(body);
  return reader.end();
}

describe('UsageReader', () => {
  it('reads what is compressed', async () => {
    expect(await usageOf('gzip', gzipSync(ANSWER))).toEqual({ cached: 0, written: 7, completionTokens: 2 });
  });

  it.each(['zstd', 'constructor'])(
    'finds nothing in an answer that is encoded as %s, and lets it pass',
    async (name) => {
      expect(await usageOf(name, ANSWER)).toBeUndefined();
    },
  );
});

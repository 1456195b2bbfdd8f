import { describe, expect, it } from 'vitest';
import type { Config } from '../../manager/config/config-schema.ts';
import { fromConfig } from './from-config.ts';

/** Where a model of this configuration is asked, and with which key. */
async function askedAt(model: NonNullable<Config['model']>): Promise<string> {
  let asked = '';
  const own: typeof fetch = async (url, init) => {
    asked = `${url} ${new Headers(init?.headers).get('authorization')}`;
    return Response.json({ choices: [{ message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }] });
  };
  const ask = fromConfig({ model }, { fetch: own, apiKey: 'k' });
  await ask({ messages: [], tools: [] }, new AbortController().signal);
  return asked;
}

describe('fromConfig', () => {
  it('asks the provider that is named, or the address that is given', async () => {
    expect(await askedAt({ provider: 'ollama', name: 'qwen3' })).toBe(
      'http://localhost:11434/v1/chat/completions Bearer k',
    );
    expect(await askedAt({ provider: 'openai', name: 'gpt-5', base_url: 'https://proxy.test/v1' })).toBe(
      'https://proxy.test/v1/chat/completions Bearer k',
    );
  });

  it.each([
    [{ provider: 'ollama' }, /model\.name/],
    [{ name: 'x' }, /model\.base_url to be given/],
    [{ name: 'x', provider: 'olama' }, /did you mean ollama/],
    [{ name: 'claude', provider: 'anthropic' }, /fromAnthropic/],
  ])('refuses %o', (model, said) => {
    expect(() => fromConfig({ model })).toThrow(said);
  });
});

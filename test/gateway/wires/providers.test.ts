import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { help as serveHelp } from '../../../src/cli/serve/serve-command.ts';
import { routeOf } from '../../../src/gateway/exchange/route.ts';
import { apis } from '../../../src/gateway/wire/index.ts';
import { type Provider, providerNames, providers, speaks } from '../../../src/gateway/wire/providers.ts';
import { configJsonSchema } from '../../../src/manager/config/config-schema.ts';
import { startGateway } from '../../support/gateway/gateway.ts';
import { recordsOf } from '../../support/gateway/held.ts';
import { startUpstream } from '../../support/gateway/upstream.ts';
import { ROOT } from '../../support/modules.ts';

interface Section {
  readonly properties: Readonly<Record<string, Section>>;
}

const spokenBy = (name: Provider) => apis.filter((api) => speaks(name, api));

describe('the table of providers', () => {
  it('is the one in docs/providers.md', () => {
    const page = readFileSync(join(ROOT, 'docs/providers.md'), 'utf8');
    const rows = page.match(/^\| `.*\|$/gm)?.map((row) =>
      row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
    const expected = providerNames.map((name) => {
      const { address, prices } = providers[name];
      const shown = address.endsWith('.invalid') ? 'none' : `\`${address}\``;
      const reads = spokenBy(name).map((api) => `\`${api}\``);
      return [`\`${name}\``, shown, reads.join(', '), prices ? `\`${prices.name}\`` : 'by model'];
    });
    expect(rows).toEqual(expected);
  });

  it('names only APIs that there are, and in each provider one at least', () => {
    for (const name of providerNames) {
      for (const api of providers[name].speaks ?? []) expect(apis).toContain(api);
      expect(spokenBy(name).length).toBeGreaterThan(0);
    }
  });

  it('is listed by the configuration and by the help of serve', () => {
    const schema = configJsonSchema() as Section;
    const upstreams = schema.properties.gateway?.properties.upstreams;
    expect(Object.keys(upstreams?.properties ?? {})).toEqual(providerNames);
    const listed = /Providers: ([\s\S]*?)\n {2}--/.exec(serveHelp)?.[1]?.split(/,\s+/);
    expect(listed).toEqual(providerNames);
  });
});

describe.each(providerNames)('below /%s', (name) => {
  it('the paths of the APIs that it speaks are read, and go out without the prefix', () => {
    const paths: Readonly<Record<string, string>> = {
      anthropic: '/v1/messages',
      'openai-chat': '/v1/chat/completions',
      'openai-responses': '/v1/responses',
    };
    for (const [api, path] of Object.entries(paths)) {
      const isSpoken = spokenBy(name).some((spoken) => spoken === api);
      expect(routeOf({ method: 'POST', url: `/${name}${path}?x=1`, headers: {} })).toMatchObject({
        provider: name,
        api: isSpoken ? api : undefined,
        target: `${path}?x=1`,
      });
    }
  });
});

describe('a request without a prefix', () => {
  it.each([
    ['/v1/projects/p/locations/us/endpoints/openapi/chat/completions', { authorization: 'Bearer ya29' }, 'vertex'],
    ['/v1beta1/projects/p/locations/us/endpoints/openapi/chat/completions', {}, 'vertex'],
    ['/v1/projects/p/locations/us/publishers/google/models/gemini-3-pro:generateContent', {}, 'vertex'],
    ['/v1beta1/projects/p/locations/us/cachedContents', {}, 'vertex'],
    ['/v1/projects/p/locations/us/publishers/anthropic/models/m:rawPredict', { 'anthropic-beta': 'x' }, 'vertex'],
    ['/openai/v1/chat/completions', { 'api-key': 'AZ' }, 'azure'],
    ['/v1/chat/completions', { 'api-key': 'AZ' }, 'azure'],
    ['/v1beta/openai/chat/completions', { authorization: 'Bearer AIza' }, 'gemini'],
    ['/api/event_logging/batch', { 'anthropic-beta': 'oauth' }, 'anthropic'],
    ['/api/v1/chat/completions', { authorization: 'Bearer sk' }, 'openai'],
    ['/v1/chat/completions', { authorization: 'Bearer sk' }, 'openai'],
    ['/v1/chat/completions', { 'x-api-key': 'of a proxy' }, 'openai'],
    ['/v1/models', { 'x-api-key': 'sk-ant' }, 'anthropic'],
    ['/v1/chat/completions?key=of-a-proxy', {}, 'openai'],
    ['/groq/openai/v1/chat/completions', { 'api-key': 'gsk' }, 'groq'],
  ])('%s %o takes its key to %s', (url, headers, provider) => {
    expect(routeOf({ method: 'POST', url, headers })?.provider).toBe(provider);
  });
});

describe('a provider with prices of its own', () => {
  it('bills no cache for a request below its least size', async () => {
    const upstream = await startUpstream((_request, response) => void response.end('{}'));
    const gateway = await startGateway(upstream.url);
    const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] });
    await fetch(`${gateway.url}/groq/v1/chat/completions`, { method: 'POST', body });
    const { receipts } = await recordsOf(gateway, 1);
    expect(receipts[0]?.prices).toBe('none');
    await gateway.close();
    await upstream.close();
  });

  it.each([
    ['groq', 'openai/gpt-oss-120b', 'groq'],
    ['vllm', 'deepseek-ai/DeepSeek-V3', 'local'],
    ['openrouter', 'google/gemini-3-pro', 'gemini'],
    ['together', 'some/model', 'gpt-5'],
  ])('%s: receipts of %s have the prices %s', async (name, model, prices) => {
    const usage = { prompt_tokens: 5000, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 4000 } };
    const upstream = await startUpstream((_request, response) => void response.end(JSON.stringify({ usage })));
    const gateway = await startGateway(upstream.url);
    const content = 'Fix the failing test. '.repeat(2000);
    await fetch(`${gateway.url}/${name}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model, messages: [{ role: 'user', content }] }),
    });
    const { receipts } = await recordsOf(gateway, 1);
    expect(receipts[0]).toMatchObject({ prices, sent: { tokens: 5000, cached: 4000 } });
    expect(upstream.received[0]?.url).toBe('/v1/chat/completions');
    await gateway.close();
    await upstream.close();
  });
});

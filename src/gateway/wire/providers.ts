import { type Prices, priceLists } from '../../plan/prices.ts';
import { type Api, apis, wires } from './index.ts';
import { localPrices } from './ollama.ts';
import type { ProviderRow, ProviderSigns, RequestLine } from './wire.ts';

/** Servers that speak the APIs of others, and have no API of their own that the gateway reads. */
const others = {
  openrouter: { address: 'https://openrouter.ai/api', speaks: ['openai-chat', 'openai-responses', 'anthropic'] },
  groq: {
    address: 'https://api.groq.com/openai',
    speaks: ['openai-chat', 'openai-responses'],
    // "token costs by 50% for cached portions"; "expires after 2 hours without use".
    prices: automatic('groq', { read: 0.5, lifeMs: 7_200_000 }, 'https://console.groq.com/docs/prompt-caching'),
  },
  together: { address: 'https://api.together.xyz', speaks: ['openai-chat'] },
  deepseek: {
    address: 'https://api.deepseek.com',
    speaks: ['openai-chat', 'anthropic'],
    prices: priceLists.deepseek,
  },
  mistral: { address: 'https://api.mistral.ai', speaks: ['openai-chat'], telemetryName: 'mistral_ai' },
  xai: {
    address: 'https://api.x.ai',
    telemetryName: 'x_ai',
    speaks: ['openai-chat', 'openai-responses'],
    prices: automatic(
      'xai',
      { read: 0.25, lifeMs: 300_000 },
      'https://docs.x.ai/developers/advanced-api-usage/prompt-caching/usage-and-pricing',
    ),
  },
  moonshot: {
    address: 'https://api.moonshot.ai',
    telemetryName: 'moonshot_ai',
    speaks: ['openai-chat', 'openai-responses', 'anthropic'],
    // A cache hit costs a tenth. Writing to the cache is billed too, at a price that is unknown here: it counts as 1.
    prices: automatic(
      'moonshot',
      { read: 0.1, lifeMs: 300_000 },
      'https://forum.moonshot.ai/t/context-caching-upgrade-5-min-1-hour-ttl-options/613',
    ),
  },
  vllm: {
    address: 'http://127.0.0.1:8000',
    speaks: ['openai-chat', 'openai-responses', 'anthropic'],
    prices: localPrices,
  },
  lmstudio: {
    address: 'http://127.0.0.1:1234',
    speaks: ['openai-chat', 'openai-responses', 'anthropic'],
    prices: localPrices,
  },
} as const satisfies Readonly<Record<string, ProviderRow & { readonly speaks: readonly Api[] }>>;

/** The prices of a cache that finds any prefix by itself and costs nothing to write. Lifetimes that are not published: 5 minutes. */
function automatic(name: string, { read, lifeMs }: Pick<Prices, 'read' | 'lifeMs'>, source: string): Prices {
  return { ...priceLists.gemini, name, read, lifeMs, leastTokens: 1024, date: '2026-11-16', source };
}

/** The provider that a request is for. */
export type Provider = (typeof wires)[Api]['home']['name'] | keyof typeof others;

const homes = apis.map((api): [string, ProviderRow] => [wires[api].home.name, wires[api].home]);
const rows: Readonly<Record<string, ProviderRow>> = { ...Object.fromEntries(homes), ...others };

/** Every provider, by the prefix under which the gateway serves it: `/anthropic/v1/messages`. */
export const providers = rows as Readonly<Record<Provider, ProviderRow>>;

export const providerNames = Object.keys(providers) as readonly Provider[];

/** The default target of requests. */
export const officialAddresses = Object.fromEntries(
  providerNames.map((name) => [name, providers[name].address]),
) as Readonly<Record<Provider, string>>;

/** Whether a provider speaks an API. */
export function speaks(provider: Provider, api: Api): boolean {
  return wires[api].home.name === provider || providers[provider].speaks?.includes(api) === true;
}

/** The provider of requests without any sign of another. */
export const DEFAULT_PROVIDER: Provider = 'openai';

/** The providers that have this sign. Computed once, because each request looks at all of them. */
function withSign<K extends keyof ProviderSigns>(
  key: K,
): readonly (readonly [Provider, NonNullable<ProviderSigns[K]>])[] {
  return providerNames.flatMap((name) => {
    const sign = providers[name].signs?.[key];
    return sign ? [[name, sign] as const] : [];
  });
}

const owners = withSign('isOwn');
const headerSigns = withSign('headers');
const pathSigns = withSign('path');
const querySigns = withSign('query');

/**
 * The provider of a path that no API has; undefined if it is unknown. Headers decide first, because a key must not be sent to the wrong
 * company.
 */
export function guessProvider({ url, headers }: RequestLine, path: string): Provider | undefined {
  const [found] =
    headerSigns.find(([, names]) => names.some((name) => headers[name] !== undefined)) ??
    pathSigns.find(([, sign]) => sign.test(path)) ??
    querySigns.find(([, sign]) => sign.test(url)) ??
    [];
  return found;
}

/** The provider that a request clearly belongs to, whatever its prefix. */
export function ownerOf(request: RequestLine): Provider | undefined {
  return owners.find(([, isOwn]) => isOwn(request))?.[0];
}

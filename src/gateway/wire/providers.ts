import { type Api, apis, wires } from './index.ts';
import type { Home, ProviderRow, ProviderSigns } from './wire.ts';

/** Servers that speak the APIs of others, and have none of their own that the gateway reads. */
const others = {} as const satisfies Readonly<Record<string, ProviderRow & { readonly speaks: readonly Api[] }>>;

/** The provider that a request is for. */
export type Provider = (typeof wires)[Api]['home']['name'] | keyof typeof others;

const homes = apis.map((api): [string, Home] => [wires[api].home.name, wires[api].home]);

/** Every provider, by the prefix under which the gateway serves it: `/anthropic/v1/messages`. */
export const providers = { ...Object.fromEntries(homes), ...others } as Readonly<Record<Provider, ProviderRow>>;

export const providerNames = Object.keys(providers) as readonly Provider[];

/** Where requests go if nothing else is said. */
export const officialAddresses = Object.fromEntries(
  providerNames.map((name) => [name, providers[name].address]),
) as Readonly<Record<Provider, string>>;

/** Whether a provider speaks an API. */
export function speaks(provider: Provider, api: Api): boolean {
  return wires[api].home.name === provider || providers[provider].speaks?.includes(api) === true;
}

/** The provider of requests that nothing else tells apart. */
const DEFAULT: Provider = 'openai';

interface Unknown {
  readonly path: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** A key that goes to the wrong company is a key given away: headers decide before paths, and any sign before the default. */
export function guessProvider(request: Unknown): Provider {
  const found =
    providerNames.find((name) => signsOf(name).headers?.some((header) => request.headers[header] !== undefined)) ??
    providerNames.find((name) => isSigned(signsOf(name), request));
  return found ?? DEFAULT;
}

/** The provider of a path or query that is its own although it begins with the prefix of another one. */
export function providerBeforePrefix(url: string): Provider | undefined {
  return providerNames.find((name) => signsOf(name).beforePrefix?.test(url) === true);
}

const signsOf = (name: Provider): ProviderSigns => providers[name].signs ?? {};

function isSigned({ path, query }: ProviderSigns, request: Unknown): boolean {
  return path?.test(request.path) === true || query?.test(request.url) === true;
}

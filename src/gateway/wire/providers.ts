/** A server that speaks one of our APIs. */
export interface ProviderRow {
  /** Its official address. */
  readonly address: string;
  /** How requests for it are recognised that have neither its prefix nor a path that only it has. */
  readonly signs?: {
    readonly headers?: readonly string[];
    readonly path?: RegExp;
    readonly query?: RegExp;
  };
}

/** Every provider, by the prefix under which the gateway serves it: `/anthropic/v1/messages`. */
export const providers = {
  anthropic: {
    address: 'https://api.anthropic.com',
    signs: { headers: ['anthropic-version', 'x-api-key'], path: /^\/v1\/messages/ },
  },
  openai: { address: 'https://api.openai.com' },
  gemini: {
    address: 'https://generativelanguage.googleapis.com',
    signs: { headers: ['x-goog-api-key'], path: /^\/v1(?:alpha|beta)/, query: /[?&]key=/ },
  },
} as const satisfies Readonly<Record<string, ProviderRow>>;

/** The provider that a request is for. */
export type Provider = keyof typeof providers;

export const providerNames = Object.keys(providers) as readonly Provider[];

/** Where requests go if nothing else is said. */
export const officialAddresses = Object.fromEntries(
  providerNames.map((name) => [name, providers[name].address]),
) as Readonly<Record<Provider, string>>;

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

function signsOf(name: Provider): NonNullable<ProviderRow['signs']> {
  const { signs = {} }: ProviderRow = providers[name];
  return signs;
}

function isSigned({ path, query }: NonNullable<ProviderRow['signs']>, request: Unknown): boolean {
  return path?.test(request.path) === true || query?.test(request.url) === true;
}

import { type Api, routesOf, wires } from '../wire/index.ts';
import { DEFAULT_PROVIDER, guessProvider, ownerOf, type Provider, providerNames, speaks } from '../wire/providers.ts';
import type { RequestLine } from '../wire/wire.ts';

export type { Provider };

/** The target of a request, and whether the gateway understands it. */
export interface Route {
  readonly provider: Provider;
  /** Path and query as they came, to be appended to the upstream's own path. */
  readonly target: string;
  /** The path without the query. */
  readonly path: string;
  /** Undefined for everything that only passes through. */
  readonly api: Api | undefined;
  /** Whether it asks for the size of a request: planned in the same way, but nothing is stored or recorded. */
  readonly isCountTokens: boolean;
}

/** Finds the upstream of a request. Undefined if it may not be forwarded. */
export function routeOf(request: RequestLine): Route | undefined {
  const own = ownerOf(request);
  const prefix = own ? undefined : (PREFIX.exec(request.url)?.[1] as Provider | undefined);
  const target = prefix ? below(request.url.slice(prefix.length + 1)) : request.url;
  // Without the prefix too: `/PREFIX//evil/…` would name a host to a client that resolves it as a reference.
  if (!isForwardable(target)) return undefined;
  const path = pathOf(target);
  const known = request.method === 'POST' ? routesOf(path) : [];
  const [first] = known;
  const home = first ? wires[first.api].home.name : guessProvider(request, path);
  const provider = own ?? prefix ?? home ?? DEFAULT_PROVIDER;
  // A path below a prefix is read only if that provider speaks its API; otherwise it passes through.
  const route = known.find(({ api }) => speaks(provider, api));
  return { provider, target, path, api: route?.api, isCountTokens: route?.isCountTokens === true };
}

/**
 * Whether a request only checks that something answers at the root, as Claude Code does before its first one. It has no header that names a
 * provider, so no provider's answer is meant.
 */
export function isProbe(request: RequestLine): boolean {
  return request.method === 'HEAD' && pathOf(request.url) === '/' && guessProvider(request, '/') === undefined;
}

const PREFIX = new RegExp(`^/(${providerNames.join('|')})(?=[/?]|$)`);
const below = (rest: string): string => (rest.startsWith('/') ? rest : `/${rest}`);

/**
 * Origin form only, with exactly one slash in front: `new URL('//evil/…', upstream)` would send the key to evil. Dot
 * segments would leave the upstream's own path, and no client that resolves its addresses sends them.
 */
function isForwardable(url: string): boolean {
  if (!/^\/(?!\/)/.test(url)) return false;
  const path = pathOf(url);
  return !/[\\#]|%5c/i.test(path) && !/(?:\/|%2f)(?:\.|%2e){1,2}(?:\/|%2f|;|$)/i.test(path);
}

/** The path of a target, without the query. */
export function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}

// Bun has its own `undici`, in which a Pool sends nothing. The file name selects the installed one.
import { buildConnector, Pool } from 'undici/index.js';
import { requestLimits } from '../../limits.ts';
import { badOption, checkOptions, text } from '../../options.ts';
import { type Provider, providerNames, providers } from '../wire/providers.ts';
import { readAfterWriteError } from './read-after-write-error.ts';
import { skipContinue } from './skip-continue.ts';
import { markStale } from './stale-connection.ts';

/** A provider's address, and the connections to it. */
export interface Upstream {
  readonly provider: Provider;
  readonly origin: string;
  /** The upstream's own path, put before every target; empty for most. */
  readonly prefix: string;
  /** Whether it is the provider's own host on the internet, which cannot lead back here. */
  readonly isOfficial: boolean;
  readonly pool: Pool;
  /** Opens a connection for each request. */
  readonly freshPool: Pool;
}

export type Upstreams = Readonly<Record<Provider, Upstream>>;

/** Opens the upstreams: the given ones, otherwise the official hosts. Nothing connects before the first request. */
export function openUpstreams(given: Partial<Readonly<Record<Provider, string>>> = {}): Upstreams {
  checkOptions('createGateway upstreams', given, Object.fromEntries(providerNames.map((name) => [name, text])));
  const open = (provider: Provider): Upstream => {
    const { origin, prefix } = readAddress(provider, given[provider] ?? providers[provider].address);
    return {
      provider,
      origin,
      prefix,
      // An official address on this machine may be that of a gateway.
      isOfficial: origin === new URL(providers[provider].address).origin && origin.startsWith('https:'),
      pool: new Pool(origin, { ...PATIENCE, connect }),
      freshPool: new Pool(origin, { ...PATIENCE, connect, pipelining: 0 }),
    };
  };
  return Object.fromEntries(providerNames.map((name) => [name, open(name)])) as Upstreams;
}

/** No time limits: a model may think for an hour, and the client decides how long to wait. */
const PATIENCE: Pool.Options = { headersTimeout: 0, bodyTimeout: 0 };

const connectPlainly = buildConnector({ timeout: requestLimits.connectMs });

const connect: buildConnector.connector = (options, done) =>
  connectPlainly(options, (error, socket) =>
    error ? done(error, null) : done(null, readAfterWriteError(skipContinue(socket, markStale(socket)))),
  );

/** Splits the address of an upstream into its origin and its path. */
export function readAddress(provider: string, address: string): { readonly origin: string; readonly prefix: string } {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const name = `upstream ${provider}`;
  if (!url || !/^https?:$/.test(url.protocol)) throw badOption(name, 'an http or https address', address);
  if (url.username || url.password) throw badOption(name, 'an address without a user name', 'one with it');
  if (url.search || url.hash) throw badOption(name, 'an address without a query or fragment', 'one with it');
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') };
}

export async function closeUpstreams(upstreams: Upstreams): Promise<void> {
  await Promise.all(Object.values(upstreams).flatMap(({ pool, freshPool }) => [pool.destroy(), freshPool.destroy()]));
}

import {
  createGateway,
  type GatewayOptions,
  type GatewayServer,
  type LogEntry,
  listen,
} from '../../../src/gateway/index.ts';
import { providerNames } from '../../../src/gateway/wire/providers.ts';
import type { Store } from '../../../src/store/store.ts';

/** A gateway that listens, and what it logged. */
export interface Started extends GatewayServer {
  readonly logged: LogEntry[];
  /** A call of its own API. */
  api(path: string, headers?: Record<string, string>): Promise<Response>;
  /** What it answers. */
  ask<T>(path: string): Promise<T>;
}

export const TOKEN = 'a-token-for-tests-only';

/** A store that does some things otherwise. */
export function changedStore(store: Store, changes: Partial<Store>): Store {
  const texts = ['put', 'putMany', 'get', 'getMany', 'list', 'search', 'delete', 'stats', 'secret'] as const;
  const names = [...texts, 'putTurn', 'putTurns', 'turn', 'turns', 'touch', 'deletions'] as const;
  const bound = Object.fromEntries(names.map((name) => [name, (store[name] as () => unknown).bind(store)]));
  return { ...bound, ...changes } as Store;
}

/** One upstream in the place of all. */
export const everyProvider = (upstream: string): NonNullable<GatewayOptions['upstreams']> =>
  Object.fromEntries(providerNames.map((name) => [name, upstream]));

/** Starts a gateway in front of one upstream, which is all providers at once. */
export async function startGateway(upstream: string, options: GatewayOptions = {}): Promise<Started> {
  const logged: LogEntry[] = [];
  const gateway = createGateway({
    upstreams: everyProvider(upstream),
    token: TOKEN,
    log: (entry) => logged.push(entry),
    ...options,
  });
  const server = await listen(gateway, { port: 0 });
  const api = (path: string, headers = {}) =>
    fetch(`${server.url}/_palimpsest/api/${path}`, { headers: { authorization: `Bearer ${TOKEN}`, ...headers } });
  const ask = async <T>(path: string): Promise<T> => (await (await api(path)).json()) as T;
  return { ...server, logged, api, ask };
}

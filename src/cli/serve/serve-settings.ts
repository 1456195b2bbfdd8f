import { availableParallelism } from 'node:os';
import { DEFAULT_GRACE_MS, MOST_GRACE_MS } from '../../gateway/exchange/in-flight.ts';
import { readAddress } from '../../gateway/exchange/upstreams.ts';
import { isOrigin } from '../../gateway/gateway-options.ts';
import type { GatewayLimits, GatewayOptions, Provider } from '../../gateway/index.ts';
import { isLoopback } from '../../gateway/page/guard.ts';
import { providerNames } from '../../gateway/wire/providers.ts';
import { parsePrices } from '../../lab/replay-policy.ts';
import { ownPricesOf, policyOf } from '../../manager/config/config-options.ts';
import type { Config } from '../../manager/config/config-schema.ts';
import { readShare } from '../../manager/config/read-share.ts';
import { nearest } from '../../options.ts';
import { makePolicy, readSpec } from '../../plan/policies/index.ts';
import type { Policy } from '../../plan/policy.ts';
import { type Prices, toPrices } from '../../plan/prices.ts';
import { type Io, UsageError } from '../io.ts';
import { readCount } from '../parse-options.ts';
import { readPriceFile } from '../price-file.ts';
import { type Retention, readRetention, retentionOf } from '../store/retention.ts';
import { DEFAULT_TENANT } from '../store/stores.ts';
import { storePath } from '../store/with-store.ts';
import { readServeConfig } from './serve-config.ts';
import type { ServeFlags } from './serve-options.ts';

/** The settings of a gateway. */
export interface ServeSettings {
  readonly port: number;
  readonly host: string;
  /** Whether other machines can reach it. */
  readonly isPublic: boolean;
  /** A folder, or a postgres:// address. */
  readonly store: string;
  /** The tenant of requests without one. */
  readonly tenant: string;
  /** The limits above which the store is pruned. Undefined: it is never pruned. */
  readonly retention: Retention | undefined;
  readonly workers: number;
  /** Each store has one user: agents at the MCP server of the gateway list and search with a handle alone. */
  readonly wholeStore: boolean;
  /** How long open requests may take after SIGTERM and the drain time. */
  readonly graceMs: number;
  /** How long it keeps serving after SIGTERM while `/readyz` is 503. */
  readonly drainMs: number;
  /** Tenants by their tokens. The gateway's own token is not among them. */
  readonly tenants: Readonly<Record<string, string>>;
  readonly gateway: Pick<
    GatewayOptions,
    | 'upstreams'
    | 'policy'
    | 'prices'
    | 'modelPrices'
    | 'maxTokens'
    | 'boundThinking'
    | 'holdout'
    | 'shadow'
    | 'hosts'
    | 'origins'
    | 'limits'
  >;
  /** The default if not given. */
  readonly searchProcesses: number | undefined;
}

/** Flags override every file. */
export async function readServeSettings(flags: ServeFlags, io: Io): Promise<ServeSettings> {
  const config = await readServeConfig(flags.config, io);
  const { gateway = {}, store = {} } = config;
  const host = flags.host ?? gateway.host ?? '127.0.0.1';
  const maxTokens =
    flags['max-tokens'] === undefined ? gateway.max_tokens : readCount('--max-tokens', flags['max-tokens']);
  const prices = readOwnPrices(flags.prices, config);
  const boundThinking = flags['bound-thinking'] ?? gateway.bound_thinking;
  const policy = readPolicy(flags.policy, config);
  const priceFile = flags['price-file'] ?? gateway.price_file;
  return {
    port: flags.port === undefined ? (gateway.port ?? 8787) : readPort(flags.port),
    host,
    // With tenants, every request needs a token, also behind a balancer on the same machine.
    isPublic: !isLoopback(host) || Object.keys(gateway.tokens ?? {}).length > 0,
    store: flags.store ?? store.postgres ?? store.path ?? storePath(undefined, io),
    tenant: readTenant(config),
    retention: retentionOf({ ...store, ...readRetention(flags) }),
    workers: readWorkers(flags.workers),
    wholeStore: flags['whole-store'] === true,
    graceMs: readWait('--grace-ms', flags['grace-ms']) ?? gateway.shutdown_grace_ms ?? DEFAULT_GRACE_MS,
    drainMs: readWait('--drain-ms', flags['drain-ms']) ?? gateway.shutdown_drain_ms ?? 0,
    tenants: Object.fromEntries(Object.entries(gateway.tokens ?? {}).map(([tenant, token]) => [token, tenant])),
    searchProcesses: gateway.limits?.search_processes,
    gateway: {
      limits: limitsOf(gateway.limits),
      upstreams: { ...gateway.upstreams, ...readUpstreams(flags.upstream ?? []) } as Record<Provider, string>,
      hosts: [...(gateway.allowed_hosts ?? []), ...(flags['allow-host'] ?? [])],
      origins: [...(gateway.allowed_origins ?? []), ...(flags['allow-origin'] ?? []).map(readOrigin)],
      ...(policy === undefined ? {} : { policy }),
      ...(prices === undefined ? {} : { prices }),
      ...(priceFile === undefined ? {} : { modelPrices: await readPriceFile(priceFile, io) }),
      ...(maxTokens === undefined ? {} : { maxTokens }),
      holdout: flags.holdout === undefined ? (readShare(gateway.holdout ?? 0) ?? 0) : readHoldout(flags.holdout),
      shadow: flags.shadow ?? gateway.shadow ?? false,
      ...(boundThinking === undefined ? {} : { boundThinking: boundThinking as 'keep' }),
    },
  };
}

function limitsOf(limits: NonNullable<Config['gateway']>['limits'] = {}): Partial<GatewayLimits> {
  const { body_bytes: bodyBytes, json_values: jsonValues, scan_ms: scanMs, answer_bytes: answerBytes } = limits;
  return {
    ...(bodyBytes === undefined ? {} : { bodyBytes }),
    ...(jsonValues === undefined ? {} : { jsonValues }),
    ...(scanMs === undefined ? {} : { scanMs }),
    ...(answerBytes === undefined ? {} : { answerBytes }),
  };
}

/** A token for `default` would lead to the store of another tenant. */
function readTenant({ store = {}, gateway = {} }: Config): string {
  const { tenant = DEFAULT_TENANT } = store;
  if (tenant === DEFAULT_TENANT || !Object.hasOwn(gateway.tokens ?? {}, DEFAULT_TENANT)) return tenant;
  throw new UsageError(`store.tenant is ${tenant}, so gateway.tokens may have no token for '${DEFAULT_TENANT}'`);
}

function readPort(value: string): number {
  const port = readCount('--port', value, 0);
  if (port <= 65_535) return port;
  throw new UsageError(`expected --port to be a port of 0 to 65535 but found '${value}'`);
}

function readWait(flag: string, value: string | undefined): number | undefined {
  const waitMs = value === undefined ? undefined : readCount(flag, value, 0);
  if (waitMs === undefined || waitMs <= MOST_GRACE_MS) return waitMs;
  throw new UsageError(`expected ${flag} to be 0 to ${MOST_GRACE_MS} milliseconds (a day) but found '${value}'`);
}

function readHoldout(value: string): number {
  const share = readShare(value);
  if (share !== undefined) return share;
  throw new UsageError(`expected --holdout to be a share such as 10% or 0.1 but found '${value}'`);
}

/** Checked here, because the gateway's own error counts the origins and names none. */
function readOrigin(value: string): string {
  if (isOrigin(value)) return value;
  throw new UsageError(`expected --allow-origin to be an origin such as https://app.example but found '${value}'`);
}

function readWorkers(value: string | undefined): number {
  if (value === 'auto') return availableParallelism();
  if (value === undefined || /^[1-9]\d*$/.test(value)) return readCount('--workers', value ?? '1');
  throw new UsageError(`expected --workers to be a whole number of 1 or more, or auto, but found '${value}'`);
}

/** `anthropic=https://…`, each provider at most once. */
function readUpstreams(values: readonly string[]): Partial<Record<Provider, string>> {
  return Object.fromEntries(values.map(readUpstream));
}

function readUpstream(value: string): [string, string] {
  const [, provider = '', address = ''] = /^([^=]*)=(.*)$/.exec(value) ?? [];
  const known: readonly string[] = providerNames;
  if (!known.includes(provider) || address === '') {
    const near = nearest(provider, known);
    const hint = near && near !== provider ? `; did you mean ${near}=…?` : '';
    throw new UsageError(`expected --upstream ${known.join('|')}=<address> but found '${value}'${hint}`);
  }
  readAddress(provider, address);
  return [provider, address];
}

function readOwnPrices(flag: string | undefined, { gateway, policy }: Config): Prices | undefined {
  if (flag !== undefined) return parsePrices('serve', flag);
  const prices = gateway?.prices ?? policy?.prices;
  return prices === undefined ? undefined : toPrices('serve', ownPricesOf(prices));
}

/** A policy that decides by prices is created for the prices of each request. */
function readPolicy(flag: string | undefined, config: Config): GatewayOptions['policy'] | undefined {
  if (flag === undefined) return policyFrom(config);
  const { name, options } = readSpec(flag);
  const policy = makePolicy({ name, options });
  if (!policy.prices || options.prices !== undefined) return policy;
  return (prices) => makePolicy({ name, options: { ...options, prices } });
}

function policyFrom(config: Config): GatewayOptions['policy'] | undefined {
  const policy = policyOf(config);
  if (!policy?.prices) return policy;
  return (prices) => policyOf(config, prices) as Policy;
}

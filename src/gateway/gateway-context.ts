import type { IncomingMessage } from 'node:http';
import { createPriceBook } from '../money/price-book.ts';
import type { Policy } from '../plan/policy.ts';
import { toPrices } from '../plan/prices.ts';
import type { Store } from '../store/store.ts';
import type { Facts } from './decide/decision.ts';
import { oncePerPriceList } from './decide/policy-with-history.ts';
import type { ArmOptions } from './exchange/arms.ts';
import { createHops, type Hops } from './exchange/hops.ts';
import { InFlight } from './exchange/in-flight.ts';
import { DEFAULT_TENANT, Tenants } from './exchange/tenants.ts';
import { openUpstreams, type Upstreams } from './exchange/upstreams.ts';
import { defaultLimits, type GatewayLimits } from './gateway-limits.ts';
import type { GatewayOptions } from './gateway-options.ts';
import { createGuard, type Guard } from './page/guard.ts';
import type { OwnRoutesOptions } from './page/own-routes.ts';
import { createReports } from './page/reports.ts';
import type { Log } from './receipts/log.ts';
import { toLogEntry } from './receipts/log.ts';
import type { Status } from './receipts/receipt.ts';
import { createRecordStores } from './receipts/record-stores.ts';
import { createRecords } from './receipts/records.ts';
import { loadTelemetry } from './telemetry/load-telemetry.ts';
import type { Telemetry } from './telemetry/telemetry.ts';
import { officialAddresses } from './wire/providers.ts';

/** The tenant of a request, and its path without our token. */
export interface Caller {
  readonly tenant: string;
  readonly url: string;
  readonly hasToken: boolean;
}

/** State and settings that all requests share. */
export interface GatewayContext extends OwnRoutesOptions {
  readonly upstreams: Upstreams;
  readonly tenants: Tenants;
  readonly hops: Hops;
  readonly isStoreShared: boolean;
  readonly armOptions: ArmOptions;
  readonly limits: GatewayLimits;
  readonly log: Log;
  /** Undefined if OpenTelemetry is not installed. */
  readonly telemetry: Telemetry | undefined;
  now(): number;
  /** Undefined if a token is needed and the request has none of ours. */
  callerOf(request: Pick<IncomingMessage, 'url' | 'headers'>): Caller | undefined;
  /** Writes pending records. */
  closeRecords(): Promise<void>;
  /** Whether agents of a tenant are known to have our tool `recall`. */
  hasRecall(tenant: string): boolean;
  /** The part of `Facts` that is the same for all requests. */
  readonly facts: Omit<Facts, 'now'>;
}

export function createGatewayContext(options: GatewayOptions): GatewayContext {
  const now = options.now ?? Date.now;
  const { log = () => {} } = options;
  const startedAt = now();
  const book = createPriceBook(options.modelPrices);
  const facts = { ...factsOf(options), priceBook: book };
  const guard = createGuard({
    hosts: options.hosts ?? [],
    origins: options.origins ?? [],
    tenants: { ...(options.token === undefined ? {} : { [options.token]: DEFAULT_TENANT }), ...options.tenants },
    isPublic: options.isPublic === true,
  });
  // Without a token, a request would be served as the tenant `default`, next to the named ones.
  const needsToken = options.isPublic === true || Object.keys(options.tenants ?? {}).length > 0;
  const tenants = new Tenants(options.store, facts.limits.memoryStoreBytes);
  const storeOf = async (tenant: string): Promise<Store> => (await tenants.gate(tenant)).store;
  const recordStoreOf = createRecordStores(storeOf);
  const records =
    options.records ??
    createRecords({
      startedAt,
      version: options.version ?? '',
      priceBook: book,
      keep: { open: recordStoreOf, log },
      ...(options.log ? { onReceipt: (receipt) => log(toLogEntry(receipt)) } : {}),
    });
  const settings = settingsOf(options);
  return {
    guard,
    records,
    reports: createReports({ book, now }),
    tenants,
    log,
    telemetry: loadTelemetry(options.version ?? '', log),
    now,
    upstreams: openUpstreams(options.upstreams),
    hops: createHops(),
    areMetricsGuarded: needsToken,
    isStoreShared: options.isStoreShared === true,
    armOptions: { holdout: options.holdout ?? 0, isShadow: options.shadow === true },
    limits: facts.limits,
    inFlight: new InFlight(),
    mounts: options.mounts ?? {},
    facts,
    hasRecall: options.hasRecall ?? (() => false),
    callerOf: (request) => callerOf(request, guard, needsToken),
    hasReachedStore: () => tenants.hasAnswered(DEFAULT_TENANT),
    storeOf,
    recordStoreOf,
    closeRecords: async () => {
      // The user closes custom records.
      if (!options.records) await records.close?.();
    },
    statusOf: async (tenant) => ({
      version: options.version ?? '',
      startedAt: new Date(startedAt).toISOString(),
      settings,
      store: await tenants.health(tenant),
    }),
  };
}

function factsOf(options: GatewayOptions): GatewayContext['facts'] & { readonly limits: GatewayLimits } {
  const { policy, prices, maxTokens, boundThinking, limits } = options;
  return {
    policy: typeof policy === 'object' ? () => policy as Policy : policy && oncePerPriceList(policy),
    prices: prices === undefined ? undefined : toPrices('createGateway', prices),
    maxTokens,
    boundThinking,
    limits: { ...defaultLimits, ...limits },
  };
}

/** The current settings, for people, without any secret. */
function settingsOf(options: GatewayOptions): Status['settings'] {
  const { policy, prices, modelPrices = {}, maxTokens, boundThinking = 'opt-in', upstreams } = options;
  const own = Object.keys(modelPrices).length;
  return {
    policy: typeof policy === 'object' ? (policy.name ?? 'own') : policy ? 'own' : 'break-even',
    prices: prices === undefined ? 'by request' : toPrices('createGateway', prices).name,
    modelPrices: own === 0 ? 'list prices' : `${own} own, then list prices`,
    ...(maxTokens === undefined ? {} : { maxTokens }),
    boundThinking,
    ...(options.holdout ? { holdout: options.holdout } : {}),
    ...(options.shadow ? { shadow: true } : {}),
    ...officialAddresses,
    ...upstreams,
  };
}

const IN_PATH = /^\/as\/([\w.~-]+)(?=\/|\?|$)/;

/** A wrong token is refused even if none is needed. */
function callerOf(
  request: Pick<IncomingMessage, 'url' | 'headers'>,
  guard: Guard,
  needsToken: boolean,
): Caller | undefined {
  const url = request.url ?? '';
  const inPath = IN_PATH.exec(url);
  const inHeader = request.headers['x-palimpsest-token'];
  const token = inPath?.[1] ?? (inHeader === undefined ? undefined : String(inHeader));
  if (token === undefined) return needsToken ? undefined : { tenant: DEFAULT_TENANT, url, hasToken: false };
  const tenant = guard.tenantOf(token);
  if (tenant === undefined) return undefined;
  return { tenant, url: inPath ? url.slice(inPath[0].length) || '/' : url, hasToken: true };
}

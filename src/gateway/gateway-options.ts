import { PalimpsestError } from '../errors.ts';
import { createPriceBook, type OwnModelPrices } from '../money/price-book.ts';
import { anything, checkOptions, flag, func, names, oneOf, positive, rule, text } from '../options.ts';
import type { Policy } from '../plan/policy.ts';
import { type OwnPrices, type PriceName, type Prices, priceLists, toPrices } from '../plan/prices.ts';
import { isTenant, TENANT_RULE } from '../store/check-input.ts';
import type { Store } from '../store/store.ts';
import type { Provider } from './exchange/route.ts';
import { DEFAULT_TENANT } from './exchange/tenants.ts';
import type { GatewayLimits } from './gateway-limits.ts';
import type { Mount } from './page/own-routes.ts';
import type { Log } from './receipts/log.ts';
import type { Records } from './receipts/records.ts';

/** Options of `createGateway`. Every one may be left out. */
export interface GatewayOptions {
  /** Addresses of the providers: the official ones where none is given. */
  readonly upstreams?: Partial<Readonly<Record<Provider, string>>>;
  /**
   * Keeps everything that is hidden. For several tenants: a function that opens theirs; a single store belongs to `default`.
   * If not given, texts are kept in memory, and the oldest are deleted beyond `limits.memoryStoreBytes`.
   */
  readonly store?: Store | ((tenant: string) => Store | Promise<Store>);
  /** Several gateways write to the store: its events are read again for every request. */
  readonly isStoreShared?: boolean;
  /** Decides which results are masked, and when: break-even at the prices of each request, if not given. */
  readonly policy?: Policy | ((prices: Prices) => Policy);
  /** In the place of those that provider, model and request tell. */
  readonly prices?: PriceName | OwnPrices;
  /** Prices of models in dollars, before the list prices. */
  readonly modelPrices?: OwnModelPrices;
  /** The most that a request may have, in the provider's tokens: above it, old results are masked whatever it costs. */
  readonly maxTokens?: number;
  /** Signed thinking behind a mask: opt into dropping it (default), or mask nothing before it. */
  readonly boundThinking?: 'opt-in' | 'keep';
  /** The share of new sessions that is held out, 0 to 1: they pass untouched and are only measured, to compare with. */
  readonly holdout?: number;
  /** Decides and records, but sends every new session as it came, and stores none of its texts. */
  readonly shadow?: boolean;
  /** The token of the page and the API; without one they are closed. Its tenant is `default`. */
  readonly token?: string;
  /** More tokens, each with its tenant. Where there are any, every request needs a token, as with `isPublic`. */
  readonly tenants?: Readonly<Record<string, string>>;
  /** Other machines can reach it: every request needs a token, in `x-palimpsest-token` or as `/as/TOKEN/…`. */
  readonly isPublic?: boolean;
  /** Names by which it may be called, beside those of this machine. */
  readonly hosts?: readonly string[];
  /** Origins of web pages that may use it, beside its own: `https://app.example`, `app://obsidian.md`. */
  readonly origins?: readonly string[];
  /** In the place of the defaults of `docs/limits.md`. */
  readonly limits?: Partial<GatewayLimits>;
  readonly log?: Log;
  /** More routes under the rules of the API, by path. */
  readonly mounts?: Readonly<Record<string, Mount>>;
  /** Whether agents of a tenant are known to have the tool `recall`, also where their requests do not show it. */
  readonly hasRecall?: (tenant: string) => boolean;
  /** The store of receipts: memory if not given. */
  readonly records?: Records;
  /** Shown with the settings in force. */
  readonly version?: string;
  readonly now?: () => number;
}

/** Throws BAD_OPTION for what no gateway could work with. */
export function checkGatewayOptions(options: GatewayOptions): void {
  checkOptions('createGateway', options, RULES);
  checkTokens(options);
  if (options.limits) checkOptions('createGateway limits', options.limits, LIMIT_RULES);
  if (options.prices !== undefined) toPrices('createGateway', options.prices);
  createPriceBook(options.modelPrices);
  checkPolicy(options.policy);
  checkArms(options);
}

/** In shadow nothing is treated, so there is nothing to compare with. */
function checkArms({ holdout = 0, shadow = false }: GatewayOptions): void {
  if (holdout === 0 || !shadow) return;
  throw new PalimpsestError(
    'BAD_OPTION',
    `Expected holdout or shadow but found both (holdout ${holdout}); remove one of gateway.holdout and gateway.shadow`,
  );
}

/** A token tells whose texts may be seen: one for two tenants would show those of the other. */
function checkTokens({ token, tenants = {} }: GatewayOptions): void {
  const tenant = token === undefined || !Object.hasOwn(tenants, token) ? DEFAULT_TENANT : tenants[token];
  if (tenant === DEFAULT_TENANT) return;
  throw new PalimpsestError(
    'BAD_OPTION',
    `Expected createGateway option token to be another one than those of the tenants but found that of ${tenant}; choose a new one`,
  );
}

/** A gateway only masks: to leave messages out, or to write a summary of them, is the agent's own business. */
function checkPolicy(given: GatewayOptions['policy']): void {
  const policy = typeof given === 'function' ? given(priceLists.none) : given;
  if (policy?.oldTexts) throw oldTextsRefused(policy.name);
  if (!policy || (policy.limit === undefined && !policy.leavesOut)) return;
  throw new PalimpsestError(
    'BAD_OPTION',
    `Expected createGateway option policy to be one that only masks, such as break-even or sliding-window, but found ${policy.name}, which leaves messages out`,
  );
}

const oldTextsRefused = (name = 'a policy of your own'): PalimpsestError =>
  new PalimpsestError(
    'BAD_OPTION',
    `Expected createGateway option policy to be one that only edits results but found ${name} with old-texts=true, which works in the library and in sessions only; leave old-texts out`,
  );

const record = rule('an object', (value) => typeof value === 'object' && value !== null);

const RULES = {
  upstreams: record,
  store: rule('a store, or a function that opens one', isStoreOrFunction),
  isStoreShared: flag,
  policy: rule('a policy, or a function that makes one', (value) => typeof value === 'function' || isPolicy(value)),
  prices: anything,
  modelPrices: anything,
  maxTokens: positive,
  boundThinking: oneOf('opt-in', 'keep'),
  holdout: rule('a share of 0 to 1, such as 0.1', isShare),
  shadow: flag,
  token: rule('a text of 16 characters or more', isToken),
  tenants: rule(`tokens of 16 characters or more, each with a tenant of ${TENANT_RULE}`, isTenants),
  isPublic: flag,
  hosts: names,
  origins: rule('a list of origins such as https://app.example', isOrigins),
  limits: record,
  log: func,
  mounts: record,
  hasRecall: func,
  records: anything,
  version: text,
  now: func,
};

const LIMIT_RULES = {
  bodyBytes: positive,
  jsonValues: positive,
  scanMs: positive,
  answerBytes: positive,
  memoryStoreBytes: positive,
};

function isShare(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value <= 1;
}

const isPolicy = (value: unknown): boolean => typeof (value as Policy | undefined)?.step === 'function';

function isStoreOrFunction(value: unknown): boolean {
  return typeof value === 'function' || typeof (value as Store | undefined)?.putMany === 'function';
}

function isToken(value: unknown): boolean {
  return typeof value === 'string' && /^[\w.~-]{16,}$/.test(value);
}

function isTenants(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).every(([token, tenant]) => isToken(token) && isTenant(tenant));
}

/** Not `null`: every page in a sandbox has it. */
function isOrigins(value: unknown): boolean {
  return Array.isArray(value) && value.every((origin) => ORIGIN.test(String(origin)));
}

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#\s*]+$/i;

import { PalimpsestError } from '../errors.ts';
import { isRecord } from '../formats/lens.ts';
import { createPriceBook, type OwnModelPrices } from '../money/price-book.ts';
import { anything, badOption, checkOptions, flag, func, oneOf, positive, rule, text } from '../options.ts';
import { policyRule } from '../plan/fit.ts';
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
  /** Addresses of the providers. @default the official ones */
  readonly upstreams?: Partial<Readonly<Record<Provider, string>>>;
  /**
   * Stores hidden texts. For several tenants: a function that opens their stores; a single store belongs to
   * `default`. @default memory, up to `limits.memoryStoreBytes`
   */
  readonly store?: Store | ((tenant: string) => Store | Promise<Store>);
  /** Whether several gateways write to the store: its events are then read again for every request. @default false */
  readonly isStoreShared?: boolean;
  /** Decides which results are masked, and when. @default break-even at the prices of each request */
  readonly policy?: Policy | ((prices: Prices) => Policy);
  /** Replaces the prices that follow from provider, model and request. @default none */
  readonly prices?: PriceName | OwnPrices;
  /** Prices of models in dollars, before the list prices. @default none */
  readonly modelPrices?: OwnModelPrices;
  /**
   * The largest request, in the provider's tokens. Above it, old results are masked whatever that costs.
   * @default no limit
   */
  readonly maxTokens?: number;
  /** For signed thinking after a mask: opt into dropping it, or mask nothing before it. @default 'opt-in' */
  readonly boundThinking?: 'opt-in' | 'keep';
  /**
   * The share of new sessions that is held out, 0 to 1: they are forwarded unchanged and only measured, for comparison.
   * @default 0
   */
  readonly holdout?: number;
  /** Decides and records, but sends every new session unchanged, and stores none of its texts. @default false */
  readonly shadow?: boolean;
  /** The token of the page and the API; without one they are closed. Its tenant is `default`. @default none */
  readonly token?: string;
  /**
   * More tokens, each with its tenant. If there are any, every request needs a token, as with `isPublic`. @default
   * none
   */
  readonly tenants?: Readonly<Record<string, string>>;
  /**
   * Whether other machines can reach it: every request then needs a token, in `x-palimpsest-token` or as `/as/TOKEN/…`. @default
   * false
   */
  readonly isPublic?: boolean;
  /** Host names that requests may use, in addition to those of this machine. @default none */
  readonly hosts?: readonly string[];
  /** Origins of web pages that may use it, in addition to its own: `https://app.example`, `app://obsidian.md`. @default none */
  readonly origins?: readonly string[];
  /** Replaces defaults of `docs/limits.md`. @default none */
  readonly limits?: Partial<GatewayLimits>;
  /** Gets one entry for each request and each problem. @default no log */
  readonly log?: Log;
  /** More routes under the rules of the API, by path. @default none */
  readonly mounts?: Readonly<Record<string, Mount>>;
  /**
   * Whether agents of a tenant are known to have the tool `recall`, even if their requests do not show it. @default
   * none
   */
  readonly hasRecall?: (tenant: string) => boolean;
  /** The store of receipts. @default memory */
  readonly records?: Records;
  /** Shown with the current settings. @default none */
  readonly version?: string;
  /** The clock, in ms since the epoch. @default Date.now */
  readonly now?: () => number;
}

/** Throws BAD_OPTION for invalid options. */
export function checkGatewayOptions(options: GatewayOptions): void {
  checkOptions('createGateway', options, RULES);
  checkTokens(options);
  if (options.limits) checkOptions('createGateway limits', options.limits, LIMIT_RULES);
  if (options.prices !== undefined) toPrices('createGateway', options.prices);
  createPriceBook(options.modelPrices);
  checkPolicy(options.policy);
  checkArms(options);
}

/** In shadow mode nothing is treated, so there is nothing to compare. */
function checkArms({ holdout = 0, shadow = false }: GatewayOptions): void {
  if (holdout === 0 || !shadow) return;
  throw new PalimpsestError(
    'BAD_OPTION',
    `Expected holdout or shadow but found both (holdout ${holdout}); remove one of gateway.holdout and gateway.shadow`,
  );
}

/** A token decides whose texts may be seen: with one token for two tenants, each would see those of the other. */
function checkTokens({ token, tenants = {} }: GatewayOptions): void {
  const tenant = token === undefined || !Object.hasOwn(tenants, token) ? DEFAULT_TENANT : tenants[token];
  if (tenant === DEFAULT_TENANT) return;
  throw new PalimpsestError(
    'BAD_OPTION',
    `Expected createGateway option token to be another one than those of the tenants but found that of ${tenant}; choose a new one`,
  );
}

/** A gateway only masks: leaving out or summarising messages is left to the agent. */
function checkPolicy(given: GatewayOptions['policy']): void {
  const policy = typeof given === 'function' ? made(given(priceLists.none)) : given;
  if (policy?.oldTexts) throw oldTextsRefused(policy.name);
  if (!policy || (policy.limit === undefined && !policy.leavesOut)) return;
  throw new PalimpsestError(
    'BAD_OPTION',
    `Expected createGateway option policy to be one that only masks, such as break-even or sliding-window, but found ${policy.name}, which leaves messages out`,
  );
}

function made(policy: Policy): Policy {
  if (policyRule.check(policy)) return policy;
  throw badOption('the result of createGateway option policy', policyRule.expected, policy);
}

const oldTextsRefused = (name = 'a policy of your own'): PalimpsestError =>
  new PalimpsestError(
    'BAD_OPTION',
    `Expected createGateway option policy to be one that only edits results but found ${name} with old-texts=true, which works in the library and in sessions only; leave old-texts out`,
  );

const record = rule('an object', isRecord);

const RULES = {
  upstreams: record,
  store: rule('a store, or a function that opens one', isStoreOrFunction),
  isStoreShared: flag,
  policy: rule('a policy, or a function that makes one', isPolicyOrFunction),
  prices: anything,
  modelPrices: anything,
  maxTokens: positive,
  boundThinking: oneOf('opt-in', 'keep'),
  holdout: rule('a share of 0 to 1, such as 0.1', isShare),
  shadow: flag,
  token: rule('a text of 16 characters or more', isToken),
  tenants: rule(`tokens of 16 characters or more, each with a tenant of ${TENANT_RULE}`, isTenants),
  isPublic: flag,
  hosts: rule('a list of host names such as gateway.example', isHosts),
  origins: rule('a list of origins such as https://app.example', isOrigins),
  limits: record,
  log: func,
  mounts: rule('an object with a function for each path', isMounts),
  hasRecall: func,
  records: rule('an object with finish, receipts and metrics', isRecords),
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

function isPolicyOrFunction(value: unknown): boolean {
  return typeof value === 'function' || policyRule.check(value);
}

function isMounts(value: unknown): boolean {
  return record.check(value) && Object.values(value as object).every(func.check);
}

function isRecords(value: unknown): boolean {
  const { finish, receipts, metrics } = (value ?? {}) as Partial<Records>;
  return [finish, receipts, metrics].every(func.check);
}

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

/** An address or a pattern would never equal the name in a request. */
function isHosts(value: unknown): boolean {
  return Array.isArray(value) && value.every((host) => typeof host === 'string' && HOST.test(host));
}

const HOST = /^[^/?#\s*]+$/;

/** Not `null`: every page in a sandbox has it. */
function isOrigins(value: unknown): boolean {
  return Array.isArray(value) && value.every(isOrigin);
}

/** Whether a text is an origin such as `https://app.example`. */
export const isOrigin = (value: unknown): boolean => ORIGIN.test(String(value));

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#\s*]+$/i;

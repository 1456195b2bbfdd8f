import { isRecord } from '../../formats/lens.ts';
import { defined } from '../../options.ts';
import { policies } from '../../plan/policies/index.ts';
import type { Policy } from '../../plan/policy.ts';
import { DEFAULT_OUTPUT_TOKENS, type EffectiveLimit, effectiveLimit } from '../budget/effective-limit.ts';
import type { Config } from './config-schema.ts';

/** The policy that a configuration names, or undefined where it leaves the choice. Other prices than its own may be given. */
export function policyOf({ policy, session }: Config, atPrices: unknown = policy?.prices): Policy | undefined {
  const { tool_result_keep_first: keepFirst, tool_result_keep_last: keepLast } = session?.context ?? {};
  const isKept = keepFirst !== undefined || keepLast !== undefined;
  if (policy === undefined && !isKept) return undefined;
  const { name = isKept ? 'first-and-last' : 'break-even', ...options } = policy ?? {};
  const kept = name === 'first-and-last' ? defined({ keepFirst, keepLast }) : {};
  const make = policies[name] as (options: object) => Policy;
  const prices = defined({ prices: ownPricesOf(atPrices) });
  return make({ ...kept, ...camelCased(options), ...prices });
}

/** Prices as code takes them: a name, or fields in camelCase. */
export function ownPricesOf(prices: unknown): unknown {
  if (!isRecord(prices)) return prices;
  const { lookup } = prices;
  return camelCased({ ...prices, ...(isRecord(lookup) ? { lookup: camelCased(lookup) } : {}) });
}

/** The options of `openSession` in a configuration. */
export function sessionOptionsOf(config: Config) {
  const { session = {}, context = {}, store = {} } = config;
  return defined({
    ...limitsIn(config),
    ...placeOf(session),
    policy: policyOf(config),
    compaction: session.compaction,
    recordTurns: store.record_turns,
    snapshotEvery: session.snapshot_every,
    maxHistoryTokens: session.context?.max_history_tokens,
    maxToolResultTokens: session.context?.max_tool_result_tokens,
    toolResultTruncation: session.context?.tool_result_truncation,
    maskBatch: context.mask_batch,
    carryoverTurns: context.carryover_turns,
    carryoverTokens: context.carryover_tokens,
    maxRestarts: context.max_restarts,
  });
}

/** The options of `runAgent` in a configuration. */
export function agentOptionsOf({ model = {}, session = {}, context = {} }: Config) {
  return defined({
    maxInputTokens: model.max_input_tokens,
    maxOutputTokens: model.max_output_tokens,
    maxHistoryTokens: session.context?.max_history_tokens,
    maxToolIterations: session.max_tool_iterations,
    toolTimeoutMs: session.tool_timeout_ms,
    onDisconnect: session.on_disconnect,
    autoRestart: context.auto_restart,
  });
}

/** The limit and its layers in a run with this configuration. */
export function limitOf(config: Config): EffectiveLimit {
  const { maxOutputTokens = DEFAULT_OUTPUT_TOKENS, ...limits } = limitsIn(config);
  return effectiveLimit({ ...limits, maxOutputTokens, maxHistoryTokens: config.session?.context?.max_history_tokens });
}

function limitsIn({ model = {}, context = {} }: Config) {
  return {
    model: model.name,
    contextWindows: model.context_windows,
    maxInputTokens: model.max_input_tokens,
    maxOutputTokens: model.max_output_tokens,
    contextLimit: context.limit,
    softThreshold: context.soft_threshold_pct,
    hardThreshold: context.hard_threshold_pct,
  };
}

/** The field that sets the limit. */
export const LIMIT_FIELDS: Readonly<Record<EffectiveLimit['source'], string>> = {
  maxInputTokens: 'model.max_input_tokens',
  contextLimit: 'context.limit',
  model: 'the window of model.name',
  unknownModel: 'the default, as model.name is not known',
  unknown: 'the default window, as no model is named',
};

/** The options of `openStore` in a configuration. Undefined if it names no folder. */
export function storeOptionsOf({ store = {} }: Config) {
  const { path, tenant } = store;
  return path === undefined ? undefined : { path, ...defined({ tenant }) };
}

/** The options of `sweepSessions` in a configuration. */
export function sweepOptionsOf({ session = {} }: Config) {
  return defined({ ...placeOf(session), ttlHours: session.ttl_hours });
}

/** A database has precedence over a folder, as for the store. */
function placeOf({ directory, database }: NonNullable<Config['session']>) {
  return database === undefined ? { directory } : { database };
}

function camelCased(options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const camel = (key: string): string => key.replace(/[-_]([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(options).map(([key, value]) => [camel(key), value]));
}

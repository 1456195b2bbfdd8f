import {
  amount,
  anything,
  badOption,
  checkOptions,
  count,
  defined,
  given,
  nearest,
  positive,
  type Rule,
  rule,
  text,
} from '../options.ts';

/** A provider's prices of cached and new tokens, as multiples of its base price for input. */
export interface Prices {
  /** Shown in reports; `--prices` takes it. */
  readonly name: string;
  /** The price of a token that is read from the cache. */
  readonly read: number;
  /** The price of a token that is written to the cache. */
  readonly write: number;
  /** A token that is written for minutes, and one that is written for an hour, if the provider distinguishes them. */
  readonly writes?: WritePrices;
  /** How long a cached prefix lives, counted from its last use. */
  readonly lifeMs: number;
  /** Shorter prompts are not cached at all. */
  readonly leastTokens: number;
  /** How the cache finds the start of a prompt. */
  readonly lookup: CacheLookup;
  /** The day on which the price was read. */
  readonly date: string;
  /** The page of the price. */
  readonly source: string;
}

/** The prices of writes by the lifetime that a marker asks for. */
export interface WritePrices {
  readonly short: number;
  readonly hour: number;
}

/**
 * How a cache finds the start of a prompt again. With markers: only a prefix that was written at a marker, at most `lookBackBlocks`
 * blocks before a marker of the new request. Otherwise any prefix, rounded down to whole steps of `stepTokens`.
 */
export type CacheLookup =
  /** The number of blocks before a marker in which an earlier one is looked for. */
  | { readonly kind: 'markers'; readonly lookBackBlocks: number }
  /** The length of a cached prefix is a multiple of `stepTokens`. */
  | { readonly kind: 'prefix'; readonly stepTokens: number };

/** A user's own prices. By default the cache never expires, has no minimum size and finds any prefix, to the token. */
export type OwnPrices = Pick<Prices, 'read' | 'write'> & Partial<Prices>;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const ANTHROPIC = 'https://platform.claude.com/docs/en/build-with-claude/prompt-caching';
const OPENAI = 'https://developers.openai.com/api/docs/guides/prompt-caching';
const GEMINI = 'https://ai.google.dev/gemini-api/docs/caching';
const DEEPSEEK = 'https://api-docs.deepseek.com/guides/kv_cache';

const MARKERS: CacheLookup = Object.freeze({ kind: 'markers', lookBackBlocks: 20 });
/** "Cache hits occurring in increments of 128 tokens." GPT-5.6 has no published step and is listed with the others. */
const STEPS: CacheLookup = Object.freeze({ kind: 'prefix', stepTokens: 128 });
/** Gemini and DeepSeek publish no step. */
const ANY: CacheLookup = Object.freeze({ kind: 'prefix', stepTokens: 1 });

const WRITES: WritePrices = Object.freeze({ short: 1.25, hour: 2 });
const anthropic = { writes: WRITES, leastTokens: 1024, lookup: MARKERS };
const openai = { leastTokens: 1024, lookup: STEPS };

/** The named price lists. `none` is a provider without a prompt cache, or one that is not used. */
export const priceLists = {
  'anthropic-5m': list('anthropic-5m', { read: 0.1, write: WRITES.short, lifeMs: 5 * MINUTE, ...anthropic }, ANTHROPIC),
  'anthropic-1h': list('anthropic-1h', { read: 0.1, write: WRITES.hour, lifeMs: HOUR, ...anthropic }, ANTHROPIC),
  'gpt-5': list('gpt-5', { read: 0.1, write: 1, lifeMs: 5 * MINUTE, ...openai }, OPENAI),
  'gpt-5.6': list('gpt-5.6', { read: 0.1, write: 1.25, lifeMs: 30 * MINUTE, ...openai }, OPENAI),
  'gpt-4.1': list('gpt-4.1', { read: 0.25, write: 1, lifeMs: 5 * MINUTE, ...openai }, OPENAI),
  'gpt-4o': list('gpt-4o', { read: 0.5, write: 1, lifeMs: 5 * MINUTE, ...openai }, OPENAI),
  gemini: list('gemini', { read: 0.1, write: 1, lifeMs: 5 * MINUTE, leastTokens: 2048, lookup: ANY }, GEMINI),
  deepseek: list('deepseek', { read: 0.02, write: 1, lifeMs: 2 * HOUR, leastTokens: 0, lookup: ANY }, DEEPSEEK),
  none: list('none', { read: 1, write: 1, lifeMs: 0, leastTokens: 0, lookup: ANY }, 'every token is billed alike'),
} as const satisfies Readonly<Record<string, Prices>>;

/** The name of a price list. */
export type PriceName = keyof typeof priceLists;

function list(name: string, prices: Omit<Prices, 'name' | 'date' | 'source'>, source: string): Prices {
  return Object.freeze({ name, ...prices, date: '2026-08-08', source });
}

/** The price list that an option names or holds. `of` names the option in an error. */
export function toPrices(of: string, prices: unknown): Prices {
  if (typeof prices === 'string') return named(of, prices);
  if (typeof prices !== 'object' || prices === null)
    throw badOption(`${of} option prices`, 'a price list or its name', prices);
  checkOptions(`${of} prices`, prices, RULES, ['read', 'write']);
  const own = defined(prices) as OwnPrices;
  if (own.writes) checkOptions(`${of} prices writes`, own.writes, { short: amount, hour: amount }, ['short', 'hour']);
  return { ...OWN, ...own, lookup: toLookup(`${of} prices lookup`, own.lookup ?? ANY) };
}

function toLookup(of: string, lookup: CacheLookup): CacheLookup {
  const { kind } = given(of, lookup);
  const known = FIELDS.get(kind);
  if (!known) throw badOption(`${of} option kind`, `one of '${[...FIELDS.keys()].join("', '")}'`, kind);
  const [field, expected] = known;
  checkOptions(of, lookup, { kind: anything, [field]: expected }, [field]);
  // In a fixed order: a gateway compares prices with recorded ones.
  return { kind, [field]: (lookup as Readonly<Record<string, unknown>>)[field] } as CacheLookup;
}

/** The field of each kind. */
const FIELDS = new Map<string, readonly [string, Rule]>([
  ['markers', ['lookBackBlocks', count]],
  ['prefix', ['stepTokens', positive]],
]);

function named(of: string, name: string): Prices {
  if (Object.hasOwn(priceLists, name)) return priceLists[name as PriceName];
  const known = Object.keys(priceLists);
  const near = nearest(name, known);
  const expected = near ? `a known price list (did you mean ${near}?)` : `one of ${known.join(', ')}`;
  throw badOption(`${of} option prices`, expected, name);
}

const RULES = {
  name: text,
  read: amount,
  write: amount,
  writes: anything,
  lifeMs: rule('a number of 0 or more', (v) => typeof v === 'number' && v >= 0),
  leastTokens: count,
  lookup: anything,
  date: text,
  source: text,
};

const OWN = { name: 'own', lifeMs: Number.POSITIVE_INFINITY, leastTokens: 0, date: '', source: 'the caller' };

/** Prompt tokens, and how the provider's cache split them. */
export interface PromptTokens {
  /** Tokens that were read from the cache. */
  readonly cached: number;
  /** Not read from the cache. */
  readonly written: number;
  /** Of `written`: not written to the cache either. Absent if the provider does not report it. */
  readonly uncached?: number;
  /** Of `written`: written to the cache for an hour. Absent if the provider does not report it, or wrote nothing. */
  readonly hourWritten?: number;
}

/** The price of one token: read from the cache, written to it, and neither. */
export interface InputRates {
  readonly read: number;
  readonly write: number;
  /** 1 if not given: then the others are multiples of it. */
  readonly base?: number;
  readonly writes?: WritePrices | undefined;
}

/** The cost of a prompt. If the provider does not report `uncached`, all tokens that were not read cost as much as a write. */
export function inputCost(
  { cached, written, uncached = 0, hourWritten }: PromptTokens,
  { read, write, base = 1, writes }: InputRates,
): number {
  const others = cached * read + uncached * base;
  const stored = written - uncached;
  if (hourWritten === undefined || !writes) return others + stored * write;
  return others + (stored - hourWritten) * writes.short + hourWritten * writes.hour;
}

/** In this order: a longer name before the one that it begins with. */
const MODELS: readonly (readonly [RegExp, PriceName])[] = [
  [/claude|anthropic/, 'anthropic-5m'],
  [/gpt-?(?:5\.(?:[6-9]|\d\d)|[6-9])/, 'gpt-5.6'],
  [/gpt-?5|codex/, 'gpt-5'],
  [/gpt-?4o|\bo1\b|\bo3-mini\b/, 'gpt-4o'],
  [/gpt-?4\.1|\bo[34]\b/, 'gpt-4.1'],
  [/gemini/, 'gemini'],
  [/deepseek/, 'deepseek'],
];

/** The price list of a model. Undefined if its name is unknown. */
export function pricesOf(model: string): Prices | undefined {
  const name = MODELS.find(([pattern]) => pattern.test(model.toLowerCase()))?.[1];
  return name && priceLists[name];
}

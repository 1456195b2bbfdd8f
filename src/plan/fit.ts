import { PalimpsestError } from '../errors.ts';
import { isRecord } from '../formats/lens.ts';
import type { AnyFormat, Format, FormatName, Plan } from '../message.ts';
import { EMPTY_PLAN } from '../message.ts';
import {
  anything,
  badOption,
  checkOptions,
  count,
  flag,
  func,
  kindOfValue,
  oneOf,
  positive,
  rule,
  text,
} from '../options.ts';
import { countTokens } from '../tokens/count-tokens.ts';
import type { Counter } from '../tokens/counter.ts';
import { withJsonSchemas } from '../tokens/json-schemas.ts';
import { type ArrivalOptions, arrivalRule, arrivalRules } from './arrival/options.ts';
import { defaultPolicy } from './default-policy.ts';
import { hasRecallTool } from './handles.ts';
import { keepCompiled } from './keep-compiled.ts';
import type { Hidden } from './ledger/hidden.ts';
import { plannerFor } from './memory.ts';
import { allParts } from './parts/all-parts.ts';
import type { PlannerParts } from './parts/parts.ts';
import { Planner, type PlannerOptions } from './planner.ts';
import { type EpochRecord, isSamePolicy, type Policy } from './policy.ts';
import type { Report } from './report.ts';
import { checkFormatAgain, resolveFormat } from './resolve-format.ts';
import type { Summarize } from './summary.ts';

/** Options of `fit` and `createPlanner`. */
export interface FitOptions {
  /**
   * The budget for the whole request. Without it, and without a model, only the policy cuts. @default the context
   * window of `model`, if it is given
   */
  readonly maxTokens?: number;
  /** The format of the messages. @default detected */
  readonly format?: AnyFormat | FormatName;
  /**
   * The system prompt and the tools, where the provider takes them apart from the messages: they count too. @default
   * none
   */
  readonly system?: unknown;
  /** The tools of the request, as they are sent. @default none */
  readonly tools?: unknown;
  /** Its context window is the budget where `maxTokens` gives none. @default none */
  readonly model?: string;
  /** Context windows by model name, for models that are not known here. @default none */
  readonly contextWindows?: Readonly<Record<string, number>>;
  /** Decides what to mask, whatever the size. @default breakEven() */
  readonly policy?: Policy;
  /** Counts the tokens of a text. @default countTokens */
  readonly counter?: Counter;
  /** Shows handles in placeholders. Fixed for the life of a conversation. @default false */
  readonly recall?: boolean;
  /** Names a hidden text. @default the first 130 bits of its SHA-256 */
  readonly handleOf?: (text: string) => string;
  /**
   * For signed thinking after an edit: list the opt-in that the request needs, or edit nothing before it. @default 'opt-in'
   */
  readonly boundThinking?: 'opt-in' | 'keep';
  /** Facts about the provider's cache that the history does not show. @default none */
  readonly facts?: CacheFacts;
  /**
   * How results are made smaller when they are first sent. Fixed for the life of a conversation. @default that of the
   * policy
   */
  readonly arrival?: ArrivalOptions;
}

/** Facts about the provider's cache that only the caller knows. */
export interface CacheFacts {
  /** How long ago the last request was sent. @default unknown */
  readonly idleMs?: number;
  /** How long the cache lives without use. @default that of the price list */
  readonly cacheLifeMs?: number;
  /** The epochs that earlier calls took on a cold cache, or that were forced: the record of each. @default none */
  readonly epochs?: readonly EpochRecord[];
}

/** The result of `fit`: the messages to send, and the decisions about them. */
export interface FitResult<M> {
  /** A new list of the caller's own messages and of edited copies: those of the previous call, unless the caller changed them. */
  readonly messages: M[];
  /** The edits, as data. */
  readonly plan: Plan;
  /** Sizes, counts, and the reason of the decision. */
  readonly report: Report;
  /** The hidden texts, each with its handle. */
  readonly hidden: readonly Hidden[];
}

/** Checks the option `format`. */
export const formatRule = rule(
  'a format or its name',
  (v) => typeof v === 'string' || typeof (v as Format | null)?.viewer === 'function',
);

/** Checks the option `contextWindows`. */
export const windowsRule = rule('an object of whole numbers of 1 or more', isTable);

/** Checks the option `policy`. */
export const policyRule = rule('a policy, such as slidingWindow()', isPolicy);

/** Checks the options of `fit`. */
export const FIT_RULES = {
  maxTokens: positive,
  format: formatRule,
  system: anything,
  tools: anything,
  model: text,
  contextWindows: windowsRule,
  policy: policyRule,
  counter: func,
  recall: flag,
  handleOf: func,
  boundThinking: oneOf('opt-in', 'keep'),
  facts: rule('an object with idleMs, cacheLifeMs and epochs', isFacts),
  arrival: arrivalRule,
};

function isFacts(value: unknown): boolean {
  if (kindOfValue(value) !== 'object') return false;
  const { idleMs = 0, cacheLifeMs = 0, epochs = [], ...unknown } = value as CacheFacts;
  const isTime = (time: unknown): boolean => typeof time === 'number' && time >= 0;
  return isTime(idleMs) && isTime(cacheLifeMs) && areEpochs(epochs) && Object.keys(unknown).length === 0;
}

function areEpochs(value: unknown): boolean {
  const isEpoch = (epoch: Partial<EpochRecord> | null): boolean =>
    count.check(epoch?.turns) && count.check(epoch?.messages) && count.check(epoch?.before ?? 0);
  return Array.isArray(value) && value.every(isEpoch);
}

function isTable(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every(positive.check);
}

function isPolicy(value: unknown): boolean {
  const policy = value as Partial<Policy> | null;
  return typeof policy?.step === 'function' && typeof policy.init === 'function';
}

/** Fits a history into its budget: first the policy, then, if need be, the budget. Pure: nothing is stored or changed. */
export function fit<M>(messages: readonly M[], options: FitOptions = {}): FitResult<M> {
  checkFitOptions(options);
  keepCompiled();
  const withDefaults = { ...options, policy: policyOf(options), parts: allParts };
  const format = resolveFormat<M>(messages, options.format);
  return fitRemembered(messages, {
    format,
    options: withDefaults,
    checkAgain: () => checkFormatAgain(messages, options.format),
  });
}

export const checkFitOptions = (options: FitOptions, required?: readonly string[]): void =>
  checkOptions('fit', options, FIT_RULES, required);

/** The options of `fitInFormat`. */
export interface PolicyOptions extends FitOptions {
  readonly policy: Policy;
  readonly parts: PlannerParts;
}

/** Like `fit`, without detection and defaults: a bundle has only the format, policy and parts that it names. */
export function fitInFormat<M>(messages: readonly M[], format: Format<M>, options: PolicyOptions): FitResult<M> {
  return fitRemembered(messages, { format, options });
}

interface Fitting<M> {
  readonly format: Format<M>;
  readonly options: PolicyOptions;
  readonly checkAgain?: () => void;
}

function fitRemembered<M>(messages: readonly M[], { format, options, checkAgain }: Fitting<M>): FitResult<M> {
  const planner = plannerFor(messages, {
    options,
    format,
    beside: [options.system, options.tools, options.contextWindows],
    sameAs: () => sameAs(options, format),
    create: () => newPlanner(format, options, { of: 'fit' }),
    isCold: isCold(options),
    ...(checkAgain ? { checkAgain } : {}),
  });
  return fittedBy(planner, messages, options);
}

/** Like `fit`, with summaries that come from elsewhere. Without memory, because a summary that was missing may exist now. */
export function fitWith<M>(messages: readonly M[], options: FitOptions, summarize: Summarize): FitResult<M> {
  checkOptions('fitAndStore', options, FIT_RULES);
  const format = resolveFormat<M>(messages, options.format);
  const withPolicy = { ...options, policy: policyOf(options), parts: allParts };
  const planner = newPlanner(format, withPolicy, { of: 'fitAndStore', summarize });
  planner.take(messages, { isCold: isCold(withPolicy) });
  return fittedBy(planner, messages, withPolicy);
}

function fittedBy<M>(planner: Planner<M>, messages: readonly M[], options: PolicyOptions): FitResult<M> {
  const budget = budgetOf(options);
  const part = options.parts.budget;
  if (part && budget !== undefined && planner.tokens > budget)
    throw part.impossible(planner.ledger, budget, 'maxTokens');
  const { plan, messages: fitted, hidden } = planner.result();
  const broken = planner.check(messages, fitted, plan);
  if (broken.length === 0) return { messages: fitted, plan, report: planner.report(), hidden };

  const said = broken.map((violation) => violation.text).join(' ');
  if (budget !== undefined && planner.report().tokens.before > budget) {
    throw new PalimpsestError('LAW_BROKEN', `Expected a plan that keeps the laws but found: ${said}`);
  }
  return { messages: messages.slice(), plan: EMPTY_PLAN, report: refused(planner.report(), said), hidden: [] };
}

/** A planner for one conversation, with the same options as `fit`. */
export function createPlanner<M>(
  format: Format<M>,
  options: FitOptions = {},
  making: Omit<PlannerMaking<M>, 'of'> = {},
): Planner<M> {
  checkOptions('createPlanner', options, FIT_RULES);
  const withDefaults = { ...options, policy: policyOf(options), parts: allParts };
  return newPlanner(format, withDefaults, { of: 'createPlanner', ...making });
}

interface PlannerMaking<M> extends Pick<PlannerOptions<M>, 'summarize' | 'sent'> {
  /** The function that the caller called. */
  readonly of: string;
}

function newPlanner<M>(format: Format<M>, options: PolicyOptions, { of, ...making }: PlannerMaking<M>): Planner<M> {
  const { handleOf, recall = false, model, policy, parts } = options;
  checkOptions(`${of} option arrival`, options.arrival ?? {}, arrivalRules);
  const counter = options.counter ? checkedCounter(options.counter) : countTokens;
  const sizeOf = (name: 'system' | 'tools'): number => sizeOfValue(`${of} option ${name}`, options[name], counter);
  if (recall && !handleOf) throw badOption(`${of} option handleOf`, 'a function where recall is on', handleOf);
  return new Planner(format, {
    policy,
    parts,
    counter,
    handleOf,
    model,
    maxTokens: budgetOf(options),
    epochs: options.facts?.epochs,
    show: showFor(recall, options.tools),
    keepSigned: options.boundThinking === 'keep',
    overheadTokens: sizeOf('system') + sizeOf('tools'),
    arrival: options.arrival,
    ...making,
  });
}

const policyOf = ({ policy, model }: FitOptions): Policy => policy ?? defaultPolicy(model);

function isCold(options: PolicyOptions): boolean {
  if (options.facts?.idleMs === undefined) return false;
  const { idleMs, cacheLifeMs = options.policy.cacheLifeMs ?? Number.POSITIVE_INFINITY } = options.facts;
  return idleMs > cacheLifeMs;
}

/** Whether another call makes the same decisions. Policies with the same options do. */
function sameAs(options: PolicyOptions, format: unknown): (other: unknown, otherFormat: unknown) => boolean {
  // Copied now, because the caller may extend the same list of epochs.
  const epochs = epochsOf(options);
  const arrival = JSON.stringify(options.arrival);
  return (found, otherFormat) => {
    const other = found as PolicyOptions;
    return (
      format === otherFormat &&
      isSamePolicy(options.policy, other.policy) &&
      NAMES.every((name) => options[name] === other[name]) &&
      PARTS.every((name) => options.parts[name] === other.parts[name]) &&
      JSON.stringify(other.arrival) === arrival &&
      epochsOf(other) === epochs
    );
  };
}

const epochsOf = ({ facts }: FitOptions): string =>
  facts?.epochs
    ? facts.epochs
        .map(({ turns, messages, before = '', inside = '' }) => `${turns}:${messages}:${before}:${inside}`)
        .join()
    : '';

const BY_VALUE = new Set(['policy', 'facts', 'format', 'arrival']);
const NAMES = (Object.keys(FIT_RULES) as (keyof FitOptions)[]).filter((name) => !BY_VALUE.has(name));

const PARTS = ['budget', 'arrival', 'oldTexts'] as const satisfies (keyof PlannerParts)[];

const checkedCounters = new WeakMap<Counter, Counter>();

/** A size that is not a number would pass every budget. */
export function checkedCounter(counter: Counter): Counter {
  const known = checkedCounters.get(counter);
  if (known) return known;
  const checked: Counter = (text) => {
    const tokens: unknown = counter(text);
    // Sums of such fractions are exact in any order; sums of others are not.
    if (typeof tokens === 'number' && tokens >= 0 && Number.isFinite(tokens)) return Math.round(tokens * 1024) / 1024;
    throw badOption('what the option counter answers', 'a number of 0 or more', tokens);
  };
  checkedCounters.set(counter, checked);
  return checked;
}

function budgetOf({ maxTokens, model, contextWindows, parts }: PolicyOptions): number | undefined {
  if (maxTokens !== undefined || model === undefined) return maxTokens;
  // If the part is missing, the planner refuses every budget.
  return parts.budget?.windowOf(model, contextWindows) ?? Number.POSITIVE_INFINITY;
}

/** The size of a system prompt or of tools. The error for a value that cannot be written names the option. */
export function sizeOfValue(option: string, value: unknown, counter: Counter): number {
  if (value === undefined || value === null) return 0;
  return counter(typeof value === 'string' ? value : writeValue(option, value));
}

function writeValue(option: string, value: unknown): string {
  try {
    return JSON.stringify(value, withJsonSchemas) ?? '';
  } catch {
    throw badOption(option, 'a text or what can be written as JSON', value);
  }
}

/** How handles are shown, if at all: after the word `recall` only if the model has that tool, under any client's name. */
export const showFor = (recall: boolean, tools: unknown): 'nothing' | 'handle' | 'recall' =>
  recall ? (hasRecallTool(tools) ? 'recall' : 'handle') : 'nothing';

function refused(report: Report, said: string): Report {
  const { reductionStage: _stage, lastChange: _change, frontier: _frontier, ...rest } = report;
  const byKind = Object.fromEntries(
    Object.entries(report.byKind).map(([kind, { before }]) => [kind, { before, after: before }]),
  ) as unknown as Report['byKind'];
  return {
    ...rest,
    tokens: { before: report.tokens.before, after: report.tokens.before },
    chars: { before: report.chars.before, after: report.chars.before },
    byKind,
    edits: { mask: 0, clip: 0, shape: 0, drop: 0, insert: 0 },
    maskedCount: 0,
    maskedChars: 0,
    epoch: 0,
    cache: { cached: 0, rewritten: 0 },
    cacheMarkers: [],
    requires: [],
    decision: { act: 'off', because: `the plan was refused: ${said}` },
  };
}

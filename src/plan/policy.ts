import { isRecord } from '../formats/lens.ts';
import { MAX_PLACEHOLDER } from '../laws/idempotent.ts';
import { anything, badOption, checkOptions, count, defined, flag, func, names, positive, rule } from '../options.ts';
import { type ArrivalOptions, arrivalRules } from './arrival/options.ts';
import { customStyle, houseStyle, type Placeholder, type PlaceholderStyle } from './placeholder.ts';
import type { Prices } from './prices.ts';
import type { Budget } from './stages/stage.ts';
import type { SummaryWriter } from './summary.ts';
import { KINDS, readToolUse, type ToolKind, type ToolUse } from './tool-kind.ts';
import {
  type Ages,
  agesOf,
  hasLeftWindow,
  type KindShares,
  newlyOutside,
  startCursor,
  type WindowCursor,
} from './window-by-kind.ts';

/** A tool result as the next request would carry it. */
export interface Observation {
  /** Index into the view of the history. */
  readonly segment: number;
  /** Its turn, counted in the history as it is sent. */
  readonly turn: number;
  /** The name of the tool, if the history has it. */
  readonly tool: string | undefined;
  /** The call that it answers. */
  readonly callId: string | undefined;
  /** The text as it is sent. */
  readonly text: string;
  /** The size of the text. */
  readonly tokens: number;
  /** Whether its call failed. */
  readonly isError: boolean;
  /** The caller's own marks on the message. */
  readonly tags: readonly string[];
  /** Whether its text is already a placeholder. */
  readonly masked: boolean;
  /** The kind of its tool; 'other' unless the policy uses kinds. */
  readonly kind: ToolKind;
  /** A newer read that shows everything in this one, if the policy uses kinds. */
  readonly coveredBy: Observation | undefined;
  /** The older reads that this one covers first. */
  readonly covers: readonly Observation[];
  /** The results that refer to it or that it refers to, directly or through others. Undefined if there are none. */
  readonly group: ObservationGroup | undefined;
}

/** Results that refer to each other. All of them stay until the last of them may be masked. */
export interface ObservationGroup {
  readonly members: Iterable<Observation>;
  /** The newest result of each kind. */
  readonly newest: Iterable<Observation>;
}

/** The view of a policy on one request, with all masks so far. */
export interface RequestView {
  /** The number of turns that are sent. */
  readonly turns: number;
  /** The size of the whole request, system prompt and tools included. */
  readonly tokens: number;
  /** The results that are sent, oldest first. */
  readonly observations: readonly Observation[];
  /** The first result that could be masked and is not. All before it are final. */
  readonly frontier: number;
  /** The number of older messages that were left out. */
  readonly omitted: number;
  /** Grows when visible results become smaller, or may no longer be masked: sums over them must be recomputed. */
  readonly revision: number;
  /** Whether the laws allow to mask this result, and its placeholder is smaller. */
  readonly maskable: (observation: Observation) => boolean;
  /** The tokens that a mask of this result saves; 0 if it cannot be masked. */
  gain(observation: Observation): number;
  /** The size of all texts that are sent, with system prompt and tools, without framing and ids. */
  readonly text: number;
  /** The same of one turn; turn 0 is everything before the first reply. */
  textOf(turn: number): number;
  /** The same of all requests before this one together, with each text as it is sent now. */
  readonly carried: number;
  /** The same of everything before a result. */
  textBefore(observation: Observation): number;
  /** Whether the provider's cache is known to have expired before this request. */
  readonly isCold: boolean;
  /** Whether a result that is new in this request refers to an older one. */
  readonly hasNewReferences: boolean;
}

/** An epoch that the history does not show: the request on which it was taken. The caller keeps it and passes it again. */
export interface EpochRecord {
  /** The number of turns of the request. */
  readonly turns: number;
  /** The number of messages of the request. */
  readonly messages: number;
  /** For a forced epoch: results before this segment may be masked. Without it, the cache was cold. */
  readonly before?: number;
  /** Whether results inside the window were masked too, except those of the newest turn. */
  readonly inside?: true;
}

/** The reason of a decision. */
export interface Reason {
  /** The decision. */
  readonly act: 'mask' | 'wait' | 'off' | 'cold-cache';
  /** One line for people. */
  readonly because: string;
  /** The numbers behind the decision, by name, such as `rent` and `price`. */
  readonly [detail: string]: unknown;
}

/** The decision of a policy about one request. */
export interface Step<S> {
  /** Passed to the next step. */
  readonly state: S;
  /** Segments to mask from now on. A policy can only add. */
  readonly mask: readonly number[];
  /** The number of oldest turns to replace by a summary. */
  readonly summarize?: number;
  /** Shown in reports. */
  readonly because: Reason;
}

/** The default window: the number of last turns that stay whole. */
export const DEFAULT_WINDOW = 10;

/** Decides what to mask, as a fold over the requests of a conversation: no clock, no memory except the state. */
export interface Policy<S = unknown> {
  /** Shown in reports. */
  readonly name?: string;
  /** The state before the first request. */
  init(): S;
  /** Called once for each request: before each reply, and for the one about to be sent. */
  step(state: S, request: RequestView): Step<S>;
  /** The number of turns that stay whole when the budget forces a cut. 10 if not given. */
  readonly window?: number;
  /** Results that may be masked when a budget or a threshold forces a cut. By default all that are outside the window. */
  outside?(request: RequestView): readonly number[];
  /** Results that may be masked, oldest first, if that is not enough for the budget. By default all except those of the newest turn. */
  inside?(request: RequestView): readonly number[];
  /** Whether only a budget masks, and thresholds do not. */
  readonly ignoresThresholds?: boolean;
  /** How its placeholders are written if no handle is shown. The house's way if not given. */
  readonly style?: PlaceholderStyle;
  /** A budget of its own, above which the engine reduces the history. */
  readonly limit?: Budget;
  /** Whether its steps ask for summaries, which leave out whole turns. */
  readonly leavesOut?: boolean;
  /** Writes the requested summaries; the built-in rules do if not given. */
  readonly summarize?: SummaryWriter<unknown>;
  /** Recognises calls, if it uses the kinds of tools. */
  readonly toolUse?: (tool: string | undefined, args: string) => ToolUse;
  /** The cache life that it assumes. */
  readonly cacheLifeMs?: number;
  /** The prices it decides by. Its state must not depend on them: the same policy at other prices continues with it. */
  readonly prices?: Prices;
  /** Results are cut to this size when they arrive. */
  readonly maxResultTokens?: number;
  /** The part of a cut result that stays. Head and tail if not given. */
  readonly truncation?: Truncation;
  /** How results are made smaller when they are first sent, if the caller does not say. */
  readonly arrival?: ArrivalOptions;
  /** Whether requests that mask also shorten the old texts of edits after the first mask. */
  readonly oldTexts?: boolean;
}

/** Which part of a result stays when it is cut. */
export type Truncation = 'head' | 'tail' | 'both';

/** Options that every maker takes. */
export interface CommonOptions {
  /**
   * Results of this size or less stay. @default 80, or 0 for the policies of others (`graduated`,
   * `firstAndLast`, `oldestBatch`)
   */
  readonly minTokens?: number;
  /** Results of these tools stay. @default none */
  readonly keepTools?: readonly string[];
  /** Only results of these tools are masked. @default all tools */
  readonly onlyTools?: readonly string[];
  /** Results with one of these tags stay, however old. @default none */
  readonly keepTags?: readonly string[];
  /** Results with one of these tags are masked at once, whatever the other options say. @default none */
  readonly removeTags?: readonly string[];
  /** Results of failed calls stay. @default false */
  readonly keepErrors?: boolean;
  /** Results for which it returns true stay. @default none */
  readonly pinned?: (observation: Observation) => boolean;
  /**
   * Results leave the window sooner if their kind is quoted less: reads after the whole window, searches after ⅔ of it, shell output ⅓,
   * edit results ⅕, a read that a newer one covers at once. Or shares of your own.
   * @default true for `breakEven`, else false
   */
  readonly windowByKind?: boolean | KindShares;
  /**
   * A larger result is cut to this size before it is first sent, head and tail, when that costs no cache.
   * @default no limit
   */
  readonly maxResultTokens?: number;
  /** Results are cleaned when they are first sent. @default true for `breakEven`, else false */
  readonly clean?: boolean;
  /**
   * Lines that the model can still see are replaced by a reference when a result is first sent. @default true for
   * `breakEven`, else false
   */
  readonly references?: boolean;
  /**
   * Longer shell output is cut when it is first sent, to its ends and the lines about failures. @default false
   */
  readonly shellOutput?: boolean | number;
  /**
   * A request that masks also shortens the texts that edits replaced (`old_string` and the like), if they come after the first
   * mask. Off unless given: models may imitate shortened calls.
   * @default false
   */
  readonly oldTexts?: boolean;
  /** The kinds of tools whose names do not show it. @default none */
  readonly toolKinds?: Readonly<Record<string, ToolKind>>;
  /** The words in place of a masked result: a text, or a function of the result. @default tool, subject and size */
  readonly placeholder?: Placeholder;
}

/** A function, so that a bundle without policy makers has none of it. */
const commonRules = () => ({
  minTokens: count,
  keepTools: names,
  onlyTools: names,
  keepTags: names,
  removeTags: names,
  keepErrors: flag,
  pinned: func,
  maxResultTokens: positive,
  clean: arrivalRules.clean,
  references: arrivalRules.references,
  shellOutput: arrivalRules.shellOutput,
  oldTexts: flag,
  windowByKind: rule('true, false or a share of the window for some kinds', isShares),
  toolKinds: rule(`an object with ${KINDS.join(', ')} for each tool`, areKinds),
  placeholder: anything,
});

function isShares(value: unknown): boolean {
  if (typeof value === 'boolean') return true;
  if (!isRecord(value)) return false;
  const isShare = ([kind, share]: [string, unknown]): boolean =>
    (KINDS as readonly string[]).includes(kind) && typeof share === 'number' && share >= 0 && Number.isFinite(share);
  return Object.entries(value).every(isShare);
}

function areKinds(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every((kind) => (KINDS as readonly unknown[]).includes(kind));
}

/** Whether a policy's options and the laws allow masking a result. */
export type Eligible = (observation: Observation, request: RequestView) => boolean;

interface Body<S> {
  init(): S;
  step(state: S, request: RequestView, eligible: Eligible): Step<S>;
  /** The first of the newest results that stay when a budget forces a cut. Those inside the window if not given. */
  keptFrom?(request: RequestView): number;
}

interface Make<S> extends Body<S>, Pick<Policy, 'window' | 'style' | 'limit' | 'leavesOut' | 'prices'> {
  readonly name: string;
  readonly options: CommonOptions;
  readonly rules: Parameters<typeof checkOptions>[2];
  readonly minTokens?: number;
  readonly summarize?: SummaryWriter<unknown> | undefined;
  /** False if name and options do not determine the policy. */
  readonly isNamed?: boolean;
  /** Whether its rule is a window in turns, which handles kinds itself. */
  readonly isWindow?: boolean;
  /** The default of the option `windowByKind`. */
  readonly windowByKind?: boolean;
  /** The default of how results are made smaller when they are first sent. */
  readonly arrival?: ArrivalOptions;
}

type Fold<S> = Pick<Policy<S>, 'init' | 'step'>;

interface Tagged<S> {
  readonly own: S;
  readonly seen: number;
}

/** Makes a policy from its own rule and the options that all share. */
export function createPolicy<S>(make: Make<S>): Policy {
  checkOptions(make.name, make.options, { ...commonRules(), ...make.rules });
  // Copied, because the caller may change the options later.
  const options = copyOf(make.options);
  const window = make.window ?? DEFAULT_WINDOW;
  const byKind = options.windowByKind ?? make.windowByKind ?? false;
  const ages = agesOf(window, byKind);
  const isWaiting = (byKind !== false || options.references === true) && !make.isWindow;
  const eligible = eligibleResults({ minTokens: make.minTokens ?? 80, ...options }, isWaiting ? ages : undefined);
  const underPressure = eligibleResults({ ...options, minTokens: 0 });
  const expired = eligibleResults({ ...options, minTokens: 0 }, ages);
  const own: Fold<S> = {
    init: () => make.init(),
    // If results leave their windows at different times, results that were skipped once are checked again.
    step: (state, request) => make.step(isWaiting ? make.init() : state, request, eligible),
  };
  const policy: Policy = {
    name: make.name,
    window,
    style: styleOf(make.name, options.placeholder) ?? make.style ?? houseStyle,
    ...(make.limit ? { limit: make.limit } : {}),
    ...(make.leavesOut ? { leavesOut: true } : {}),
    ...(make.summarize ? { summarize: make.summarize } : {}),
    ...(make.prices === undefined ? {} : { prices: make.prices, cacheLifeMs: make.prices.lifeMs }),
    arrival: { ...make.arrival, ...arrivalOf(options) },
    ...(options.maxResultTokens === undefined ? {} : { maxResultTokens: options.maxResultTokens }),
    ...(options.oldTexts ? { oldTexts: true } : {}),
    ...(byKind === false ? {} : { toolUse: toolUseOf(options.toolKinds) }),
    ...(options.removeTags ? withTags(own, options.removeTags) : own),
    outside: (request) =>
      make.keptFrom
        ? eligibleIn(request.frontier, make.keptFrom(request), request, underPressure)
        : allEligible(request, expired),
    inside: (request) => allEligible(request, underPressure),
  };
  return make.isNamed === false
    ? policy
    : withSpec(policy, { name: make.name, options: options as PolicySpec['options'] });
}

const arrivalOf = ({ clean, references, shellOutput }: CommonOptions): ArrivalOptions =>
  defined({ clean, references, shellOutput });

/** Also masks results with one of these tags, whatever the policy decides. */
function withTags<S>({ init, step }: Fold<S>, tags: readonly string[]): Fold<Tagged<S>> {
  return {
    init: () => ({ own: init(), seen: 0 }),
    step({ own, seen }, request) {
      const { state, mask, ...rest } = step(own, request);
      const tagged = taggedSince(seen, request, tags);
      return { ...rest, mask: [...mask, ...tagged], state: { own: state, seen: request.observations.length } };
    },
  };
}

/** Copies lists and tables. Functions are shared. */
function copyOf(options: CommonOptions): CommonOptions {
  const copy = (value: unknown): unknown => {
    if (Array.isArray(value)) return [...value];
    return isRecord(value) ? { ...value } : value;
  };
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [name, copy(value)]));
}

function toolUseOf(kinds: CommonOptions['toolKinds']): (tool: string | undefined, args: string) => ToolUse {
  if (!kinds) return readToolUse;
  return (tool, args) => {
    const kind = tool !== undefined && Object.hasOwn(kinds, tool) ? kinds[tool] : undefined;
    const use = readToolUse(tool, args);
    return kind === undefined || kind === use.kind ? use : { kind };
  };
}

/** A name and its options, as they are written on a command line: data from which the same policy can be made again. */
export interface PolicySpec {
  readonly name: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** Not a field of the policy, so that a policy made by spreading another one has none. */
const specs = new WeakMap<object, { readonly spec: PolicySpec; readonly key: string }>();

/** A policy whose options are plain data can be recorded. One with functions cannot. */
export function withSpec(policy: Policy, spec: PolicySpec): Policy {
  const hasFunction = Object.values(spec.options).some((value) => typeof value === 'function');
  if (!hasFunction) specs.set(policy, { spec, key: JSON.stringify(spec) });
  return policy;
}

/** The name and options that a policy was made with; undefined if they do not determine it. */
export const specOf = (policy: Policy): PolicySpec | undefined => specs.get(policy)?.spec;

/** Whether two policies always decide the same: the same object, or the same maker with the same options. */
export function isSamePolicy(a: Policy | undefined, b: Policy | undefined): boolean {
  if (a === b || !a || !b) return a === b;
  const key = specs.get(a)?.key;
  return key !== undefined && key === specs.get(b)?.key;
}

function styleOf(name: string, placeholder: Placeholder | undefined): PlaceholderStyle | undefined {
  if (placeholder === undefined) return undefined;
  const isText =
    typeof placeholder === 'string' && placeholder.trim() !== '' && placeholder.length <= MAX_PLACEHOLDER - 50;
  if (isText || typeof placeholder === 'function') return customStyle(placeholder);
  throw badOption(`${name} option placeholder`, 'a function or a text of 1 to 250 characters', placeholder);
}

/** With `ages`, only results that have left the window of their kind. */
function eligibleResults(options: CommonOptions, ages?: Ages): Eligible {
  const { minTokens = 0, keepErrors = false, pinned } = options;
  const [keepTools, onlyTools] = [setOf(options.keepTools), setOf(options.onlyTools)];
  const [keepTags, removeTags] = [setOf(options.keepTags), setOf(options.removeTags)];
  return (observation, request) => {
    if (observation.masked || observation.tokens <= minTokens) return false;
    // `withTags` masks these.
    if (removeTags && observation.tags.some((tag) => removeTags.has(tag))) return false;
    if (keepErrors && observation.isError) return false;
    if (keepTools?.has(observation.tool ?? '') || (onlyTools && !onlyTools.has(observation.tool ?? ''))) return false;
    if (keepTags && observation.tags.some((tag) => keepTags.has(tag))) return false;
    if (ages && !hasLeftWindow(observation, request, ages)) return false;
    return !pinned?.(observation) && request.maskable(observation);
  };
}

const setOf = (list: readonly string[] | undefined): Set<string> | undefined => (list ? new Set(list) : undefined);

function taggedSince(seen: number, request: RequestView, tags: readonly string[]): number[] {
  const fresh = request.observations.slice(seen);
  return fresh.filter((o) => o.tags.some((tag) => tags.includes(tag))).map((o) => o.segment);
}

const allEligible = (request: RequestView, eligible: Eligible): number[] =>
  eligibleIn(request.frontier, request.observations.length, request, eligible);

/** The results from one index up to another that may be masked. */
export function eligibleIn(from: number, end: number, request: RequestView, eligible: Eligible): number[] {
  const mask: number[] = [];
  for (let i = from; i < end; i++) {
    const observation = request.observations[i] as Observation;
    if (eligible(observation, request)) mask.push(observation.segment);
  }
  return mask;
}

interface Window<S> extends Body<S> {
  readonly isWindow: true;
}

/** The rule of all windows: masks results that have left the window, and looks at each result once. */
export function windowOf(
  window: number,
  { windowByKind = false, references }: CommonOptions,
  turnOf: (request: RequestView) => number = (request) => request.turns,
): Window<unknown> {
  const isPlain = windowByKind === false && !references;
  return isPlain ? plainWindowOf(window, turnOf) : kindWindowOf(agesOf(window, windowByKind), turnOf);
}

function plainWindowOf(window: number, turnOf: (request: RequestView) => number): Window<number> {
  return {
    isWindow: true,
    init: () => 0,
    step(state, request, eligible) {
      const { observations, frontier } = request;
      const last = turnOf(request) - window;
      let next = Math.max(state, frontier);
      let mask = NO_MASK;
      for (; next < observations.length; next++) {
        const observation = observations[next] as Observation;
        if (observation.turn > last) break;
        if (!eligible(observation, request)) continue;
        if (mask === NO_MASK) mask = [observation.segment];
        else mask.push(observation.segment);
      }
      return { state: next, mask, because: mask === NO_MASK ? NOTHING_LEFT : LEFT };
    },
  };
}

/** Most requests mask nothing: they share this frozen list. */
const NO_MASK: number[] = [];
Object.freeze(NO_MASK);

function kindWindowOf(ages: Ages, turnOf: (request: RequestView) => number): Window<WindowCursor> {
  return {
    isWindow: true,
    init: startCursor,
    step(state, request, eligible) {
      const { cursor, fresh } = newlyOutside(state, request, ages, turnOf(request));
      const mask = fresh.filter((observation) => eligible(observation, request)).map(({ segment }) => segment);
      return { state: cursor, mask, because: mask.length > 0 ? LEFT : NOTHING_LEFT };
    },
  };
}

const LEFT: Reason = { act: 'mask', because: 'results left the window' };
const NOTHING_LEFT: Reason = { act: 'wait', because: 'no result left the window' };

/**
 * A policy without memory: it chooses among the results of a request, and its choices stay. The common options of all policies may
 * follow; results that they protect are not masked.
 *
 * @example
 * ```ts
 * import { fit, stateless } from 'palimpsest';
 *
 * // Masks every result that is longer than 2,000 tokens and older than five turns.
 * const policy = stateless(({ observations, turns }) =>
 *   observations.filter(({ tokens, turn }) => tokens > 2000 && turns - turn >= 5),
 * );
 * const { messages } = fit(history, { policy });
 * ```
 */
export function stateless(
  choose: (request: RequestView) => readonly Observation[],
  options: CommonOptions = {},
): Policy {
  if (typeof choose !== 'function') throw badOption('stateless argument choose', 'a function', choose);
  return createPolicy<undefined>({
    name: 'stateless',
    // Two functions may choose differently under the same options.
    isNamed: false,
    options,
    rules: {},
    minTokens: 0,
    init: () => undefined,
    step(state, request, eligible) {
      const chosen = chosenFrom(choose(request)).filter((observation) => eligible(observation, request));
      const mask = chosen.map((observation) => observation.segment);
      return { state, mask, because: mask.length > 0 ? CHOSEN : NOT_CHOSEN };
    },
  });
}

function chosenFrom(chosen: unknown): readonly Observation[] {
  if (Array.isArray(chosen) && chosen.every((result) => typeof result?.segment === 'number')) return chosen;
  throw badOption('what a stateless policy chooses', 'a list of results of its request', chosen);
}

const CHOSEN: Reason = { act: 'mask', because: 'the policy chose results' };
const NOT_CHOSEN: Reason = { act: 'wait', because: 'the policy chose nothing' };

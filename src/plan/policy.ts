import { MAX_PLACEHOLDER } from '../laws/idempotent.ts';
import { anything, badOption, checkOptions, count, defined, flag, func, names, positive, rule } from '../options.ts';
import { type ArrivalOptions, arrivalRules } from './arrival/options.ts';
import { customStyle, houseStyle, type Placeholder, type PlaceholderStyle } from './placeholder.ts';
import type { Prices } from './prices.ts';
import { type Ages, agesOf, isRipe, type KindShares, noRipe, type Ripe, ripen } from './ripening.ts';
import type { Budget } from './stages/stage.ts';
import type { SummaryWriter } from './summary.ts';
import { KINDS, readToolUse, type ToolKind, type ToolUse } from './tool-kind.ts';

/** A tool result as the next request would carry it. */
export interface Observation {
  /** Index into the view of the history. */
  readonly segment: number;
  /** The turn it belongs to, counted in the history as it goes out. */
  readonly turn: number;
  /** The name of the tool, where the history tells it. */
  readonly tool: string | undefined;
  /** The call that it answers. */
  readonly callId: string | undefined;
  /** The text as it goes out. */
  readonly text: string;
  /** The size of the text. */
  readonly tokens: number;
  /** Its call failed. */
  readonly isError: boolean;
  /** The caller's own marks on the message. */
  readonly tags: readonly string[];
  /** Its text is a placeholder already. */
  readonly masked: boolean;
  /** What its tool does; 'other' unless the policy asks for kinds. */
  readonly kind: ToolKind;
  /** A newer read that shows all that this one shows, where the policy asks for kinds. */
  readonly coveredBy: Observation | undefined;
  /** The older reads that this one is the first to cover. */
  readonly covers: readonly Observation[];
  /** The results that refer to it or that it refers to, directly or through others. Undefined where there are none. */
  readonly group: ObservationGroup | undefined;
}

/** Results that refer to each other. All of them stay until the last of them may go. */
export interface ObservationGroup {
  readonly members: Iterable<Observation>;
  /** The newest of each kind. */
  readonly newest: Iterable<Observation>;
}

/** What a policy sees of one request: everything as masked so far. */
export interface RequestView {
  /** How many turns go out. */
  readonly turns: number;
  /** The size of the whole request, system prompt and tools included. */
  readonly tokens: number;
  /** The results that go out, oldest first. */
  readonly observations: readonly Observation[];
  /** The first of them that could be masked and is not; all before it are settled. */
  readonly frontier: number;
  /** How many older messages were left out before. */
  readonly omitted: number;
  /** Grows when visible results become smaller, or may no longer be masked: sums over them must be recomputed. */
  readonly revision: number;
  /** Whether the laws allow to mask this result, and its placeholder is smaller. */
  readonly maskable: (observation: Observation) => boolean;
  /** What a mask of this result saves; 0 if there can be none. */
  gain(observation: Observation): number;
  /** The size of all texts that go out, system prompt and tools included: framing and ids apart. */
  readonly text: number;
  /** The same of one turn; turn 0 is what comes before the first reply. */
  textOf(turn: number): number;
  /** The same of all requests before this one together, with each text as it is sent now. */
  readonly carried: number;
  /** The same of everything before a result. */
  textBefore(observation: Observation): number;
  /** Whether the provider's cache is known to have died before this request. */
  readonly isCold: boolean;
  /** Whether a result that is new in this request refers to an older one. */
  readonly hasNewReferences: boolean;
}

/** An epoch that nothing in the history explains: the request it was taken on. Kept by the caller, and given again. */
export interface EpochRecord {
  /** How many turns the request had. */
  readonly turns: number;
  /** How many messages the request had. */
  readonly messages: number;
  /** Where it was forced: what may go of the results before this segment. Without it, the cache was cold. */
  readonly before?: number;
  /** Results inside the window went too, but for the newest turn's. */
  readonly inside?: true;
}

/** Why a policy did what it did. */
export interface Reason {
  /** The decision. */
  readonly act: 'mask' | 'wait' | 'off' | 'cold-cache';
  /** One line for people. */
  readonly because: string;
  readonly [detail: string]: unknown;
}

/** What a policy answers for one request. */
export interface Step<S> {
  /** Handed to the next step. */
  readonly state: S;
  /** Segments to mask from now on. A policy can only add. */
  readonly mask: readonly number[];
  /** How many of the oldest turns to replace by a summary. */
  readonly summarize?: number;
  /** Shown in reports. */
  readonly because: Reason;
}

/** How many of the last turns a policy keeps whole that names no window. */
export const DEFAULT_WINDOW = 10;

/** Decides what to mask, as a fold over the requests of a conversation: no clock, no memory beside the state. */
export interface Policy<S = unknown> {
  /** Shown in reports. */
  readonly name?: string;
  /** The state before the first request. */
  init(): S;
  /** Called once for each request: before each reply, and for the one about to be sent. */
  step(state: S, request: RequestView): Step<S>;
  /** How many turns stay whole when the budget forces a cut. 10 if not given. */
  readonly window?: number;
  /** Results that may go when a budget or a threshold forces a cut. By default all that are outside the window. */
  outside?(request: RequestView): readonly number[];
  /** Results that may go, oldest first, where that is not enough for the budget. By default all but the newest turn's. */
  inside?(request: RequestView): readonly number[];
  /** Thresholds mask nothing: only a budget does. */
  readonly ignoresThresholds?: boolean;
  /** How its placeholders are written where no handle is shown. The house's way if not given. */
  readonly style?: PlaceholderStyle;
  /** A budget of its own, above which the engine reduces the history. */
  readonly limit?: Budget;
  /** Its steps ask for summaries, which leave whole turns out. */
  readonly leavesOut?: boolean;
  /** Writes the summaries that it asks for; the rules do if not given. */
  readonly summarize?: SummaryWriter<unknown>;
  /** Recognises calls, if it asks for the kinds of tools. */
  readonly toolUse?: (tool: string | undefined, args: string) => ToolUse;
  /** How long the cache lives that it reckons with. */
  readonly cacheLifeMs?: number;
  /** The prices it decides by. Its state must not depend on them: the same policy at other prices goes on with it. */
  readonly prices?: Prices;
  /** Results are cut to this size when they arrive. */
  readonly maxResultTokens?: number;
  /** Which part of them stays then. Head and tail if not given. */
  readonly truncation?: Truncation;
  /** How results are made smaller when they first go out, where the caller does not say. */
  readonly arrival?: ArrivalOptions;
  /** Requests that mask also shorten the old texts of edits behind the first mask. */
  readonly oldTexts?: boolean;
}

/** Which part of a result stays when it is cut. */
export type Truncation = 'head' | 'tail' | 'both';

/** Options that every maker takes. */
export interface CommonOptions {
  /**
   * Results of that size or less are left alone. @default 80, or 0 for the policies of others (`graduated`,
   * `firstAndLast`, `oldestBatch`)
   */
  readonly minTokens?: number;
  /** Results of these tools stay. @default none */
  readonly keepTools?: readonly string[];
  /** Only results of these tools are masked. @default all tools */
  readonly onlyTools?: readonly string[];
  /** Results with one of these tags stay, however old. @default none */
  readonly keepTags?: readonly string[];
  /** Results with one of these tags go at once, whatever else holds. @default none */
  readonly removeTags?: readonly string[];
  /** Results of failed calls stay. @default false */
  readonly keepErrors?: boolean;
  /** Results for which it answers true stay. @default none */
  readonly pinned?: (observation: Observation) => boolean;
  /**
   * Results leave the window the sooner the quicker their kind goes cold: reads after the whole window, searches after
   * ⅔ of it, shell output ⅓, edit results ⅕, a read that a newer one covers at once. Or shares of your own.
   * @default true for `breakEven`, else false
   */
  readonly windowByKind?: boolean | KindShares;
  /**
   * A larger result is cut to this size when it arrives, head and tail: before it is cached, that costs nothing.
   * @default no limit
   */
  readonly maxResultTokens?: number;
  /** Results are cleaned when they first go out. @default true for `breakEven`, else false */
  readonly clean?: boolean;
  /**
   * Lines that the model can still see are replaced by a reference when a result first goes out. @default true for
   * `breakEven`, else false
   */
  readonly references?: boolean;
  /**
   * A longer output of a shell is cut when it first goes out, to its ends and the lines about failures. @default false
   */
  readonly shellOutput?: boolean | number;
  /**
   * A request that masks also shortens the texts that edits replaced (`old_string` and the like), where they come behind the first
   * mask. Off unless given: models may imitate shortened calls.
   * @default false
   */
  readonly oldTexts?: boolean;
  /** Tools whose kind their name does not tell. @default none */
  readonly toolKinds?: Readonly<Record<string, ToolKind>>;
  /** The words in place of a masked result: a text, or a function of the result. @default tool, subject and size */
  readonly placeholder?: Placeholder;
}

const COMMON_RULES = {
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
};

function isShares(value: unknown): boolean {
  if (typeof value === 'boolean') return true;
  if (typeof value !== 'object' || value === null) return false;
  const isShare = ([kind, share]: [string, unknown]): boolean =>
    (KINDS as readonly string[]).includes(kind) && typeof share === 'number' && share >= 0 && Number.isFinite(share);
  return Object.entries(value).every(isShare);
}

function areKinds(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.values(value).every((kind) => KINDS.includes(kind));
}

/** Whether a policy's options and the laws let a result go. */
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
  /** False where name and options do not tell what it does. */
  readonly isNamed?: boolean;
  /** Its rule is a window in turns, which knows the kinds itself. */
  readonly isWindow?: boolean;
  /** Kinds make a difference unless the caller says otherwise. */
  readonly windowByKind?: boolean;
  /** How results are made smaller when they arrive, unless the caller says otherwise. */
  readonly arrival?: ArrivalOptions;
}

type Fold<S> = Pick<Policy<S>, 'init' | 'step'>;

interface Tagged<S> {
  readonly own: S;
  readonly seen: number;
}

/** Makes a policy from its own rule and the options that all share. */
export function createPolicy<S>(make: Make<S>): Policy {
  checkOptions(make.name, make.options, { ...COMMON_RULES, ...make.rules });
  // The caller may change his own; a policy that was made stays what it is.
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
    // Where results ripen at different times, what was passed over once is looked at again.
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

/** Masks what has one of these tags as well, whatever the policy decides. */
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

/** Lists and tables are copied, functions are what they are. */
function copyOf(options: CommonOptions): CommonOptions {
  const copy = (value: unknown): unknown => {
    if (Array.isArray(value)) return [...value];
    return typeof value === 'object' && value !== null ? { ...value } : value;
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

/** Kept apart, so that a policy made by spreading another one has none. */
const specs = new WeakMap<object, { readonly spec: PolicySpec; readonly key: string }>();

/** Options that are data tell what a policy does; functions do not. */
export function withSpec(policy: Policy, spec: PolicySpec): Policy {
  const hasFunction = Object.values(spec.options).some((value) => typeof value === 'function');
  if (!hasFunction) specs.set(policy, { spec, key: JSON.stringify(spec) });
  return policy;
}

/** The name and options that a policy was made with; undefined where they do not tell what it does. */
export const specOf = (policy: Policy): PolicySpec | undefined => specs.get(policy)?.spec;

/** Whether two policies decide alike: the same one, or made by the same maker with the same options. */
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

/** With `ages`, only what has left the window of its kind. */
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
    if (ages && !isRipe(observation, request, ages)) return false;
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

/** The rule of all windows: mask what has left it, looking at each result once. */
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

function kindWindowOf(ages: Ages, turnOf: (request: RequestView) => number): Window<Ripe> {
  return {
    isWindow: true,
    init: noRipe,
    step(state, request, eligible) {
      const { ripe, fresh } = ripen(state, request, ages, turnOf(request));
      const mask = fresh.filter((observation) => eligible(observation, request)).map(({ segment }) => segment);
      return { state: ripe, mask, because: mask.length > 0 ? LEFT : NOTHING_LEFT };
    },
  };
}

const LEFT: Reason = { act: 'mask', because: 'results left the window' };
const NOTHING_LEFT: Reason = { act: 'wait', because: 'no result left the window' };

/**
 * A policy without memory: it chooses among the results of a request, and what it chose stays chosen.
 * The options that every maker takes may follow; results that they protect are not masked.
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

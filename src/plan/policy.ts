import { MAX_PLACEHOLDER } from '../laws/idempotent.ts';
import { anything, badOption, checkOptions, count, flag, func, names } from '../options.ts';
import { customStyle, houseStyle, type Placeholder, type PlaceholderStyle } from './placeholder.ts';

/** A tool result as the next request would carry it. */
export interface Observation {
  /** Index into the view of the history. */
  readonly segment: number;
  /** The turn it belongs to, counted in the history as it goes out. */
  readonly turn: number;
  readonly tool: string | undefined;
  readonly callId: string | undefined;
  readonly text: string;
  readonly tokens: number;
  readonly isError: boolean;
  readonly tags: readonly string[];
  /** Its text is a placeholder already. */
  readonly masked: boolean;
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
  /** Grows when visible results become smaller, or may no longer be masked: sums over them must be made anew. */
  readonly revision: number;
  /** Whether the laws allow to mask this result, and its placeholder is smaller. */
  readonly maskable: (observation: Observation) => boolean;
}

/** Why a policy did what it did. */
export interface Reason {
  readonly act: 'mask' | 'wait' | 'off';
  readonly because: string;
  readonly [detail: string]: unknown;
}

/** What a policy answers for one request. */
export interface Step<S> {
  readonly state: S;
  /** Segments to mask from now on. A policy can only add. */
  readonly mask: readonly number[];
  /** How many of the oldest turns to replace by a summary. */
  readonly summarize?: number;
  readonly because: Reason;
}

/** A budget of a policy's own, above which the engine masks, summarises and truncates. */
export interface Limit {
  readonly max: number;
  readonly measure: 'tokens' | 'chars';
  readonly window: number;
  readonly mask: boolean;
  readonly summaryMaxChars: number;
  readonly summarize?: Summarize;
}

/** A caller's own summary of what is left out, continuing an earlier one. */
export type Summarize = (messages: readonly unknown[], earlier: string | undefined) => string;

/** Decides what to mask, as a fold over the requests of a conversation: no clock, no memory beside the state. */
export interface Policy<S = unknown> {
  readonly name?: string;
  init(): S;
  /** Called once for each request: before each reply, and for the one about to be sent. */
  step(state: S, request: RequestView): Step<S>;
  /** How many turns stay whole when the budget forces a cut. 10 if not given. */
  readonly window?: number;
  /** What may go when the budget forces a cut. By default all that is outside the window. */
  outside?(request: RequestView): readonly number[];
  /** How its placeholders are written where no handle is shown. The house's way if not given. */
  readonly style?: PlaceholderStyle;
  readonly limit?: Limit;
}

/** Options that every maker takes. */
export interface CommonOptions {
  /** Results of that size or less are left alone. */
  readonly minTokens?: number;
  readonly keepTools?: readonly string[];
  readonly onlyTools?: readonly string[];
  /** Results with one of these tags stay, however old. */
  readonly keepTags?: readonly string[];
  /** Results with one of these tags go at once, whatever else holds. */
  readonly removeTags?: readonly string[];
  readonly keepErrors?: boolean;
  readonly pinned?: (observation: Observation) => boolean;
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
  placeholder: anything,
};

/** Whether a policy's options and the laws let a result go. */
export type Eligible = (observation: Observation, request: RequestView) => boolean;

interface Body<S> {
  init(): S;
  step(state: S, request: RequestView, eligible: Eligible): Step<S>;
  outside?(request: RequestView, eligible: Eligible): readonly number[];
}

interface Make<S> extends Body<S> {
  readonly name: string;
  readonly options: CommonOptions;
  readonly rules: Parameters<typeof checkOptions>[2];
  readonly minTokens?: number;
  readonly window?: number;
  readonly style?: PlaceholderStyle;
  readonly limit?: Limit;
  /** False where name and options do not tell what it does. */
  readonly isNamed?: boolean;
}

/** Makes a policy from its own rule and the options that all share. */
export function createPolicy<S>(make: Make<S>): Policy<{ readonly own: S; readonly seen: number }> {
  const { options } = make;
  checkOptions(make.name, options, { ...COMMON_RULES, ...make.rules });
  const eligible = eligibleResults({ minTokens: make.minTokens ?? 80, ...options });
  const pressed = eligibleResults({ ...options, minTokens: 0 });
  const window = make.window ?? 10;
  const policy: Policy<{ readonly own: S; readonly seen: number }> = {
    name: make.name,
    window,
    style: styleOf(make.name, options.placeholder) ?? make.style ?? houseStyle,
    ...(make.limit ? { limit: make.limit } : {}),
    init: () => ({ own: make.init(), seen: 0 }),
    step({ own, seen }, request) {
      const step = make.step(own, request, eligible);
      const tagged = options.removeTags ? taggedSince(seen, request, options.removeTags) : [];
      const mask = tagged.length > 0 ? [...step.mask, ...tagged] : step.mask;
      const state = { own: step.state, seen: request.observations.length };
      const { because, summarize } = step;
      return summarize === undefined ? { state, mask, because } : { state, mask, because, summarize };
    },
    outside: (request) => make.outside?.(request, pressed) ?? olderThan(request, window, pressed),
  };
  const key = make.isNamed === false ? undefined : keyOf(make.name, options);
  if (key !== undefined) keys.set(policy, key);
  return policy;
}

/** Kept apart, so that a policy made by spreading another one has none. */
const keys = new WeakMap<object, string>();

/** Whether two policies decide alike: the same one, or made by the same maker with the same options. */
export function isSamePolicy(a: Policy | undefined, b: Policy | undefined): boolean {
  if (a === b || !a || !b) return a === b;
  const key = keys.get(a);
  return key !== undefined && key === keys.get(b);
}

/** Options that are data tell what a policy does; functions do not. */
function keyOf(name: string, options: CommonOptions): string | undefined {
  const hasFunction = Object.values(options).some((value) => typeof value === 'function');
  return hasFunction ? undefined : `${name} ${JSON.stringify(options)}`;
}

function styleOf(name: string, placeholder: Placeholder | undefined): PlaceholderStyle | undefined {
  if (placeholder === undefined) return undefined;
  const isText =
    typeof placeholder === 'string' && placeholder.trim() !== '' && placeholder.length <= MAX_PLACEHOLDER - 50;
  if (isText || typeof placeholder === 'function') return customStyle(placeholder);
  throw badOption(`${name} option placeholder`, 'a function or a text of 1 to 250 characters', placeholder);
}

function eligibleResults(options: CommonOptions): Eligible {
  const { minTokens = 0, keepErrors = false, pinned } = options;
  const [keepTools, onlyTools, keepTags] = [
    setOf(options.keepTools),
    setOf(options.onlyTools),
    setOf(options.keepTags),
  ];
  return (observation, request) => {
    if (observation.masked || observation.tokens <= minTokens) return false;
    if (keepErrors && observation.isError) return false;
    if (keepTools?.has(observation.tool ?? '') || (onlyTools && !onlyTools.has(observation.tool ?? ''))) return false;
    if (keepTags && observation.tags.some((tag) => keepTags.has(tag))) return false;
    return !pinned?.(observation) && request.maskable(observation);
  };
}

const setOf = (list: readonly string[] | undefined): Set<string> | undefined => (list ? new Set(list) : undefined);

function taggedSince(seen: number, request: RequestView, tags: readonly string[]): number[] {
  const fresh = request.observations.slice(seen);
  return fresh.filter((o) => o.tags.some((tag) => tags.includes(tag))).map((o) => o.segment);
}

function olderThan(request: RequestView, age: number, eligible: Eligible): number[] {
  const mask: number[] = [];
  for (let i = request.frontier; i < request.observations.length; i++) {
    const observation = request.observations[i] as Observation;
    if (request.turns - observation.turn < age) break;
    if (eligible(observation, request)) mask.push(observation.segment);
  }
  return mask;
}

/** What could go of the results before an index. */
export function eligibleBefore(end: number, request: RequestView, eligible: Eligible): number[] {
  const mask: number[] = [];
  for (let i = request.frontier; i < end; i++) {
    const observation = request.observations[i] as Observation;
    if (eligible(observation, request)) mask.push(observation.segment);
  }
  return mask;
}

/** The rule of all windows: mask what is at least `age` turns old, looking at each result once. */
export function windowOf(age: (request: RequestView) => number): Body<number> {
  return {
    init: () => 0,
    step(next, request, eligible) {
      const { observations, turns } = request;
      const least = age(request);
      const mask: number[] = [];
      let state = Math.max(next, request.frontier);
      for (; state < observations.length; state++) {
        const observation = observations[state] as Observation;
        if (turns - observation.turn < least) break;
        if (eligible(observation, request)) mask.push(observation.segment);
      }
      return { state, mask, because: mask.length > 0 ? LEFT : NOTHING_LEFT };
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

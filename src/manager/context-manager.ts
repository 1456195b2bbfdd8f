import { defaultContextWindow, UNKNOWN_MODEL_WINDOW } from '../budget.ts';
import { PalimpsestError } from '../errors.ts';
import type { AnyFormat, ChatMessage, Format, FormatName } from '../message.ts';
import { anything, badOption, checkOptions, count, flag, func, given, positive, rule, text } from '../options.ts';
import { createPlanner, type FitOptions, formatRule, resolveFormat, windowsRule } from '../plan/fit.ts';
import type { Hidden } from '../plan/ledger.ts';
import { never } from '../plan/policies/never.ts';
import { oldestBatch } from '../plan/policies/oldest-batch.ts';
import type { Policy } from '../plan/policy.ts';
import { handleOf } from '../store/handle.ts';
import { countTokens } from '../tokens/count-tokens.ts';
import type { Counter } from '../tokens/counter.ts';
import { Calibration } from './calibration.ts';
import { extractCarryover } from './carryover.ts';
import { type EpochGoal, type ForcedEpoch, forceEpoch, onlyForced, previewEpoch } from './force-epoch.ts';
import { compressedNotice, restartNotice, windDownNotice } from './notices.ts';
import { rememberingCounter } from './remembering-counter.ts';
import { readUsage } from './usage.ts';

/** Whose context is managed: a session, or anything that knows its messages. */
export interface ContextSource<M> {
  readonly format: Format<M>;
  /** The conversation with its results whole. */
  messages(): readonly M[];
  /** What would be sent now. */
  view(): readonly M[];
  /** Forces an epoch that later views show. Without it, `maskOldest` only answers what the messages would be. */
  force?(goal: EpochGoal): ForcedEpoch<M>;
}

/** Options of `ContextManager`. */
export interface ContextManagerOptions<M> {
  /** The window in tokens. That of the model if not given, 128,000 where no model is known. */
  readonly contextLimit?: number;
  /** From this share of the window on, results are masked. */
  readonly softThreshold?: number;
  /** From this share on, the session winds down, and then restarts. */
  readonly hardThreshold?: number;
  /** How many of the last turns a restart carries over. */
  readonly carryoverTurns?: number;
  /** And how many tokens at most: half of what the soft threshold allows if not given. */
  readonly carryoverTokens?: number;
  /** How many results are masked at a time, at least. */
  readonly maskBatch?: number;
  readonly maxRestarts?: number;
  readonly model?: string;
  readonly contextWindows?: Readonly<Record<string, number>>;
  /** The format of the messages. Detected if not given. */
  readonly format?: AnyFormat | FormatName;
  /** Says what may be masked. `oldestBatch` if not given, which keeps as many turns whole as a restart carries over. */
  readonly policy?: Policy;
  readonly session?: ContextSource<M>;
  /** Where the provider takes them apart from the messages: they count too. */
  readonly system?: unknown;
  readonly tools?: unknown;
  readonly counter?: Counter;
  /** Shows handles in placeholders: where what is hidden is stored. */
  readonly recall?: boolean;
  /** What was learned of the provider's counts. Several managers may share one. */
  readonly calibration?: Calibration;
  /** What `state()` answered before: goes on from there. */
  readonly state?: ManagerState;
}

/** What the manager remembers beside the messages: plain data, for a snapshot. */
export interface ManagerState {
  readonly sessionNumber: number;
  /** What the provider counted last, less what was masked since; absent where it told nothing. */
  readonly promptTokens?: number;
  /** Of all requests of this session. */
  readonly completionTokens: number;
  readonly maskedTotal: number;
  readonly isWindingDown: boolean;
  readonly hasTriedMask: boolean;
}

/** What to do next. */
export type ContextAction<M> =
  | { readonly type: 'continue'; readonly because?: 'nothing-to-mask' | 'too-little-to-mask' }
  /** Mask so many results: `maskOldest(count)`. */
  | { readonly type: 'mask'; readonly count: number }
  /** Tell the model to save its state. */
  | { readonly type: 'wind-down'; readonly notice: string }
  /** Begin anew with these messages: `restart()`. */
  | { readonly type: 'restart'; readonly carryover: readonly M[] }
  /** The window is full, and `maxRestarts` is reached. */
  | { readonly type: 'context-full'; readonly because: 'max-restarts' };

/** What `maskOldest` did. */
export interface MaskResult<M> {
  /** What would be sent now. */
  readonly messages: M[];
  /** How many results were masked now, and in this session so far. */
  readonly masked: number;
  readonly total: number;
  /** To be told to the model; undefined where nothing was masked. */
  readonly notice: string | undefined;
  /** How much of the window that freed, in percent. */
  readonly reclaimedPct: number;
  /** What the messages hide, to be stored. */
  readonly hidden: readonly Hidden[];
}

/** How large a request would be, before it is sent. */
export interface Preflight {
  /** Estimated, corrected by what the provider counted before. */
  readonly tokens: number;
  readonly usagePct: number;
  /** Whether it fits into the window. */
  readonly fits: boolean;
}

/** What goes with the messages and counts too, from now on. */
export interface Beside {
  readonly system?: unknown;
  readonly tools?: unknown;
}

/** How a session goes on after a restart. */
export interface Restart<M> {
  readonly sessionNumber: number;
  /** The task and the last turns. */
  readonly carryover: readonly M[];
  /** To be told to the model behind them. */
  readonly notice: string;
}

const SHARE = rule('a number above 0 and up to 1', (v) => typeof v === 'number' && v > 0 && v <= 1);

const RULES = {
  contextLimit: positive,
  softThreshold: SHARE,
  hardThreshold: SHARE,
  carryoverTurns: count,
  carryoverTokens: positive,
  maskBatch: positive,
  maxRestarts: count,
  model: text,
  contextWindows: windowsRule,
  format: formatRule,
  policy: rule('a policy, such as oldestBatch()', (v) => typeof (v as Policy | null)?.step === 'function'),
  session: rule('a session', (v) => typeof (v as ContextSource<unknown> | null)?.view === 'function'),
  system: anything,
  tools: anything,
  counter: func,
  recall: flag,
  calibration: rule('a Calibration', (v) => v instanceof Calibration),
  state: rule('what state() answered', isState),
};

function isState(value: unknown): boolean {
  const state = { ...FRESH, ...(value as Partial<ManagerState> | null) };
  const { sessionNumber, promptTokens = 0, completionTokens, maskedTotal, isWindingDown, hasTriedMask } = state;
  const isSize = (size: unknown): boolean => typeof size === 'number' && size >= 0 && Number.isFinite(size);
  return (
    positive.check(sessionNumber) &&
    [promptTokens, completionTokens, maskedTotal].every(isSize) &&
    [isWindingDown, hasTriedMask].every(flag.check)
  );
}

/** Falling below the soft threshold ends what began at it: the next time starts afresh. */
const CALM = { isWindingDown: false, hasTriedMask: false } as const;

const NOTHING = { count: 0, isWorth: false } as const;

const FRESH: ManagerState = { sessionNumber: 1, completionTokens: 0, maskedTotal: 0, ...CALM };

/**
 * Watches how full the window is, and says what to do: mask from the soft threshold on; at the hard one tell the model to
 * wind down, and then restart with what matters. `evaluate` is the one place that decides.
 */
export class ContextManager<M = ChatMessage> {
  readonly contextLimit: number;
  readonly softThreshold: number;
  readonly hardThreshold: number;
  readonly calibration: Calibration;
  readonly #options: ContextManagerOptions<M>;
  readonly #maskBatch: number;
  readonly #maxRestarts: number;
  readonly #carryover: { readonly turns: number; readonly maxTokens: number };
  readonly #policy: Policy;
  readonly #model: string;
  readonly #counter: Counter;
  #messages: readonly M[] | undefined;
  #state: ManagerState;
  #notice: string | undefined;
  #beside: Beside;
  /** What was estimated for the request whose usage is recorded next. */
  #estimated: number | undefined;
  /** What is estimated for the context that the provider counted last. */
  #counted: number | undefined;

  constructor(options: ContextManagerOptions<M> = {}) {
    checkOptions('ContextManager', given('ContextManager', options), RULES);
    const { model, contextWindows, maskBatch = 3, carryoverTurns = 5, state = FRESH } = options;
    this.contextLimit = options.contextLimit ?? windowOf(model, contextWindows);
    this.softThreshold = options.softThreshold ?? 0.7;
    this.hardThreshold = options.hardThreshold ?? 0.9;
    if (this.softThreshold >= this.hardThreshold)
      throw badOption('softThreshold', `below hardThreshold (${this.hardThreshold})`, this.softThreshold);
    const { carryoverTokens = Math.ceil(this.#softTokens / 2) } = options;
    if (carryoverTokens >= this.#softTokens && options.carryoverTokens !== undefined)
      throw badOption('carryoverTokens', `below what softThreshold allows (${this.#softTokens})`, carryoverTokens);
    this.#options = options;
    this.#beside = { system: options.system, tools: options.tools };
    this.#maskBatch = maskBatch;
    this.#maxRestarts = options.maxRestarts ?? 20;
    this.#carryover = { turns: carryoverTurns, maxTokens: carryoverTokens };
    this.#policy = onlyForced(options.policy ?? oldestBatch({ count: maskBatch, window: carryoverTurns }));
    this.#model = model ?? '';
    this.#counter = rememberingCounter(options.counter ?? countTokens);
    this.calibration = options.calibration ?? new Calibration();
    this.#state = { ...FRESH, ...state };
  }

  /** 1, and one more with each restart. */
  get sessionNumber(): number {
    return this.#state.sessionNumber;
  }
  get maskedTotal(): number {
    return this.#state.maskedTotal;
  }
  get completionTokens(): number {
    return this.#state.completionTokens;
  }
  /** How large the context is: what the provider counted last, and what came since; or else an estimate of all of it. */
  get promptTokens(): number {
    const { promptTokens } = this.#state;
    if (promptTokens === undefined) return this.#estimateReal(this.#view());
    if (this.#counted === undefined) return promptTokens;
    const since = this.#estimate(this.#view()) - this.#counted;
    return Math.max(1, promptTokens + this.calibration.toReal(this.#model, since));
  }
  /** The same as a share of the window, in percent. */
  get usagePct(): number {
    return this.#pctOf(this.promptTokens);
  }

  /** What stands in the context now. To be called again when it changed; a session tells by itself. */
  setMessages(messages: readonly M[]): void {
    this.#messages = messages;
    if (this.#state.promptTokens !== undefined) this.#counted ??= this.#estimate(messages);
  }

  /**
   * Takes what a provider counted for the last request: its usage in any form that `readUsage` knows. A prompt count is
   * the whole context already, so it is set, not added: the context as it is known at this moment. Where nothing was told,
   * an estimate stands in again.
   */
  recordUsage(usage: unknown): void {
    const { promptTokens = 0, completionTokens = 0 } = readUsage(usage) ?? {};
    if (this.#estimated !== undefined)
      this.calibration.learn(this.#model, { estimated: this.#estimated, real: promptTokens });
    this.#estimated = undefined;
    const isTold = promptTokens > 0;
    // Who knows no messages can estimate nothing: the last count is the best there is.
    if (isTold || this.#isKnown) this.#setPrompt(isTold ? promptTokens : undefined);
    this.#counted = isTold && this.#isKnown ? this.#estimate(this.#view()) : undefined;
    if (isTold && this.#isBelow(promptTokens, this.softThreshold)) this.#update(CALM);
    this.#update({ completionTokens: this.#state.completionTokens + completionTokens });
  }

  /** How large a request would be, before it is sent. The usage recorded next is compared with it. */
  preflight(messages: readonly M[] = this.#view(), beside: Beside = {}): Preflight {
    this.#beside = { ...this.#beside, ...beside };
    this.#estimated = this.#estimate(messages);
    const tokens = this.calibration.toReal(this.#model, this.#estimated);
    return { tokens, usagePct: this.#pctOf(tokens), fits: tokens <= this.contextLimit };
  }

  /** What to do now. The only place that decides. */
  evaluate(): ContextAction<M> {
    const tokens = this.promptTokens;
    this.#notice = undefined;
    if (this.#isBelow(tokens, this.softThreshold)) return this.#calmDown();
    const isHard = !this.#isBelow(tokens, this.hardThreshold);
    if (isHard && this.#state.isWindingDown) return this.#fullAction();
    // A jump over the hard threshold masks first; what came there although it was masked winds down.
    const maskable = isHard && this.#state.hasTriedMask ? NOTHING : this.#maskable(tokens);
    if (maskable.count > 0 && (isHard || maskable.isWorth)) {
      this.#update({ hasTriedMask: true });
      return { type: 'mask', count: maskable.count };
    }
    this.#update({ hasTriedMask: false, isWindingDown: isHard || this.#state.isWindingDown });
    if (!isHard) return { type: 'continue', because: maskable.count > 0 ? 'too-little-to-mask' : 'nothing-to-mask' };
    this.#notice = windDownNotice(this.#pctOf(tokens));
    return { type: 'wind-down', notice: this.#notice };
  }

  /** Masks the oldest results that the policy lets go: so many, or enough to fall below the soft threshold. */
  maskOldest(results?: number): MaskResult<M> {
    if (results !== undefined && !count.check(results))
      throw badOption('maskOldest argument results', count.expected, results);
    const before = this.promptTokens;
    const goal = results === undefined ? this.#goal(before) : { count: results };
    const { session } = this.#options;
    const forced = session?.force?.(goal) ?? forceEpoch(this.#view(), goal, this.#fitOptions());
    const { messages, masked, tokens, hidden } = forced;
    if (this.#messages && !session) this.#messages = messages;
    const savedTokens = tokens.before - tokens.after;
    const { notice, reclaimedPct } = this.recordMask({ masked, savedTokens });
    const left = before - this.calibration.toReal(this.#model, savedTokens);
    if (this.#isBelow(left, this.softThreshold)) this.#update(CALM);
    return { messages, masked, total: this.maskedTotal, notice, reclaimedPct, hidden };
  }

  /** Takes note of results that were masked elsewhere, with the tokens that this saved by estimate. */
  recordMask({ masked, savedTokens }: { readonly masked: number; readonly savedTokens: number }): {
    readonly notice: string | undefined;
    readonly reclaimedPct: number;
  } {
    const saved = this.calibration.toReal(this.#model, savedTokens);
    const reclaimedPct = this.#pctOf(saved);
    const total = this.maskedTotal + masked;
    this.#update({ maskedTotal: total });
    const { promptTokens } = this.#state;
    if (promptTokens !== undefined) this.#setPrompt(Math.max(1, promptTokens - saved));
    if (this.#counted !== undefined) this.#counted -= savedTokens;
    this.#notice = masked > 0 ? compressedNotice({ masked, total, reclaimedPct }) : undefined;
    return { notice: this.#notice, reclaimedPct };
  }

  /** What the model should be told now, after a mask, a wind-down or a restart; undefined where there is nothing new. */
  notice(): string | undefined {
    return this.#notice;
  }

  /** What a restart would carry over: the task and the last turns, within their budget. */
  carryover(): readonly M[] {
    const messages = this.#options.session?.messages() ?? this.#messages ?? [];
    const { turns, maxTokens: realTokens } = this.#carryover;
    const maxTokens = Math.max(1, Math.floor(realTokens / this.calibration.ratio(this.#model)));
    return extractCarryover(messages, { turns, maxTokens, format: this.#format(), counter: this.#counter });
  }

  /** Begins the next session. Throws RESTART_LIMIT where `maxRestarts` is reached. */
  restart(): Restart<M> {
    if (!this.#mayRestart)
      throw new PalimpsestError(
        'RESTART_LIMIT',
        `Expected at most ${this.#maxRestarts} restarts but this would be one more; raise maxRestarts, or end the session`,
      );
    const carryover = this.carryover();
    const sessionNumber = this.sessionNumber + 1;
    this.#state = { ...FRESH, sessionNumber };
    this.#estimated = undefined;
    this.#counted = undefined;
    if (this.#messages) this.#messages = carryover;
    this.#notice = restartNotice(sessionNumber);
    return { sessionNumber, carryover, notice: this.#notice };
  }

  /** All that it remembers, for a snapshot. */
  state(): ManagerState {
    return this.#state;
  }

  /** By their share, as the threshold is given: 55 of 100 tokens reach 0.55, but `0.55 * 100` is more than 55. */
  #isBelow(tokens: number, threshold: number): boolean {
    return tokens / this.contextLimit < threshold;
  }
  get #softTokens(): number {
    return this.softThreshold * this.contextLimit;
  }
  get #mayRestart(): boolean {
    return this.sessionNumber <= this.#maxRestarts;
  }

  #calmDown(): ContextAction<M> {
    this.#update(CALM);
    return { type: 'continue' };
  }

  #fullAction(): ContextAction<M> {
    return this.#mayRestart
      ? { type: 'restart', carryover: this.carryover() }
      : { type: 'context-full', because: 'max-restarts' };
  }

  /**
   * What an epoch would mask. With no messages known, something can be masked for all it knows. Less than a batch is worth
   * it only where that is enough: masks that go one by one rewrite the provider's cache every time.
   */
  #maskable(tokens: number): { readonly count: number; readonly isWorth: boolean } {
    if (!this.#isKnown) return { count: this.#maskBatch, isWorth: true };
    const goal = this.#goal(tokens);
    const { count, savedTokens } = previewEpoch(this.#view(), goal, this.#fitOptions());
    return { count, isWorth: count >= this.#maskBatch || savedTokens > goal.saveTokens };
  }

  #goal(tokens: number): { readonly least: number; readonly saveTokens: number } {
    const excess = (tokens - this.#softTokens) / this.calibration.ratio(this.#model);
    return { least: this.#maskBatch, saveTokens: excess };
  }

  get #isKnown(): boolean {
    return this.#options.session !== undefined || this.#messages !== undefined;
  }

  #view(): readonly M[] {
    return this.#options.session?.view() ?? this.#messages ?? [];
  }

  #format(): Format<M> {
    return this.#options.session?.format ?? resolveFormat<M>(this.#view(), this.#options.format);
  }

  #fitOptions(): Omit<FitOptions, 'format'> & { readonly format: Format<M> } {
    const { recall = false } = this.#options;
    const { system, tools } = this.#beside;
    return { format: this.#format(), policy: this.#policy, counter: this.#counter, system, tools, handleOf, recall };
  }

  #estimate(messages: readonly M[]): number {
    const { format, ...options } = this.#fitOptions();
    const planner = createPlanner(format, { ...options, policy: never() });
    planner.take(messages);
    return planner.tokens;
  }

  #estimateReal(messages: readonly M[]): number {
    return this.#isKnown ? this.calibration.toReal(this.#model, this.#estimate(messages)) : 0;
  }

  #pctOf(tokens: number): number {
    return (100 * tokens) / this.contextLimit;
  }

  #setPrompt(tokens: number | undefined): void {
    const { promptTokens: _previous, ...rest } = this.#state;
    this.#state = tokens === undefined ? rest : { ...rest, promptTokens: tokens };
  }

  #update(change: Partial<ManagerState>): void {
    this.#state = { ...this.#state, ...change };
  }
}

const windowOf = (model: string | undefined, own: Readonly<Record<string, number>> | undefined): number =>
  model === undefined ? UNKNOWN_MODEL_WINDOW : defaultContextWindow(model, own);

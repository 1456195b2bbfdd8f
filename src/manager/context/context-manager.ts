import { PalimpsestError } from '../../errors.ts';
import { formatByName } from '../../formats/detect-format.ts';
import type { ChatMessage, Format } from '../../message.ts';
import { badOption, checkOptions, count, defined, flag } from '../../options.ts';
import { showFor } from '../../plan/fit.ts';
import { never } from '../../plan/policies/never.ts';
import { oldestBatch } from '../../plan/policies/oldest-batch.ts';
import type { Policy } from '../../plan/policy.ts';
import { resolveFormat } from '../../plan/resolve-format.ts';
import { handleOf } from '../../store/handle.ts';
import { countTokens } from '../../tokens/count-tokens.ts';
import type { Counter } from '../../tokens/counter.ts';
import { cachedCounter } from '../budget/cached-counter.ts';
import {
  checkBudget,
  DEFAULT_HARD_THRESHOLD,
  DEFAULT_OUTPUT_TOKENS,
  DEFAULT_SOFT_THRESHOLD,
  type EffectiveLimit,
  effectiveLimit,
  type LimitOptions,
} from '../budget/effective-limit.ts';
import { readUsage } from '../usage.ts';
import { Calibration } from './calibration.ts';
import { type Carryover, carryOver, withSummaryOf } from './carryover.ts';
import type { ContextAction, MaskOptions, MaskResult, Preflight, Restart } from './context-action.ts';
import {
  type ContextManagerOptions,
  FRESH,
  MANAGER_RULES,
  type ManagerState,
  type Overhead,
} from './context-manager-options.ts';
import { type EpochGoal, forceEpoch, onlyForced, type PlanOptions, planFor, previewEpoch } from './force-epoch.ts';
import { compressedNotice, restartNotice, windDownNotice } from './notices.ts';

const DEFAULTS = { maskBatch: 3, carryoverTurns: 5, maxRestarts: 20 };

/** The state below the soft threshold. */
const CALM = { isWindingDown: false, hasTriedMask: false } as const;

const NOTHING = { count: 0, isWorth: false } as const;

/**
 * Watches how full the window is, and decides what to do: mask from the soft threshold on; at the hard threshold tell the model
 * to wind down, then restart with the task and the last turns. Only `evaluate` decides.
 *
 * @example
 * ```ts
 * import { ContextManager } from 'palimpsest/manager';
 *
 * const manager = new ContextManager({ model: 'gpt-5', softThreshold: 0.7, hardThreshold: 0.9 });
 * manager.setMessages(history);
 * const action = manager.evaluate();
 * if (action.type === 'mask') manager.maskOldest(action.count);
 * ```
 */
export class ContextManager<M = ChatMessage> {
  /** The ratio between the provider's counts and the estimates, by model. */
  readonly calibration: Calibration;
  readonly #options: ContextManagerOptions<M> & typeof DEFAULTS;
  readonly #policy: Policy;
  readonly #model: string;
  readonly #counter: Counter;
  #limit: EffectiveLimit;
  #messages: readonly M[] | undefined;
  #state: ManagerState;
  #notice: string | undefined;
  #overhead: Overhead;
  /** The estimate for the request whose usage is recorded next. */
  #estimated: number | undefined;
  /** The estimate for the context that the provider counted last. */
  #counted: number | undefined;

  constructor(options: ContextManagerOptions<M> = {}) {
    checkOptions('ContextManager', options, MANAGER_RULES);
    // A wrong name would come to light with the first messages only.
    if (typeof options.format === 'string') formatByName(options.format);
    this.#options = { ...DEFAULTS, ...defined(options) };
    const { maskBatch, carryoverTurns } = this.#options;
    this.#limit = checkedLimit(options);
    this.#overhead = { system: options.system, tools: options.tools };
    this.#policy = onlyForced(options.policy ?? oldestBatch({ count: maskBatch, window: carryoverTurns }));
    this.#model = options.model ?? '';
    this.#counter = cachedCounter(options.counter ?? countTokens);
    this.calibration = options.calibration ?? new Calibration();
    this.#state = { ...FRESH, ...options.state };
  }

  /** The limit, its layers, and the thresholds as they apply. */
  get limit(): EffectiveLimit {
    return this.#limit;
  }
  /** 100 % of usage, in tokens. */
  get contextLimit(): number {
    return this.#limit.limitTokens;
  }
  /** The soft threshold as a share of the limit, like the hard one. */
  get softThreshold(): number {
    return this.#limit.soft.share;
  }
  /** The hard threshold as a share of the limit, 0 to 1. */
  get hardThreshold(): number {
    return this.#limit.hard.share;
  }

  /** 1, and one more with each restart. */
  get sessionNumber(): number {
    return this.#state.sessionNumber;
  }
  /** Results that were masked in this session so far. */
  get maskedTotal(): number {
    return this.#state.maskedTotal;
  }
  /** Tokens of all answers in this session so far, as the provider counted them. */
  get completionTokens(): number {
    return this.#state.completionTokens;
  }
  /** The size of the context: the provider's last count and an estimate of newer messages, or an estimate of all of it. */
  get promptTokens(): number {
    const { promptTokens } = this.#state;
    if (promptTokens === undefined) return this.#isKnown ? this.#toReal(this.#estimate(this.#view())) : 0;
    if (this.#counted === undefined) return promptTokens;
    const since = this.#estimate(this.#view()) - this.#counted;
    return Math.max(1, promptTokens + this.#toReal(since));
  }
  /** The size of the context as a share of the limit, in percent. */
  get usagePct(): number {
    return this.#pctOf(this.promptTokens);
  }
  /** Whether the context has reached the hard threshold. */
  get isHard(): boolean {
    return !this.#isBelow(this.promptTokens, this.hardThreshold);
  }

  /** Applies the limits of a run, until the next run. A limit that is larger than the manager's own changes nothing. */
  limitTo(run: { readonly maxInputTokens?: number | undefined; readonly maxOutputTokens?: number | undefined }): void {
    const own = this.#options;
    const inputs = [own.maxInputTokens, run.maxInputTokens].filter((tokens) => tokens !== undefined);
    const maxInputTokens = inputs.length > 0 ? Math.min(...inputs) : undefined;
    const maxOutputTokens = run.maxOutputTokens ?? own.maxOutputTokens ?? DEFAULT_OUTPUT_TOKENS;
    this.#limit = checkedLimit({ ...own, maxInputTokens, maxOutputTokens });
  }

  /** Sets the messages in the context. Call it again when they change. Not needed with a session. */
  setMessages(messages: readonly M[]): void {
    // Throws for a value that is no list, or a list in an unknown format.
    resolveFormat<M>(messages, this.#options.format);
    this.#messages = messages;
    if (this.#state.promptTokens !== undefined) this.#counted ??= this.#estimate(messages);
  }

  /**
   * Takes the usage of the last request, in any form that `readUsage` knows. A prompt count covers the whole context, so it
   * replaces the earlier count. If there is no prompt count, the size is estimated again.
   */
  recordUsage(usage: unknown): void {
    const { promptTokens = 0, completionTokens = 0 } = readUsage(usage) ?? {};
    if (this.#estimated !== undefined)
      this.calibration.learn(this.#model, { estimated: this.#estimated, real: promptTokens });
    this.#estimated = undefined;
    const isTold = promptTokens > 0;
    // Without messages nothing can be estimated, so the last count stays.
    if (isTold || this.#isKnown) this.#setPrompt(isTold ? promptTokens : undefined);
    this.#counted = isTold && this.#isKnown ? this.#estimate(this.#view()) : undefined;
    if (isTold && this.#isBelow(promptTokens, this.softThreshold)) this.#update(CALM);
    this.#update({ completionTokens: this.#state.completionTokens + completionTokens });
  }

  /** Estimates the size of a request before it is sent. The next recorded usage is compared with it. */
  preflight(messages: readonly M[] = this.#view(), overhead: Overhead = {}): Preflight {
    this.#overhead = { ...this.#overhead, ...overhead };
    this.#estimated = this.#estimate(messages);
    const tokens = this.#toReal(this.#estimated);
    return { tokens, usagePct: this.#pctOf(tokens), fits: tokens <= this.#limit.requestTokens };
  }

  /** Decides what to do now. No other place decides this. */
  evaluate(): ContextAction<M> {
    const tokens = this.promptTokens;
    this.#notice = undefined;
    if (this.#isBelow(tokens, this.softThreshold)) {
      this.#update(CALM);
      return { type: 'continue' };
    }
    const isHard = !this.#isBelow(tokens, this.hardThreshold);
    if (isHard && this.#state.isWindingDown) return this.#fullAction();
    // A jump over the hard threshold masks first. If masks were tried already, the session winds down.
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

  /**
   * Masks the oldest results that the policy lets go: this many, or enough to fall below the soft threshold. With
   * `insideWindow`, also results inside the policy's window, but never those of the newest turn.
   */
  maskOldest(results?: number, options: MaskOptions = {}): MaskResult<M> {
    checkOptions('maskOldest', options, { insideWindow: flag });
    const { insideWindow = false } = options;
    if (results !== undefined && !count.check(results))
      throw badOption('maskOldest argument results', count.expected, results);
    this.#checkKnown('maskOldest');
    const before = this.promptTokens;
    const amount = results === undefined ? this.#goal(before) : { count: results };
    const goal: EpochGoal = insideWindow ? { ...amount, inside: true } : amount;
    const { session } = this.#options;
    const forced = session?.force?.(goal) ?? forceEpoch(this.#view(), goal, this.#fitOptions());
    const { messages, masked, tokens, hidden, total } = forced;
    if (this.#messages && !session) this.#messages = messages;
    const savedTokens = tokens.before - tokens.after;
    const { notice, reclaimedPct } = this.recordMask({ masked, savedTokens, total });
    const left = before - this.#toReal(savedTokens);
    if (this.#isBelow(left, this.softThreshold)) this.#update(CALM);
    return { messages, masked, total: this.maskedTotal, notice, reclaimedPct, hidden };
  }

  /** Records results that were masked elsewhere: how many, the estimated saving, and how many are masked now in all. */
  recordMask(mask: { readonly masked: number; readonly savedTokens: number; readonly total?: number | undefined }): {
    readonly notice: string | undefined;
    readonly reclaimedPct: number;
  } {
    const { masked, savedTokens } = mask;
    const saved = this.#toReal(savedTokens);
    const reclaimedPct = this.#pctOf(saved);
    const total = masked > 0 ? Math.max(this.maskedTotal + masked, mask.total ?? 0) : this.maskedTotal;
    this.#update({ maskedTotal: total });
    const { promptTokens } = this.#state;
    if (promptTokens !== undefined) this.#setPrompt(Math.max(1, promptTokens - saved));
    if (this.#counted !== undefined) this.#counted -= savedTokens;
    this.#notice = masked > 0 ? compressedNotice({ masked, total, reclaimedPct }) : undefined;
    return { notice: this.#notice, reclaimedPct };
  }

  /** The notice for the model after a mask, a wind-down or a restart. Undefined if there is nothing new. */
  notice(): string | undefined {
    return this.#notice;
  }

  /** The messages that a restart would carry over: the task and the last turns, within their budget. */
  carryover(): readonly M[] {
    this.#checkKnown('carryover');
    return this.#carryOver().messages;
  }

  #carryOver(): Carryover<M> {
    const { session } = this.#options;
    const messages = session ? withSummaryOf(session) : (this.#messages ?? []);
    const realTokens = this.#options.carryoverTokens ?? Math.ceil(this.#limit.soft.tokens / 2);
    const maxTokens = Math.max(1, Math.floor(realTokens / this.calibration.ratio(this.#model)));
    return carryOver(messages, {
      turns: this.#options.carryoverTurns,
      maxTokens,
      format: this.#format(),
      counter: this.#counter,
      show: showFor(this.#options.recall === true, this.#options.tools),
    });
  }

  /** Begins the next session. Throws RESTART_LIMIT if `maxRestarts` is reached. */
  restart(): Restart<M> {
    if (!this.#mayRestart)
      throw new PalimpsestError(
        'RESTART_LIMIT',
        `Expected at most ${this.#options.maxRestarts} restarts but this would be one more; raise maxRestarts, or end the session`,
      );
    this.#checkKnown('restart');
    const { messages: carryover, hidden } = this.#carryOver();
    const sessionNumber = this.sessionNumber + 1;
    this.#state = { ...FRESH, sessionNumber };
    this.#estimated = undefined;
    this.#counted = undefined;
    if (this.#messages) this.#messages = carryover;
    this.#notice = restartNotice(sessionNumber);
    return { sessionNumber, carryover, notice: this.#notice, hidden };
  }

  /** The state for a snapshot. */
  state(): ManagerState {
    return this.#state;
  }

  /** Compares shares, as the threshold is given: 55 of 100 tokens reach 0.55, but `0.55 * 100` is more than 55. */
  #isBelow(tokens: number, threshold: number): boolean {
    return tokens / this.contextLimit < threshold;
  }
  get #mayRestart(): boolean {
    return this.sessionNumber <= this.#options.maxRestarts;
  }

  #fullAction(): ContextAction<M> {
    return this.#mayRestart
      ? { type: 'restart', carryover: this.#isKnown ? this.carryover() : undefined }
      : { type: 'context-full', because: 'max-restarts' };
  }

  /**
   * Previews an epoch. If no messages are known, something may be maskable. Less than a batch is worth it only if that is
   * enough: single masks would rewrite the provider's cache every time.
   */
  #maskable(tokens: number): { readonly count: number; readonly isWorth: boolean } {
    if (!this.#isKnown) return { count: this.#options.maskBatch, isWorth: true };
    const goal = this.#goal(tokens);
    const { count, savedTokens } = previewEpoch(this.#view(), goal, this.#fitOptions());
    return { count, isWorth: count >= this.#options.maskBatch || savedTokens > goal.saveTokens };
  }

  #goal(tokens: number): { readonly least: number; readonly saveTokens: number } {
    const excess = (tokens - this.#limit.soft.tokens) / this.calibration.ratio(this.#model);
    return { least: this.#options.maskBatch, saveTokens: excess };
  }

  /** Throws if no messages are known: a caller that continued with an empty list would lose the conversation. */
  #checkKnown(method: string): void {
    if (this.#isKnown) return;
    throw new PalimpsestError(
      'BAD_INPUT',
      `Expected the messages of the context before ${method} but found none; call setMessages(messages), or give the manager a session`,
    );
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

  #fitOptions(): PlanOptions<M> {
    const { recall = false } = this.#options;
    const { system, tools } = this.#overhead;
    return { format: this.#format(), policy: this.#policy, counter: this.#counter, system, tools, handleOf, recall };
  }

  #estimate(messages: readonly M[]): number {
    return planFor(messages, { ...this.#fitOptions(), policy: never(), arrival: {} }).tokens;
  }

  #toReal(estimated: number): number {
    return this.calibration.toReal(this.#model, estimated);
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

function checkedLimit(options: LimitOptions & { readonly carryoverTokens?: number }): EffectiveLimit {
  const { softThreshold = DEFAULT_SOFT_THRESHOLD, hardThreshold = DEFAULT_HARD_THRESHOLD } = options;
  if (softThreshold >= hardThreshold)
    throw badOption('softThreshold', `below hardThreshold (${hardThreshold})`, softThreshold);
  const limit = effectiveLimit(options);
  if (options.maxOutputTokens !== undefined) checkBudget(limit);
  const { carryoverTokens } = options;
  if (carryoverTokens !== undefined && carryoverTokens >= limit.soft.tokens)
    throw badOption('carryoverTokens', `below what softThreshold allows (${limit.soft.tokens})`, carryoverTokens);
  return limit;
}

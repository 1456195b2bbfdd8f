import type { AnyFormat, Format, FormatName } from '../message.ts';
import { amount, anything, count, flag, func, positive, rule, text } from '../options.ts';
import { formatRule, windowsRule } from '../plan/fit.ts';
import type { Policy } from '../plan/policy.ts';
import type { Counter } from '../tokens/counter.ts';
import { Calibration } from './calibration.ts';
import type { EpochGoal, ForcedEpoch } from './force-epoch.ts';

/** Whose context is managed: a session, or anything that knows its messages. */
export interface ContextSource<M> {
  /** The format of its messages. */
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
  /** How large a request may be. Of this and `contextLimit`, the smaller one is the limit. */
  readonly maxInputTokens?: number;
  /** How long an answer may be. Where it is given, both thresholds are within what that leaves for a request. */
  readonly maxOutputTokens?: number;
  /** From this share of the limit on, results are masked. @default 0.7 */
  readonly softThreshold?: number;
  /** From this share on, the session winds down, and then restarts. @default 0.9 */
  readonly hardThreshold?: number;
  /** How many of the last turns a restart carries over. @default 5 */
  readonly carryoverTurns?: number;
  /** And how many tokens at most: half of what the soft threshold allows if not given. */
  readonly carryoverTokens?: number;
  /** How many results are masked at a time, at least. @default 3 */
  readonly maskBatch?: number;
  /** After so many restarts the window is told to be full. @default 20 */
  readonly maxRestarts?: number;
  /** Its context window is the limit where `contextLimit` gives none. */
  readonly model?: string;
  /** Context windows by model name, for models that are not known here. @default none */
  readonly contextWindows?: Readonly<Record<string, number>>;
  /** The format of the messages. Detected if not given. */
  readonly format?: AnyFormat | FormatName;
  /** Says what may be masked. `oldestBatch` if not given, which keeps as many turns whole as a restart carries over. */
  readonly policy?: Policy;
  /** The session whose messages are managed. Without it, `setMessages` gives them. */
  readonly session?: ContextSource<M>;
  /** Where the provider takes them apart from the messages: they count too. */
  readonly system?: unknown;
  /** The tools of the request, as they are sent. @default none */
  readonly tools?: unknown;
  /** Counts the tokens of a text. @default countTokens */
  readonly counter?: Counter;
  /** Shows handles in placeholders: where what is hidden is stored. @default false */
  readonly recall?: boolean;
  /** What was learned of the provider's counts. Several managers may share one. */
  readonly calibration?: Calibration;
  /** What `state()` answered before: goes on from there. */
  readonly state?: ManagerState;
}

/** What the manager remembers beside the messages: plain data, for a snapshot. */
export interface ManagerState {
  /** Counts from 1; a restart begins the next. */
  readonly sessionNumber: number;
  /** What the provider counted last, less what was masked since; absent where it told nothing. */
  readonly promptTokens?: number;
  /** Of all requests of this session. */
  readonly completionTokens: number;
  /** Results that were masked in this session. */
  readonly maskedTotal: number;
  /** The model was told to save its state. */
  readonly isWindingDown: boolean;
  /** Masks were tried since the soft threshold was reached. */
  readonly hasTriedMask: boolean;
}

/** What goes with the messages and counts too, from now on. */
export interface Beside {
  /** The system prompt. */
  readonly system?: unknown;
  /** The tools, as they are sent. */
  readonly tools?: unknown;
}

/** Of a session that begins. */
export const FRESH: ManagerState = {
  sessionNumber: 1,
  completionTokens: 0,
  maskedTotal: 0,
  isWindingDown: false,
  hasTriedMask: false,
};

const SHARE = rule('a number above 0 and up to 1', (v) => typeof v === 'number' && v > 0 && v <= 1);

/** The rules of the options that a session passes on to its manager. */
export const THRESHOLD_RULES = {
  contextLimit: positive,
  maxInputTokens: positive,
  maxOutputTokens: positive,
  softThreshold: SHARE,
  hardThreshold: SHARE,
  carryoverTurns: count,
  carryoverTokens: positive,
  maskBatch: positive,
  maxRestarts: count,
  model: text,
  contextWindows: windowsRule,
  policy: rule('a policy, such as oldestBatch()', (v) => typeof (v as Policy | null)?.step === 'function'),
  system: anything,
  tools: anything,
  counter: func,
};

/** The rules of all options. */
export const MANAGER_RULES = {
  ...THRESHOLD_RULES,
  format: formatRule,
  session: rule('a session', (v) => typeof (v as ContextSource<unknown> | null)?.view === 'function'),
  recall: flag,
  calibration: rule('a Calibration', (v) => v instanceof Calibration),
  state: rule('what state() answered', isState),
};

function isState(value: unknown): boolean {
  const state = { ...FRESH, ...(value as Partial<ManagerState> | null) };
  const { sessionNumber, promptTokens = 0, completionTokens, maskedTotal, isWindingDown, hasTriedMask } = state;
  return (
    positive.check(sessionNumber) &&
    [promptTokens, completionTokens, maskedTotal].every(amount.check) &&
    [isWindingDown, hasTriedMask].every(flag.check)
  );
}

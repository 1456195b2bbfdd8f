import type { AnyFormat, Format, FormatName } from '../../message.ts';
import { amount, count, flag, func, positive, rule, text } from '../../options.ts';
import { formatRule, policyRule, windowsRule } from '../../plan/fit.ts';
import type { Policy } from '../../plan/policy.ts';
import type { Counter } from '../../tokens/counter.ts';
import { Calibration } from './calibration.ts';
import type { EpochGoal, ForcedEpoch } from './force-epoch.ts';

/** The owner of a context: a session, or any object that knows its messages. */
export interface ContextSource<M> {
  /** The format of its messages. */
  readonly format: Format<M>;
  /** The conversation with its results whole. */
  messages(): readonly M[];
  /** The messages that would be sent now. */
  view(): readonly M[];
  /** Forces an epoch that later views show. Without it, `maskOldest` only answers the masked messages. */
  force?(goal: EpochGoal): ForcedEpoch<M>;
}

/** Options of `ContextManager`. */
export interface ContextManagerOptions<M> {
  /** The window in tokens. @default that of the model, 128000 where no model is known */
  readonly contextLimit?: number;
  /**
   * How large a request may be. Of this and `contextLimit`, the smaller one is the limit. @default no limit but the
   * window
   */
  readonly maxInputTokens?: number;
  /**
   * How long an answer may be. Where it is given, both thresholds are within what that leaves for a request. @default
   * none
   */
  readonly maxOutputTokens?: number;
  /**
   * How much of a request history may take: of a session's `render`, and of the conversation before a run. 0 for all that is
   * left. @default 20000
   */
  readonly maxHistoryTokens?: number;
  /** Results are masked from this share of the limit on. @default 0.7 */
  readonly softThreshold?: number;
  /** The session winds down and then restarts from this share of the limit on. @default 0.9 */
  readonly hardThreshold?: number;
  /** How many of the last turns a restart carries over. @default 5 */
  readonly carryoverTurns?: number;
  /** The most tokens that a restart carries over. @default half of what the soft threshold allows */
  readonly carryoverTokens?: number;
  /** The fewest results that are masked at a time. @default 3 */
  readonly maskBatch?: number;
  /** After this many restarts the manager answers `context-full`. @default 20 */
  readonly maxRestarts?: number;
  /** The model whose context window is the limit if `contextLimit` is not given. @default none */
  readonly model?: string;
  /** Context windows by model name, for models that are not known here. @default none */
  readonly contextWindows?: Readonly<Record<string, number>>;
  /** The format of the messages. @default detected */
  readonly format?: AnyFormat | FormatName;
  /** Decides which results may be masked. @default oldestBatch, which keeps as many turns whole as a restart carries over */
  readonly policy?: Policy;
  /** The session whose messages are managed. Without it, `setMessages` gives them. @default none */
  readonly session?: ContextSource<M>;
  /**
   * The system prompt and the tools, where the provider takes them apart from the messages: they count too. @default
   * none
   */
  readonly system?: unknown;
  /** The tools of the request, as they are sent. @default none */
  readonly tools?: unknown;
  /** Counts the tokens of a text. @default countTokens */
  readonly counter?: Counter;
  /** Shows handles in placeholders. Needs a store. @default false */
  readonly recall?: boolean;
  /** The ratios between the provider's counts and the estimates. Several managers may share one. @default a new one */
  readonly calibration?: Calibration;
  /** The state to continue from, as `state()` answered it. @default a new session */
  readonly state?: ManagerState;
}

/** The state of a manager without its messages: plain data, for a snapshot. */
export interface ManagerState {
  /** 1, and one more with each restart. */
  readonly sessionNumber: number;
  /** The provider's last count, less the masks since. Absent if it reported none. */
  readonly promptTokens?: number;
  /** The tokens of all answers in this session. */
  readonly completionTokens: number;
  /** Results that were masked in this session. */
  readonly maskedTotal: number;
  /** The model was told to save its state. */
  readonly isWindingDown: boolean;
  /** Masks were tried since the soft threshold was reached. */
  readonly hasTriedMask: boolean;
}

/** The system prompt and the tools of a request, which count towards its size. */
export interface Overhead {
  /** The system prompt. */
  readonly system?: unknown;
  /** The tools, as they are sent. */
  readonly tools?: unknown;
}

/** The state of a new session. */
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
  maxHistoryTokens: count,
  softThreshold: SHARE,
  hardThreshold: SHARE,
  carryoverTurns: count,
  carryoverTokens: positive,
  maskBatch: positive,
  maxRestarts: count,
  model: text,
  contextWindows: windowsRule,
  policy: policyRule,
  system: rule('a text, a list or an object', (v) => typeof v === 'string' || typeof v === 'object'),
  tools: rule('a list or an object', (v) => typeof v === 'object'),
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

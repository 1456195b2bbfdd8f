import type { Format, FormatName } from '../../message.ts';
import { badOption, checkOptions, func, oneOf, positive } from '../../options.ts';
import { type ArrivalOptions, arrivalRule, arrivalRules, toArrival } from '../../plan/arrival/options.ts';
import { defaultPolicy } from '../../plan/default-policy.ts';
import { formatRule, showFor } from '../../plan/fit.ts';
import type { Policy, Truncation } from '../../plan/policy.ts';
import { type AsyncSummaryWriter, SUMMARY_TIMEOUT_MS, SummaryLog } from '../../store/summary-log.ts';
import { countTokens } from '../../tokens/count-tokens.ts';
import { actorMessageLimit } from '../budget/actor-message-limit.ts';
import { cachedCounter } from '../budget/cached-counter.ts';
import { effectiveLimit } from '../budget/effective-limit.ts';
import { type ContextManagerOptions, THRESHOLD_RULES } from '../context/context-manager-options.ts';
import { type MessageWriter, messageWriter } from '../message-writer.ts';
import type { ConversationOptions } from './conversation/conversation.ts';
import type { ArrivalSettings } from './session-event.ts';

/** The settings of a session, on disk or in memory. */
export interface SessionSettings<M>
  extends Omit<ContextManagerOptions<M>, 'format' | 'session' | 'recall' | 'calibration' | 'state'> {
  /** The format of its messages, such as `anthropic`, or the name of one. @default 'chat' */
  readonly format?: Format<M> | FormatName;
  /** The policy that masks old results. @default breakEven at the prices of the model */
  readonly policy?: Policy;
  /** The system prompt, where the provider takes it apart from the messages: it counts too. @default none */
  readonly system?: unknown;
  /** The tools of the request, as they are sent. They count too. If one is named `recall`, placeholders name it. @default none */
  readonly tools?: unknown;
  /**
   * How results are made smaller when they are first sent. The conversation has them whole. Results that were sent before
   * stay as they are. @default the policy's own: `breakEven` cleans results and refers to lines that the model can still see
   */
  readonly arrival?: ArrivalOptions;
  /** `arrival.truncate`: results are cut to this size when they arrive, in tokens. @default 8000 */
  readonly maxToolResultTokens?: number;
  /** The part of such a result that stays: its head, its tail, or both ends. @default 'head' */
  readonly toolResultTruncation?: Truncation;
  /**
   * Writes the summaries that the policy asks for, such as with a model; `render` waits for it. On failure the rules write
   * them. @default the policy's own
   */
  readonly summarize?: AsyncSummaryWriter<M>;
  /** How long one summary may take. @default 60000 */
  readonly summarizeTimeoutMs?: number;
  /** The clock, in milliseconds. A request after the lifetime of the provider's cache masks everything it may. @default Date.now */
  readonly now?: () => number;
}

/** The rules of the settings. */
export const SETTINGS_RULES = {
  ...THRESHOLD_RULES,
  format: formatRule,
  arrival: arrivalRule,
  maxToolResultTokens: positive,
  toolResultTruncation: oneOf('head', 'tail', 'both'),
  summarize: func,
  summarizeTimeoutMs: positive,
  now: func,
};

/** How the summaries of a session are written. */
interface SummaryWriting<M> {
  readonly writer: AsyncSummaryWriter<M>;
  readonly timeoutMs: number;
  readonly log: SummaryLog;
}

/** The parts of a session. */
export interface SessionParts<M> {
  readonly writer: MessageWriter<M>;
  readonly conversation: ConversationOptions<M>;
  readonly manager: Omit<ContextManagerOptions<M>, 'session' | 'state'> & { readonly recall: boolean };
  /** Undefined if the rules write the summaries. */
  readonly summaries: SummaryWriting<M> | undefined;
  readonly now: () => number;
}

/** Derives the options of each part of a session from its settings. */
export function partsOf<M>(
  settings: SessionSettings<M>,
  { hasStore }: { readonly hasStore: boolean },
): SessionParts<M> {
  const { policy = defaultPolicy(settings.model), now = Date.now } = settings;
  const writer = messageWriter<M>(settings.format);
  const summarize = (settings.summarize ?? policy.summarize) as AsyncSummaryWriter<M> | undefined;
  const summaries = summarize && {
    writer: summarize,
    timeoutMs: settings.summarizeTimeoutMs ?? SUMMARY_TIMEOUT_MS,
    log: new SummaryLog(),
  };
  // The same texts are sized again for every view.
  const counter = cachedCounter(settings.counter ?? countTokens);
  const conversation: ConversationOptions<M> = {
    format: writer.format,
    policy,
    counter,
    show: showFor(hasStore, settings.tools),
    arrival: arrivalOf(settings, policy),
    limit: messageLimit(settings),
    summaries: summaries?.log,
  };
  const manager = { ...thresholdsOf(settings), policy, counter, recall: hasStore };
  return { writer, conversation, summaries, now, manager };
}

const MOST_RESULT_TOKENS = 8000;

function arrivalOf<M>(settings: SessionSettings<M>, policy: Policy): ArrivalSettings {
  const { arrival: own = {}, maxToolResultTokens: cut, toolResultTruncation: truncation = 'head' } = settings;
  checkOptions('session option arrival', own, arrivalRules);
  if (cut !== undefined && own.truncate !== undefined && own.truncate !== cut)
    throw badOption('session option maxToolResultTokens', `left out, or arrival.truncate (${own.truncate})`, cut);
  const most = Math.min(cut ?? MOST_RESULT_TOKENS, policy.maxResultTokens ?? Number.POSITIVE_INFINITY);
  const { clean, references, shellOutput, truncate } = toArrival(own, policy.arrival, { truncate: most });
  return { clean, references, shell_output: shellOutput ?? false, truncate: truncate ?? false, truncation };
}

function thresholdsOf<M>(settings: SessionSettings<M>): Partial<SessionSettings<M>> {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => Object.hasOwn(THRESHOLD_RULES, name)));
}

function messageLimit<M>(settings: SessionSettings<M>): number {
  const { limitTokens, source } = effectiveLimit(settings);
  return actorMessageLimit(source === 'unknown' ? undefined : limitTokens);
}

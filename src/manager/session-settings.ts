import { isRecord } from '../formats/lens.ts';
import type { Format, FormatName } from '../message.ts';
import { badOption, checkOptions, func, oneOf, positive, rule } from '../options.ts';
import { type ArrivalOptions, arrivalRules, toArrival } from '../plan/arrival/options.ts';
import { defaultPolicy } from '../plan/default-policy.ts';
import { formatRule, showFor } from '../plan/fit.ts';
import type { Policy, Truncation } from '../plan/policy.ts';
import { type AsyncSummaryWriter, SUMMARY_TIMEOUT_MS, SummaryLog } from '../store/summary-log.ts';
import { countTokens } from '../tokens/count-tokens.ts';
import { actorMessageLimit } from './actor-message-limit.ts';
import type { ContextManager } from './context-manager.ts';
import { type ContextManagerOptions, THRESHOLD_RULES } from './context-manager-options.ts';
import { effectiveLimit } from './effective-limit.ts';
import { type MessageWriter, messageWriter } from './message-writer.ts';
import { rememberingCounter } from './remembering-counter.ts';
import type { RenderOptions } from './render-with-budget.ts';
import type { ConversationOptions } from './session/conversation.ts';
import type { ArrivalSettings } from './session/session-event.ts';
import type { SummaryWriting } from './session/write-summaries.ts';

/** The settings of a session, on disk or in memory. */
export interface SessionSettings<M>
  extends Omit<ContextManagerOptions<M>, 'format' | 'session' | 'recall' | 'calibration' | 'state'> {
  /** The format of its messages, such as `anthropic`, or the name of one. `chat` if not given. */
  readonly format?: Format<M> | FormatName;
  /** The policy that masks old results. `breakEven`, at the prices of the model, if not given. */
  readonly policy?: Policy;
  /** Where the provider takes them apart from the messages: they count too, and a tool named `recall` is told of. */
  readonly system?: unknown;
  readonly tools?: unknown;
  /**
   * How results are made smaller when they first go out; the conversation has them whole. Those that went out before stay as
   * they are. The policy's own if not given: `breakEven` cleans results and refers to lines that the model can still see.
   */
  readonly arrival?: ArrivalOptions;
  /** `arrival.truncate`: results are cut to this size when they arrive; 8,000 if not given. */
  readonly maxToolResultTokens?: number;
  readonly toolResultTruncation?: Truncation;
  /**
   * Writes the summaries that the policy asks for, such as with a model; `render` waits for it. On failure the rules write
   * them. The policy's own `summarize` if not given.
   */
  readonly summarize?: AsyncSummaryWriter<M>;
  /** How long one summary may take; 60,000 if not given. */
  readonly summarizeTimeoutMs?: number;
  /** The clock, in milliseconds. By it, a request after the life of the provider's cache masks all that it may. */
  readonly now?: () => number;
}

/** The rules of the settings. */
export const SETTINGS_RULES = {
  ...THRESHOLD_RULES,
  format: formatRule,
  arrival: rule('an object with clean, references, shellOutput and truncate', isRecord),
  maxToolResultTokens: positive,
  toolResultTruncation: oneOf('head', 'tail', 'both'),
  summarize: func,
  summarizeTimeoutMs: positive,
  now: func,
};

/** The parts of a session. */
export interface SessionParts<M> {
  readonly writer: MessageWriter<M>;
  readonly conversation: ConversationOptions<M>;
  readonly manager: Omit<ContextManagerOptions<M>, 'session' | 'state'>;
  /** How summaries are written, where the caller writes them. */
  readonly summaries: SummaryWriting<M> | undefined;
  readonly now: () => number;
}

/** Makes of the settings what each part of a session needs. */
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
  const counter = rememberingCounter(settings.counter ?? countTokens);
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

/** The limit of a session applies to its renders, unless a render names a window or a model of its own. */
export function renderLimits<M>({ limit }: ContextManager<M>, { window, model }: RenderOptions<M>): RenderOptions<M> {
  const isOwn = window !== undefined || model !== undefined;
  return { ...(isOwn ? {} : { window: limit.limitTokens }), maxOutputTokens: limit.outputTokens };
}

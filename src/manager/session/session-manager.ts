import { PalimpsestError } from '../../errors.ts';
import type { Hidden } from '../../plan/ledger/hidden.ts';
import type { ContextAction, MaskOptions, MaskResult, Restart } from '../context/context-action.ts';
import { ContextManager } from '../context/context-manager.ts';
import type { ContextManagerOptions, ManagerState } from '../context/context-manager-options.ts';
import type { MessageWriter } from '../message-writer.ts';
import { readUsage, type Usage } from '../usage.ts';
import type { Conversation } from './conversation/conversation.ts';
import type { ContextMask, SessionRestart, TokenUsage, WindDown } from './session-event.ts';

/** The conversation that a manager decides about, and the log for its decisions. */
interface Decisions<M> {
  readonly conversation: Conversation<M>;
  readonly record: (event: TokenUsage | ContextMask | WindDown) => void;
  /** Throws while a change is not yet in the conversation. */
  readonly checkIdle: () => void;
}

/** A manager that logs its decisions as events of its session. They survive a crash. */
export class SessionManager<M> extends ContextManager<M> {
  readonly #decisions: Decisions<M>;

  constructor(options: Omit<ContextManagerOptions<M>, 'state'>, decisions: Decisions<M>) {
    super({ ...options, state: stateOf(decisions.conversation) });
    this.#decisions = decisions;
    // The restored count covers these messages. Later messages come on top of it.
    this.setMessages(decisions.conversation.view.messages());
  }

  override recordUsage(usage: unknown): void {
    super.recordUsage(usage);
    const read = readUsage(usage);
    if (read) this.#decisions.record(this.#usageEvent(read));
  }

  override maskOldest(results?: number, options: MaskOptions = {}): MaskResult<M> {
    const { conversation, record, checkIdle } = this.#decisions;
    checkIdle();
    const result = super.maskOldest(results, options);
    if (result.masked === 0) return result;
    const masks = conversation.view.masksTo(result.messages);
    // The view changes at once. The event is logged shortly after, or when the caller awaits it.
    conversation.view.mask(masks);
    record(this.#maskEvent(result, masks));
    return result;
  }

  override evaluate(): ContextAction<M> {
    const action = super.evaluate();
    if (action.type === 'wind-down') this.#decisions.record({ type: 'wind_down', notice: action.notice });
    return action;
  }

  /** Throws: only `session.restart()` logs the new conversation before the restart. */
  override restart(): Restart<M> {
    throw new PalimpsestError(
      'BAD_INPUT',
      'Expected a call of session.restart() but found one of session.manager.restart()',
    );
  }

  /** Begins the next session. Answers the event that records it, and the texts to store before that. */
  beginNext(
    writer: MessageWriter<M>,
    reason: string,
  ): { readonly event: SessionRestart<M>; readonly hidden: readonly Hidden[] } {
    const { turns: previous_turns } = this.#decisions.conversation.facts;
    const { sessionNumber: session_number, carryover, notice, hidden } = super.restart();
    const messages = [...carryover, writer.notice(notice)];
    const about = { session_number, previous_turns, carryover_messages: carryover.length, reason };
    return { event: { type: 'session_restart', ...about, messages }, hidden };
  }

  #usageEvent({ promptTokens, completionTokens, cachedTokens, cacheWriteTokens }: Usage): TokenUsage {
    const { conversation } = this.#decisions;
    return {
      type: 'token_usage',
      turn: conversation.facts.turns,
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
      ...(cachedTokens > 0 ? { cached_tokens: cachedTokens } : {}),
      ...(cacheWriteTokens > 0 ? { cache_write_tokens: cacheWriteTokens } : {}),
      context_used_pct: promptTokens / this.contextLimit,
      view_tokens: conversation.viewTokens(),
      ...(this.state().isWindingDown ? { winding_down: true } : {}),
    };
  }

  #maskEvent({ masked, total, reclaimedPct }: MaskResult<M>, masks: ContextMask['masks']): ContextMask {
    const isCounted = this.state().promptTokens !== undefined;
    const counted = { prompt_tokens: this.promptTokens, view_tokens: this.#decisions.conversation.viewTokens() };
    return {
      type: 'context_mask',
      observations_masked: masked,
      total_masked: total,
      context_reclaimed_pct: reclaimedPct,
      ...(isCounted ? counted : {}),
      masks,
    };
  }
}

function stateOf<M>(conversation: Conversation<M>): ManagerState {
  const promptTokens = conversation.promptTokens();
  const { number, usage, total_masked, winding_down } = conversation.facts;
  return {
    sessionNumber: number,
    ...(promptTokens === undefined ? {} : { promptTokens }),
    completionTokens: usage?.completion_tokens ?? 0,
    maskedTotal: total_masked,
    isWindingDown: winding_down,
    hasTriedMask: false,
  };
}

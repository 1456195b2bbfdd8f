import type { Format } from '../message.ts';
import { anything, checkOptions, func, oneOf, positive } from '../options.ts';
import { breakEven } from '../plan/policies/break-even.ts';
import type { Policy } from '../plan/policy.ts';
import { pricesOf } from '../plan/prices.ts';
import { countTokens } from '../tokens/count-tokens.ts';
import { actorMessageLimit } from './actor-message-limit.ts';
import type { AgentContext } from './agent-context.ts';
import type { ContextManagerOptions, MaskResult } from './context-manager.ts';
import type { Cut } from './cut-history.ts';
import { type Dialect, toDialect } from './dialect.ts';
import { sessionContinuity } from './notices.ts';
import { type Rendered, type RenderOptions, renderWithBudget } from './render-with-budget.ts';
import { Conversation, type ConversationOptions } from './session/conversation.ts';
import type { MaskReport, SessionOptions } from './session/session.ts';
import type { EventBody, LoggedEvent, SessionStatus } from './session/session-event.ts';
import { SessionManager } from './session/session-manager.ts';

/** Options of `createMemorySession`: those of `openSession` that have nothing to do with the disk. */
export type MemorySessionOptions<M> = Pick<
  SessionOptions<M>,
  | 'dialect'
  | 'policy'
  | 'model'
  | 'contextWindows'
  | 'counter'
  | 'contextLimit'
  | 'softThreshold'
  | 'hardThreshold'
  | 'carryoverTurns'
  | 'carryoverTokens'
  | 'maskBatch'
  | 'maxRestarts'
  | 'maxInputTokens'
  | 'maxToolResultTokens'
  | 'toolResultTruncation'
> & {
  /** Called when the context is nearly full, before the restart. */
  readonly onWindDown?: (session: AgentContext<M>) => Promise<void> | void;
};

/** The rest is for the manager to check. */
const RULES = {
  dialect: anything,
  policy: anything,
  model: anything,
  contextWindows: anything,
  counter: anything,
  contextLimit: anything,
  softThreshold: anything,
  hardThreshold: anything,
  carryoverTurns: anything,
  carryoverTokens: anything,
  maskBatch: anything,
  maxRestarts: anything,
  maxInputTokens: positive,
  maxToolResultTokens: positive,
  toolResultTruncation: oneOf('head', 'tail', 'both'),
  onWindDown: func,
};

/** A session that ends with the process: for runs that nobody needs to take up again, and for tests. */
export function createMemorySession<M>(options: MemorySessionOptions<M> = {}): AgentContext<M> {
  checkOptions('createMemorySession', options, RULES);
  return new MemorySession(options);
}

class MemorySession<M> implements AgentContext<M> {
  readonly dialect: Dialect<M>;
  readonly manager: SessionManager<M>;
  readonly #options: MemorySessionOptions<M>;
  readonly #conversation: Conversation<M>;
  #seq = 0;

  constructor(options: MemorySessionOptions<M>) {
    this.#options = options;
    this.dialect = toDialect<M>(options.dialect);
    this.#conversation = new Conversation(conversationOptions(options, this.format));
    this.manager = new SessionManager<M>(
      { ...managerOptions(options), session: this },
      { onUsage: () => {}, onMask: (result) => this.#recordMask(result), onWindDown: () => {} },
    );
  }

  get format(): Format<M> {
    return this.dialect.format;
  }
  get number(): number {
    return this.#conversation.number;
  }

  get status(): SessionStatus {
    return this.#conversation.status;
  }

  async add(...messages: readonly M[]): Promise<void> {
    for (const message of messages) this.#apply({ type: 'message', message });
  }

  messages(): readonly M[] {
    return this.#conversation.messages();
  }

  view(): readonly M[] {
    return this.#conversation.view.messages();
  }

  async render(budget: RenderOptions<M>): Promise<Rendered<M>> {
    const { model, counter } = this.#options;
    const rendered = renderWithBudget(this.view(), {
      ...(model === undefined ? {} : { model }),
      ...(counter ? { counter } : {}),
      ...budget,
      format: this.format,
      cut: this.#conversation.cut as Cut | undefined,
    });
    this.#conversation.view.forgetHidden(() => true);
    this.#apply({ type: 'context_cut', cut: rendered.cut, omitted: rendered.omitted });
    return rendered;
  }

  async mask(count?: number): Promise<MaskReport<M>> {
    const { masked, total, reclaimedPct, notice } = this.manager.maskOldest(count);
    return { masked, total, reclaimedPct, notice, messages: this.view() };
  }

  async restart(reason = 'hard_threshold_exceeded'): Promise<void> {
    const { turns: previous_turns } = this.#conversation;
    const { sessionNumber: session_number, carryover, notice } = this.manager.beginNext();
    const messages = [...carryover, this.dialect.notice(notice)];
    const about = { session_number, previous_turns, carryover_messages: carryover.length, reason };
    this.#apply({ type: 'session_restart', ...about, messages });
  }

  continuity(): string {
    return sessionContinuity(this.number);
  }

  async windDown(): Promise<void> {
    await this.#options.onWindDown?.(this);
  }

  /** What it changes is known; the event itself nobody could read. */
  async log(event: LoggedEvent): Promise<void> {
    this.#apply(event);
  }

  #recordMask({ messages }: MaskResult<M>): void {
    const { view } = this.#conversation;
    view.mask(view.masksTo(messages));
  }

  #apply(event: EventBody<M>): void {
    const seq = ++this.#seq;
    this.#conversation.apply({ ...event, seq, time: '' }, { offset: seq, bytes: 0 });
  }
}

function conversationOptions<M>(options: MemorySessionOptions<M>, format: Format<M>): ConversationOptions<M> {
  const { counter = countTokens, maxInputTokens, maxToolResultTokens = 8000, toolResultTruncation = 'head' } = options;
  return {
    format,
    policy: policyOf(options),
    counter,
    show: 'nothing',
    maxResultTokens: maxToolResultTokens,
    truncation: toolResultTruncation,
    limit: actorMessageLimit(maxInputTokens),
  };
}

function policyOf<M>({ policy, model }: MemorySessionOptions<M>): Policy {
  const prices = model === undefined ? undefined : pricesOf(model);
  return policy ?? breakEven(prices ? { prices } : {});
}

function managerOptions<M>(options: MemorySessionOptions<M>): ContextManagerOptions<M> {
  const { dialect: _dialect, maxInputTokens: _input, onWindDown: _hook, ...rest } = options;
  const { maxToolResultTokens: _max, toolResultTruncation: _part, ...manager } = rest;
  return { ...manager, policy: policyOf(options) };
}

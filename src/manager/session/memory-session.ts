import type { Format } from '../../message.ts';
import { checkOptions, func } from '../../options.ts';
import type { AgentContext } from '../agent/agent-context.ts';
import type { Rendered, RenderOptions } from '../budget/render-with-budget.ts';
import type { MaskOptions } from '../context/context-action.ts';
import { sessionContinuity } from '../context/notices.ts';
import type { MessageWriter } from '../message-writer.ts';
import { resultsForOpen, skippedByRestart } from '../open-calls.ts';
import type { ToolResult } from '../tool-call.ts';
import { Conversation } from './conversation/conversation.ts';
import { messageEvents, resultEvents } from './conversation/message-events.ts';
import { RequestRenderer } from './conversation/request-renderer.ts';
import type { MaskReport } from './session.ts';
import type { EventBody, LoggedEvent, SessionStatus } from './session-event.ts';
import { SessionManager } from './session-manager.ts';
import { partsOf, SETTINGS_RULES, type SessionSettings } from './session-settings.ts';

/** Options of `createMemorySession`: those of `openSession` that have nothing to do with the disk. */
export interface MemorySessionOptions<M> extends SessionSettings<M> {
  /** Called when the context is nearly full, before the restart. @default none */
  readonly onWindDown?: (session: AgentContext<M>) => Promise<void> | void;
}

/**
 * A session that ends with the process: for runs that need not be resumed, and for tests.
 *
 * @example
 * ```ts
 * import type { ChatMessage } from 'palimpsest';
 * import { createMemorySession, runAgent } from 'palimpsest/manager';
 * import { fromUrl } from 'palimpsest/models';
 *
 * const model = fromUrl({ baseURL: 'http://localhost:11434/v1', model: 'qwen3' });
 * const context = createMemorySession({ format: model.format ?? 'openai-chat' });
 * await runAgent({ model, context, task: 'Find the bug.' });
 * ```
 */
export function createMemorySession<M>(options: MemorySessionOptions<M> = {}): AgentContext<M> {
  checkOptions('createMemorySession', options, { ...SETTINGS_RULES, onWindDown: func });
  return new MemorySession(options);
}

class MemorySession<M> implements AgentContext<M> {
  readonly manager: SessionManager<M>;
  readonly #writer: MessageWriter<M>;
  readonly #options: MemorySessionOptions<M>;
  readonly #conversation: Conversation<M>;
  readonly #renderer: RequestRenderer<M>;
  #seq = 0;

  constructor(options: MemorySessionOptions<M>) {
    const parts = partsOf(options, { hasStore: false });
    const conversation = new Conversation(parts.conversation);
    const record = (event: EventBody<M>): void => this.#apply(event);
    this.#options = options;
    this.#writer = parts.writer;
    this.#conversation = conversation;
    this.#renderer = new RequestRenderer({
      conversation,
      parts,
      record,
      storeShaped: () => {},
      storeHidden: () => conversation.view.forgetHidden(() => true),
    });
    record({ type: 'session_start', id: '', format: this.format.name, arrival: parts.conversation.arrival });
    const decisions = { conversation, record, checkIdle: () => {} };
    this.manager = new SessionManager<M>({ ...parts.manager, session: this }, decisions);
  }

  get format(): Format<M> {
    return this.#writer.format;
  }
  get number(): number {
    return this.#conversation.facts.number;
  }

  get status(): SessionStatus {
    return this.#conversation.facts.status;
  }

  async add(...messages: readonly M[]): Promise<void> {
    for (const event of messageEvents(messages)) this.#apply(event);
  }

  async answer(...results: readonly ToolResult[]): Promise<void> {
    for (const event of resultEvents(this.#conversation, this.#writer, results)) this.#apply(event);
  }

  messages(): readonly M[] {
    return this.#conversation.messages();
  }

  view(): readonly M[] {
    return this.#conversation.view.messages();
  }

  render(budget: RenderOptions<M> = {}): Promise<Rendered<M>> {
    return this.#renderer.render(this.manager.limit, budget);
  }

  async mask(count?: number, options?: MaskOptions): Promise<MaskReport<M>> {
    const { masked, total, reclaimedPct, notice } = this.manager.maskOldest(count, options);
    return { masked, total, reclaimedPct, notice, messages: this.view() };
  }

  async restart(reason = 'hard_threshold_exceeded'): Promise<void> {
    await this.answer(...resultsForOpen(this.#writer, this.messages(), skippedByRestart));
    this.#apply(this.manager.beginNext(this.#writer, reason).event);
  }

  continuity(): string {
    return sessionContinuity(this.number);
  }

  decidedApprovals(): { callId: string; approved: boolean; reason?: string }[] {
    return [...this.#conversation.decisions()].map(([callId, decision]) => ({ callId, ...decision }));
  }

  async windDown(): Promise<void> {
    await this.#options.onWindDown?.(this);
  }

  /** Applies an event. There is no log that keeps it. */
  async log(event: LoggedEvent): Promise<void> {
    this.#apply(event);
  }

  #apply(event: EventBody<M>): void {
    const seq = ++this.#seq;
    this.#conversation.apply({ ...event, seq, time: '' }, { offset: seq, bytes: 0 });
  }
}

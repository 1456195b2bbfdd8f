import type { Format } from '../message.ts';
import { checkOptions, func } from '../options.ts';
import type { Counter } from '../tokens/counter.ts';
import type { AgentContext } from './agent-context.ts';
import type { MaskOptions } from './context-action.ts';
import type { MessageWriter } from './message-writer.ts';
import { sessionContinuity } from './notices.ts';
import { resultsForOpen, skippedByRestart } from './open-calls.ts';
import type { Rendered, RenderOptions } from './render-with-budget.ts';
import { ColdEpochs } from './session/cold-epochs.ts';
import { Conversation } from './session/conversation.ts';
import { renderSession } from './session/render-session.ts';
import { resultEvents } from './session/result-events.ts';
import type { MaskReport } from './session/session.ts';
import type { EventBody, LoggedEvent, SessionStatus } from './session/session-event.ts';
import { SessionManager } from './session/session-manager.ts';
import { type SummaryWriting, withAuthor, writeSummaries } from './session/write-summaries.ts';
import { partsOf, renderLimits, SETTINGS_RULES, type SessionSettings } from './session-settings.ts';
import type { ToolResult } from './tool-call.ts';

/** Options of `createMemorySession`: those of `openSession` that have nothing to do with the disk. */
export interface MemorySessionOptions<M> extends SessionSettings<M> {
  /** Called when the context is nearly full, before the restart. */
  readonly onWindDown?: (session: AgentContext<M>) => Promise<void> | void;
}

/** A session that ends with the process: for runs that need not be resumed, and for tests. */
export function createMemorySession<M>(options: MemorySessionOptions<M> = {}): AgentContext<M> {
  checkOptions('createMemorySession', options, { ...SETTINGS_RULES, onWindDown: func });
  return new MemorySession(options);
}

class MemorySession<M> implements AgentContext<M> {
  readonly manager: SessionManager<M>;
  readonly #writer: MessageWriter<M>;
  readonly #options: MemorySessionOptions<M>;
  readonly #conversation: Conversation<M>;
  readonly #counter: Counter;
  readonly #summaries: SummaryWriting<M> | undefined;
  readonly #coldEpochs: ColdEpochs<M>;
  #seq = 0;

  constructor(options: MemorySessionOptions<M>) {
    const { writer, conversation, manager, summaries, now } = partsOf(options, { hasStore: false });
    this.#summaries = summaries;
    this.#options = options;
    this.#writer = writer;
    this.#conversation = new Conversation(conversation);
    this.#counter = conversation.counter;
    const { policy, arrival } = conversation;
    this.#coldEpochs = new ColdEpochs(this.#conversation, { policy, now, record: (event) => this.#apply(event) });
    this.#apply({ type: 'session_start', id: '', format: writer.format.name, arrival });
    this.manager = new SessionManager<M>(
      { ...manager, session: this },
      { conversation: this.#conversation, record: (event) => this.#apply(event), checkIdle: () => {} },
    );
  }

  get format(): Format<M> {
    return this.#writer.format;
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

  async answer(...results: readonly ToolResult[]): Promise<void> {
    for (const event of resultEvents(this.#conversation, this.#writer, results)) this.#apply(event);
  }

  messages(): readonly M[] {
    return this.#conversation.messages();
  }

  view(): readonly M[] {
    return this.#conversation.view.messages();
  }

  async render(budget: RenderOptions<M>): Promise<Rendered<M>> {
    await writeSummaries(this.#conversation, this.#summaries, (event) => this.#apply(event));
    await this.#coldEpochs.beforeRequest();
    const options = {
      ...renderLimits(this.manager, budget),
      counter: this.#counter,
      conversationMessages: this.#conversation.conversationMessages(),
      ...budget,
      format: this.format,
    };
    const rendered = await renderSession(this.#conversation, options, (event) => this.#apply(event));
    this.#coldEpochs.noteRequest();
    this.#conversation.view.forgetHidden(() => true);
    this.#apply({ type: 'context_cut', cut: rendered.cut, omitted: rendered.omitted });
    return withAuthor(rendered, this.#conversation.view);
  }

  async mask(count?: number, options?: MaskOptions): Promise<MaskReport<M>> {
    const { masked, total, reclaimedPct, notice } = this.manager.maskOldest(count, options);
    return { masked, total, reclaimedPct, notice, messages: this.view() };
  }

  async restart(reason = 'hard_threshold_exceeded'): Promise<void> {
    await this.answer(...resultsForOpen(this.#writer, this.messages(), skippedByRestart));
    const { turns: previous_turns } = this.#conversation;
    const { sessionNumber: session_number, carryover, notice } = this.manager.beginNext();
    const messages = [...carryover, this.#writer.notice(notice)];
    const about = { session_number, previous_turns, carryover_messages: carryover.length, reason };
    this.#apply({ type: 'session_restart', ...about, messages });
  }

  continuity(): string {
    return sessionContinuity(this.number);
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

import { defined, given } from '../../../options.ts';
import type { Cut } from '../../../plan/held-cut.ts';
import type { Hidden } from '../../../plan/ledger/hidden.ts';
import { askForSummary } from '../../../store/summary-log.ts';
import type { EffectiveLimit } from '../../budget/effective-limit.ts';
import { type Rendered, type RenderOptions, renderHeld } from '../../budget/render-with-budget.ts';
import type { EventBody } from '../session-event.ts';
import type { SessionParts } from '../session-settings.ts';
import type { Conversation } from './conversation.ts';

/** A conversation, and how its session records and stores. */
interface RenderedSession<M> {
  readonly conversation: Conversation<M>;
  readonly parts: Pick<SessionParts<M>, 'conversation' | 'manager' | 'summaries' | 'now'>;
  /** Records an event. When this resolves, the conversation has it. */
  readonly record: (event: EventBody<M>) => Promise<void> | void;
  /** Stores the originals of results that were made smaller, before they are sent. */
  readonly storeShaped: () => Promise<void> | void;
  /** Stores the texts that a request hides, before their handles are shown. */
  readonly storeHidden: (hidden: readonly Hidden[]) => Promise<void> | void;
}

/** Renders the requests of a session. Everything that a request changes is recorded before it is sent. */
export class RequestRenderer<M> {
  readonly #session: RenderedSession<M>;
  #sentAt: number | undefined;

  constructor(session: RenderedSession<M>) {
    this.#session = session;
  }

  async render(limit: EffectiveLimit, budget: RenderOptions<M>): Promise<Rendered<M>> {
    given('render', budget);
    const { conversation, parts, record } = this.#session;
    await this.#writeSummaries();
    await this.#maskWhileCold();
    await this.#session.storeShaped();
    const before = conversation.facts.cut;
    const first = conversation.keyAt(0) ?? null;
    const { format, counter } = parts.conversation;
    const { recall, maxHistoryTokens } = parts.manager;
    const conversationMessages = conversation.conversationMessages();
    const limits = { ...limitsOf(limit, budget), ...defined({ maxHistoryTokens }) };
    const rendered = await this.#render({ ...limits, counter, recall, conversationMessages, ...budget, format });
    await this.#session.storeHidden(rendered.hidden);
    this.#sentAt = parts.now();
    const { cut = null, omitted } = rendered;
    if (isOtherCut(before, rendered.cut)) await record({ type: 'context_cut', cut, omitted, first });
    const { summaryAuthor } = conversation.view;
    return summaryAuthor ? { ...rendered, summary: summaryAuthor } : rendered;
  }

  /** Writes the summaries that the view is missing, and records each before it asks for the next. */
  async #writeSummaries(): Promise<void> {
    const { conversation, parts, record } = this.#session;
    if (!parts.summaries) return;
    const { writer, timeoutMs } = parts.summaries;
    for (let next = conversation.missingSummary(); next; next = conversation.missingSummary()) {
      const { replaced, earlier } = next;
      const written = await askForSummary(writer, { messages: next.messages as readonly M[], earlier, timeoutMs });
      const answer = typeof written === 'string' ? { text: written } : written;
      await record({ type: 'context_summary', replaced, ...answer });
    }
  }

  /** Masks everything that the policy allows if the provider's cache has expired: then masking rewrites no cache. */
  async #maskWhileCold(): Promise<void> {
    const { conversation, parts, record } = this.#session;
    const { cacheLifeMs = Number.POSITIVE_INFINITY } = parts.conversation.policy;
    // After a restart of the process, the time of the last reply replaces the time of the last request.
    const idle_ms = parts.now() - (this.#sentAt ?? Date.parse(conversation.facts.replied ?? ''));
    if (!(idle_ms > cacheLifeMs)) return;
    const masks = conversation.view.coldMasks();
    if (masks.length > 0) await record({ type: 'cold_epoch', idle_ms, masks });
  }

  /** If the budget leaves out a message that a result refers to, records that the result is sent whole, and renders again. */
  async #render(options: Omit<RenderOptions<M>, 'cut'>): Promise<Rendered<M>> {
    const { conversation, record } = this.#session;
    for (;;) {
      const { view, facts } = conversation;
      const { rendered, lost } = renderHeld(view.messages(), { ...options, cut: facts.cut });
      const results = lost.length === 0 ? [] : view.shapedResults({ segments: lost });
      if (results.length === 0) return rendered;
      await record({ type: 'arrival_skipped', results, reason: 'messages that they refer to are left out' });
    }
  }
}

/** The limit of a session applies to its renders, unless a render names a window or a model of its own. */
function limitsOf<M>(limit: EffectiveLimit, { window, model }: RenderOptions<M>): RenderOptions<M> {
  const isOwn = window !== undefined || model !== undefined;
  return { ...(isOwn ? {} : { window: limit.limitTokens }), maxOutputTokens: limit.outputTokens };
}

const isOtherCut = (a: Cut | undefined, b: Cut | undefined): boolean =>
  JSON.stringify(a?.steps) !== JSON.stringify(b?.steps);

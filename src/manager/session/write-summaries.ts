import { type AsyncSummaryWriter, askForSummary, type SummaryLog } from '../../store/summary-log.ts';
import type { Rendered } from '../render-with-budget.ts';
import type { Conversation } from './conversation.ts';
import type { ContextSummary } from './session-event.ts';
import type { SessionView } from './session-view.ts';

/** How the summaries of a session are written. */
export interface SummaryWriting<M> {
  readonly writer: AsyncSummaryWriter<M>;
  readonly timeoutMs: number;
  readonly log: SummaryLog;
}

/** Writes the summaries that a session's view is missing, and records each before it asks for the next. */
export async function writeSummaries<M>(
  conversation: Conversation<M>,
  writing: SummaryWriting<M> | undefined,
  record: (event: ContextSummary) => Promise<void> | void,
): Promise<void> {
  if (!writing) return;
  const { writer, timeoutMs } = writing;
  for (let next = conversation.missingSummary(); next; next = conversation.missingSummary()) {
    const { replaced, earlier } = next;
    const written = await askForSummary(writer, { messages: next.messages as readonly M[], earlier, timeoutMs });
    const answer = typeof written === 'string' ? { text: written } : written;
    await record({ type: 'context_summary', replaced, ...answer });
  }
}

/** Adds the author of the summary to a rendered request. */
export function withAuthor<M>(rendered: Rendered<M>, { summaryAuthor }: SessionView<M>): Rendered<M> {
  return summaryAuthor ? { ...rendered, summary: summaryAuthor } : rendered;
}

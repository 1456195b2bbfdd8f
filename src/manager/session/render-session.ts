import type { Cut } from '../../plan/held-cut.ts';
import { type Rendered, type RenderOptions, renderHeld } from '../render-with-budget.ts';
import type { Conversation } from './conversation.ts';
import type { ArrivalSkipped } from './session-event.ts';

/**
 * Renders a conversation. If the budget leaves out a message that a result refers to, that result is sent whole from then on. The
 * session records this before it renders again.
 */
export async function renderSession<M>(
  conversation: Conversation<M>,
  options: Omit<RenderOptions<M>, 'cut'>,
  record: (event: ArrivalSkipped) => Promise<void> | void,
): Promise<Rendered<M>> {
  for (;;) {
    const { view } = conversation;
    const cut = conversation.cut as Cut | undefined;
    const { rendered, lost } = renderHeld(view.messages(), { ...options, cut });
    const results = lost.length === 0 ? [] : view.shapedResults({ segments: lost });
    if (results.length === 0) return rendered;
    await record({ type: 'arrival_skipped', results, reason: 'messages that they refer to are left out' });
  }
}

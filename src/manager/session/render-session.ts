import type { Cut } from '../../plan/held-cut.ts';
import { type Rendered, type RenderOptions, renderHeld } from '../render-with-budget.ts';
import type { Conversation } from './conversation.ts';
import type { ArrivalSkipped } from './session-event.ts';

/**
 * Renders a conversation. Where the budget leaves out messages that a result refers to, that result goes out whole from then
 * on: this is recorded before it is rendered again.
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

import type { OptIn } from '../wire/bound-thinking.ts';
import type { PlannedRequest } from './plan.ts';

/** Whether signed thinking is behind a mask of this request, or was behind one when it was written. */
export function mustOptIn(planned: PlannedRequest, firstEdited = Number.POSITIVE_INFINITY): boolean {
  if (!isThinkingBound(planned)) return false;
  const [firstSent = Number.POSITIVE_INFINITY] = planned.history.sent.texts.keys();
  return Math.min(firstEdited, firstSent) < planned.lastSigned || wasEditedElsewhere(planned);
}

/** Thinking in an answer to an edited request is bound to its masks, so an original that follows must opt in too. */
export function optInOfOriginal(planned: PlannedRequest): OptIn | undefined {
  const { request, history } = planned;
  const wasEdited = history.sent.texts.size > 0 || wasEditedElsewhere(planned);
  return wasEdited && isThinkingBound(planned) ? request.wire.boundThinking?.optIn(request) : undefined;
}

function isThinkingBound({ request, found, lastSigned }: PlannedRequest): boolean {
  const { boundThinking } = request.wire;
  if (!boundThinking || lastSigned < 0) return false;
  return boundThinking.isBound(request.model) || found.some(({ event }) => event.kind === 'bound-thinking');
}

/** Before it was left alone, for another model, or, as far as this gateway can know, before the store failed. */
function wasEditedElsewhere({ request, facts, found }: PlannedRequest): boolean {
  if (facts.storeTrouble) return true;
  return found.some(({ event }) =>
    event.kind === 'settings' ? event.model !== (request.model ?? '') : event.kind === 'hands-off' && event.wasEdited,
  );
}

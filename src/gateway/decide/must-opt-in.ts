import type { OptIn } from '../wire/bound-thinking.ts';
import type { SituatedRequest } from './situated-request.ts';

/** Whether thinking stands behind what is masked now, or was when it was thought. */
export function mustOptIn(situated: SituatedRequest, firstEdited = Number.POSITIVE_INFINITY): boolean {
  if (!isThinkingBound(situated)) return false;
  const { branch, lastSigned } = situated.planned;
  const [firstSent = Number.POSITIVE_INFINITY] = branch.sent.keys();
  return Math.min(firstEdited, firstSent) < lastSigned || wasEditedElsewhere(situated);
}

/** Thinking in an answer to an edited request is bound to what was masked: an original that follows must opt in too. */
export function optInOfOriginal(situated: SituatedRequest): OptIn | undefined {
  const wasEdited = situated.planned.branch.sent.size > 0 || wasEditedElsewhere(situated);
  const { request } = situated;
  return wasEdited && isThinkingBound(situated) ? request.wire.boundThinking?.optIn(request) : undefined;
}

function isThinkingBound({ request, found, planned }: SituatedRequest): boolean {
  const { boundThinking } = request.wire;
  if (!boundThinking || planned.lastSigned < 0) return false;
  return boundThinking.isBound(request.model) || found.some(({ event }) => event.kind === 'bound-thinking');
}

/** Before it was left alone, for another model, or, as far as anyone here knows, before the store went away. */
function wasEditedElsewhere({ request, facts, found }: SituatedRequest): boolean {
  if (facts.storeTrouble) return true;
  return found.some(({ event }) =>
    event.kind === 'settings' ? event.model !== (request.model ?? '') : event.kind === 'hands-off' && event.wasEdited,
  );
}

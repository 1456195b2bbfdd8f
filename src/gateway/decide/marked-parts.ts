import type { PlannedRequest } from './plan.ts';

/** Parts of a prompt that a cache with markers does not write, or writes for an hour, in tokens of ours. */
export interface MarkedParts {
  /** Behind the last marker: never written, never read. */
  readonly behind: number;
  /** Behind the last marker that asks for an hour. Undefined where none does. */
  readonly behindHour?: number;
}

/** The parts of a request in a prompt of this size. Undefined where it has no marker. */
export function markedParts(planned: PlannedRequest, tokens: number): MarkedParts | undefined {
  const { all, onMessages, automatic } = planned.request.markers;
  if (all.length === 0) return undefined;
  const last = planned.request.listed.length - 1;
  const behind = behindOf(planned, automatic ? last : onMessages.at(-1)?.message, tokens);
  if (!all.some(isForHour)) return { behind };
  const hour = automatic && isForHour(automatic) ? last : onMessages.findLast(({ place }) => isForHour(place))?.message;
  return { behind, behindHour: behindOf(planned, hour, tokens) };
}

const isForHour = ({ ttl }: { readonly ttl: string | undefined }): boolean => ttl === '1h';

/** Behind a message; or, if a marker is only on system prompt and tools, all messages. A marker is taken to be on its last block. */
function behindOf({ request, history }: PlannedRequest, message: number | undefined, tokens: number): number {
  if (message === undefined) return tokens - request.overhead.tokens;
  // The planner may have taken the messages of a later request meanwhile.
  const { ledger } = history.planner;
  return ledger.tokensFrom(message + 1) - ledger.tokensFrom(request.listed.length);
}

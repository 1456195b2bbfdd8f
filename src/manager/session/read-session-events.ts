import { damageFound } from './damage.ts';
import { diskPlace } from './disk-place.ts';
import type { SessionPlaceOptions } from './find-place.ts';
import type { EventOptions } from './session.ts';
import type { SessionEvent } from './session-event.ts';

/** Which log to read. */
export interface ReadSessionOptions extends SessionPlaceOptions {
  readonly id: string;
  /** Told of damaged events, which are left out. Warns if not given. */
  readonly onProblem?: (problem: Error) => void;
}

/** The log of a session, archive included, also while another process has it open. */
export function readSessionEvents<M = unknown>(
  { id, onProblem = (problem) => process.emitWarning(problem), ...place }: ReadSessionOptions,
  options: EventOptions = {},
): AsyncIterable<SessionEvent<M>> {
  const onDamage = (lines: number): void => onProblem(damageFound(id, { lines }));
  return diskPlace(place.directory as string).read<M>(id, { ...options, onDamage });
}

import { damageFound } from './damage.ts';
import { diskPlace } from './disk-place.ts';
import { findPlace, type SessionPlaceOptions } from './find-place.ts';
import type { ReadEventsOptions } from './read-events.ts';
import type { EventOptions } from './session.ts';
import type { SessionEvent } from './session-event.ts';

/** Which log to read. */
export interface ReadSessionOptions extends SessionPlaceOptions {
  readonly id: string;
  /** Called for damaged events, which are left out. Warns if not given. */
  readonly onProblem?: (problem: Error) => void;
}

/** The events of a session, archive included. Works while another process has the session open. */
export function readSessionEvents<M = unknown>(
  { id, onProblem = (problem) => process.emitWarning(problem), ...place }: ReadSessionOptions,
  options: EventOptions = {},
): AsyncIterable<SessionEvent<M>> {
  const onDamage = (lines: number): void => onProblem(damageFound(id, { lines }));
  const all = { ...options, onDamage };
  if (place.database === undefined) return diskPlace(place.directory as string).read<M>(id, all);
  return readFrom<M>(place, { ...all, id });
}

async function* readFrom<M>(
  options: SessionPlaceOptions,
  { id, ...all }: ReadEventsOptions & { readonly id: string },
): AsyncGenerator<SessionEvent<M>> {
  const place = await findPlace('readSessionEvents', options);
  try {
    yield* place.read<M>(id, all);
  } finally {
    await place.close();
  }
}

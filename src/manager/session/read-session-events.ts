import { checkOptions, func } from '../../options.ts';
import { sessionRule } from '../../store/store.ts';
import { diskPlace } from './disk/disk-place.ts';
import { findPlace, PLACE_RULES, type SessionPlaceOptions } from './find-place.ts';
import { damageFound } from './log/damage.ts';
import { checkEventOptions } from './log/select-events.ts';
import type { EventOptions } from './session.ts';
import type { SessionEvent } from './session-event.ts';
import type { SessionPlace } from './session-storage.ts';

/** Options of `readSessionEvents`. */
export interface ReadSessionOptions extends SessionPlaceOptions {
  /** The id of the session. */
  readonly id: string;
  /** Called for damaged events, which are left out. @default a warning of the process */
  readonly onProblem?: (problem: Error) => void;
}

/**
 * The events of a session, archive included. Works while another process has the session open.
 *
 * @example
 * ```ts
 * import { readSessionEvents } from 'palimpsest/manager';
 *
 * for await (const event of readSessionEvents({ directory: 'sessions', id: 'ticket-42' })) console.log(event.type);
 * ```
 */
export function readSessionEvents<M = unknown>(
  session: ReadSessionOptions,
  options: EventOptions = {},
): AsyncIterable<SessionEvent<M>> {
  checkOptions('readSessionEvents', session, { ...PLACE_RULES, id: sessionRule, onProblem: func }, ['id']);
  checkEventOptions('readSessionEvents', options);
  const { id, onProblem = (problem) => process.emitWarning(problem), ...place } = session;
  const readIn = (found: SessionPlace): AsyncIterable<SessionEvent<M>> => {
    const { names } = found;
    return found.read<M>(id, { ...options, onDamage: (lines) => onProblem(damageFound(id, { lines, names })) });
  };
  return place.database === undefined ? readIn(diskPlace(place.directory as string)) : readFrom<M>(place, readIn);
}

async function* readFrom<M>(
  options: SessionPlaceOptions,
  readIn: (place: SessionPlace) => AsyncIterable<SessionEvent<M>>,
): AsyncGenerator<SessionEvent<M>> {
  const place = await findPlace('readSessionEvents', options);
  try {
    yield* readIn(place);
  } finally {
    await place.close();
  }
}

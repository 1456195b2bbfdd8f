import { nodeDisk } from '../../store/embedded/disk.ts';
import { damageFound } from './damage.ts';
import { readEvents } from './read-events.ts';
import type { EventOptions } from './session.ts';
import type { SessionEvent } from './session-event.ts';
import { sessionFolder } from './session-folder.ts';

/** Which log to read. */
export interface ReadSessionOptions {
  readonly directory: string;
  readonly id: string;
  /** Told of damaged lines, which are left out. Warns if not given. */
  readonly onProblem?: (problem: Error) => void;
}

/** The log of a session, archive included, also while another process has it open. */
export function readSessionEvents<M = unknown>(
  { directory, id, onProblem = (problem) => process.emitWarning(problem) }: ReadSessionOptions,
  options: EventOptions = {},
): AsyncIterable<SessionEvent<M>> {
  const onDamage = (lines: number): void => onProblem(damageFound(id, { lines }));
  return readEvents<M>(nodeDisk, sessionFolder(directory, id), { ...options, onDamage });
}

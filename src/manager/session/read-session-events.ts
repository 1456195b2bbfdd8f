import { nodeDisk } from '../../store/embedded/disk.ts';
import { readEvents } from './read-events.ts';
import type { EventOptions } from './session.ts';
import type { SessionEvent } from './session-event.ts';
import { sessionFolder } from './session-folder.ts';

/** The log of a session, archive included, also while another process has it open. */
export function readSessionEvents<M = unknown>(
  { directory, id }: { readonly directory: string; readonly id: string },
  options: EventOptions = {},
): AsyncIterable<SessionEvent<M>> {
  return readEvents<M>(nodeDisk, sessionFolder(directory, id), options);
}

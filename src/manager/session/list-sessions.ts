import { badOption, checkOptions } from '../../options.ts';
import { listFolders } from './disk/list-folders.ts';
import { directoryRule } from './disk/session-folder.ts';
import { PLACE_RULES, type SessionPlaceOptions, withPlace } from './find-place.ts';
import type { SessionInfo } from './session-info.ts';

export type { SessionInfo } from './session-info.ts';

/**
 * The sessions in a directory or a database, sorted by id. Other files and folders are left out.
 *
 * @example
 * ```ts
 * import { listSessions } from 'palimpsest/manager';
 *
 * for (const { id, status, lastActive } of await listSessions('sessions')) console.log(id, status, lastActive);
 * ```
 */
export function listSessions(directory: string): SessionInfo[];
export function listSessions(place: SessionPlaceOptions): Promise<SessionInfo[]>;
export function listSessions(place: string | SessionPlaceOptions): SessionInfo[] | Promise<SessionInfo[]> {
  if (typeof place === 'string') return listFolders(place);
  if (typeof place !== 'object' || place === null) throw badOption('directory', directoryRule.expected, place);
  return listIn(place);
}

async function listIn(place: SessionPlaceOptions): Promise<SessionInfo[]> {
  checkOptions('listSessions', place, PLACE_RULES);
  return withPlace('listSessions', place, async (found) => [...(await found.list())]);
}

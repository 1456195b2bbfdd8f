import { isRecord } from '../../formats/lens.ts';
import { badOption, rule } from '../../options.ts';
import { diskPlace } from './disk/disk-place.ts';
import { directoryRule } from './disk/session-folder.ts';
import type { SessionDatabase } from './postgres/session-database.ts';
import type { SessionPlace } from './session-storage.ts';

/** The location of sessions: either a directory or a database. */
export interface SessionPlaceOptions {
  /** A folder with one subfolder per session. @default none */
  readonly directory?: string;
  /** A PostgreSQL database, which several machines can share. Needs the package `pg`. @default none */
  readonly database?: SessionDatabase;
}

/** The rules of these options. */
export const PLACE_RULES = {
  directory: directoryRule,
  database: rule(
    'a postgres:// address, a Pool of the package pg, or an object with one of them',
    (v) => (typeof v === 'string' && v !== '') || isRecord(v),
  ),
};

/** Opens the place that the options name. They were checked by `PLACE_RULES`. */
export async function findPlace(who: string, { directory, database }: SessionPlaceOptions): Promise<SessionPlace> {
  const expected = `${directoryRule.expected}, or the option database`;
  if (database === undefined && directory === undefined)
    throw badOption(`${who} option directory`, expected, directory);
  if (database === undefined) return diskPlace(directory as string);
  if (directory !== undefined)
    throw badOption(`${who} option directory`, 'left out, as there is a database', directory);
  // Loaded only if a database is given.
  const { postgresPlace } = await import('./postgres/postgres-place.ts');
  return postgresPlace(database);
}

/** Opens a place, runs the function, and closes the place. */
export async function withPlace<T>(
  who: string,
  options: SessionPlaceOptions,
  work: (place: SessionPlace) => Promise<T>,
): Promise<T> {
  const place = await findPlace(who, options);
  try {
    return await work(place);
  } finally {
    await place.close();
  }
}

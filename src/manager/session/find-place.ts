import { badOption } from '../../options.ts';
import { diskPlace } from './disk-place.ts';
import { directoryRule } from './session-folder.ts';
import type { SessionPlace } from './session-storage.ts';

/** Where sessions live. */
export interface SessionPlaceOptions {
  /** A folder that has one folder for each session. */
  readonly directory?: string;
}

/** The rules of these options. */
export const PLACE_RULES = { directory: directoryRule };

export async function findPlace(who: string, { directory }: SessionPlaceOptions): Promise<SessionPlace> {
  if (directory === undefined) throw badOption(`${who} option directory`, directoryRule.expected, directory);
  return diskPlace(directory);
}

/** Does something with a place, and closes it. */
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

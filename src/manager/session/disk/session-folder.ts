import { lstatSync, type Stats } from 'node:fs';
import { join, resolve } from 'node:path';
import { PalimpsestError } from '../../../errors.ts';
import { badOption, type Rule, rule } from '../../../options.ts';
import { isOfHome, NOT_OF_HOME } from '../../../store/check-input.ts';
import { checkSession } from '../../../store/store.ts';
import type { SessionNames } from '../session-storage.ts';

/** The log. */
export const EVENTS = 'events.jsonl';
/** The snapshot: the state that the events add up to. */
export const SNAPSHOT = 'state.yaml';
export const NAMES: SessionNames = { events: EVENTS, snapshot: SNAPSHOT };
/** Events that are no longer needed to continue. */
export const ARCHIVE = 'events.archive.jsonl';
/** Whole lines that recovery cut off, kept for inspection. */
export const TORN = 'events.torn.jsonl';
/** The last acknowledged event. The file exists while a session is open, and after its process was killed. */
export const SYNCED = 'events.synced';

/** The rule for a directory of sessions. An empty string would mean the working directory of the process. */
export const directoryRule: Rule = rule('a folder', (v) => typeof v === 'string' && v !== '');

/** The absolute path of the directory of sessions. */
export function sessionsDirectory(directory: string): string {
  if (!directoryRule.check(directory)) throw badOption('directory', directoryRule.expected, directory);
  if (isOfHome(directory)) throw badOption('directory', NOT_OF_HOME, directory);
  return resolve(directory);
}

/** The folder of a session. Throws for a link, which would lead to other files. */
export function sessionFolder(directory: string, id: string): string {
  checkSession(id);
  const folder = join(sessionsDirectory(directory), id);
  const found = look(folder);
  if (!found || found.isDirectory()) return folder;
  const what = found.isSymbolicLink() ? 'a symbolic link' : 'a file';
  throw new PalimpsestError('STORE_DAMAGED', `Expected a folder at ${folder} but found ${what}; take it away`);
}

function look(folder: string): Stats | undefined {
  try {
    return lstatSync(folder, { throwIfNoEntry: false });
  } catch (error) {
    throw unusable(error);
  }
}

/** The directory of sessions cannot be used or read. */
export function unusable(cause: unknown): PalimpsestError {
  const text = `Expected a folder for sessions but found: ${(cause as Error).message}; give another directory`;
  return new PalimpsestError('STORE_FAILED', text, { cause });
}

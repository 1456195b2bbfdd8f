import { lstatSync, type Stats } from 'node:fs';
import { join, resolve } from 'node:path';
import { PalimpsestError } from '../../errors.ts';
import { badOption, type Rule, rule } from '../../options.ts';
import { checkSession } from '../../store/store.ts';

/** What a directory of sessions may be. An empty text would be the folder in which the process runs. */
export const directoryRule: Rule = rule('a folder', (v) => typeof v === 'string' && v !== '');

/** The directory of sessions in full. */
export function sessionsDirectory(directory: string): string {
  if (!directoryRule.check(directory)) throw badOption('directory', directoryRule.expected, directory);
  return resolve(directory);
}

/** The folder of a session. A link in its place would lead to files that are not the session's. */
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

/** Where sessions should be, there is something that cannot hold or show them. */
export function unusable(cause: unknown): PalimpsestError {
  const text = `Expected a folder for sessions but found: ${(cause as Error).message}; give another directory`;
  return new PalimpsestError('STORE_FAILED', text, { cause });
}

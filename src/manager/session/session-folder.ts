import { lstatSync, type Stats } from 'node:fs';
import { join, resolve } from 'node:path';
import { PalimpsestError } from '../../errors.ts';
import { badOption } from '../../options.ts';
import { checkSession } from '../../store/store.ts';

/** The folder of a session. A link in its place would lead to files that are not the session's. */
export function sessionFolder(directory: string, id: string): string {
  if (typeof directory !== 'string') throw badOption('directory', 'a folder', directory);
  checkSession(id);
  const folder = join(resolve(directory), id);
  const found = look(folder);
  if (!found || found.isDirectory()) return folder;
  const what = found.isSymbolicLink() ? 'a symbolic link' : 'a file';
  throw new PalimpsestError('STORE_DAMAGED', `Expected a folder at ${folder} but found ${what}; take it away`);
}

function look(folder: string): Stats | undefined {
  try {
    return lstatSync(folder, { throwIfNoEntry: false });
  } catch (error) {
    const text = `Expected a folder for sessions but found: ${(error as Error).message}; give another directory`;
    throw new PalimpsestError('STORE_FAILED', text, { cause: error });
  }
}

import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { asString, isRecord } from '../../formats/lens.ts';
import { type Fields, parseObject } from './json-values.ts';
import { fieldsOf } from './usage.ts';

/** The folders of OpenCode's storage. The first has a file for each session; messages and their parts are in other files. */
export const STORAGE_FOLDERS = ['session', 'message', 'part'];

/** Whether a record is a session of the storage folder. */
export const isStoredSession = ({ id, projectID, time }: Fields): boolean =>
  typeof id === 'string' && typeof projectID === 'string' && isRecord(time);

/** The messages of a session in `storage/session/<project>/`, as an export has them. */
export function storedMessages({ id }: Fields, file: string): readonly Fields[] {
  const storage = dirname(dirname(dirname(file)));
  const infos = objectsIn(join(storage, 'message', basename(String(id)))).sort((a, b) => created(a) - created(b));
  return infos.map((info) => ({ info, parts: objectsIn(join(storage, 'part', basename(asString(info.id) ?? ''))) }));
}

const created = ({ time }: Fields): number => Number(fieldsOf(time).created ?? 0);

/** The objects in the files of a folder, by name. Unreadable files are left out. */
function objectsIn(folder: string): Fields[] {
  return namesIn(folder)
    .map((name) => parseObject(textIn(join(folder, name))))
    .filter((value) => value !== undefined);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

function textIn(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

import { chmodSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { type Disk, nodeDisk } from '../../../store/embedded/disk.ts';
import type { SessionPlace, SessionStorage } from '../session-storage.ts';
import { deleteFolder } from './delete-folder.ts';
import { DiskStorage } from './disk-storage.ts';
import { listFolders } from './list-folders.ts';
import { lockSession } from './lock-session.ts';
import { UNSHARED } from './open-log.ts';
import { readEvents } from './read-events.ts';
import { EVENTS, NAMES, sessionFolder } from './session-folder.ts';

/** Sessions in a directory, each in a folder of its own. */
export function diskPlace(directory: string, disk: Disk = nodeDisk): SessionPlace {
  return {
    names: NAMES,
    open: (id, onProblem) => openFolder(sessionFolder(directory, id), { id, disk, onProblem }),
    list: async () => listFolders(directory),
    read: (id, options) => readEvents(disk, sessionFolder(directory, id), options),
    lastWritten: async (id, now) => lastWritten(join(sessionFolder(directory, id), EVENTS), now),
    delete: (id, known) => deleteFolder({ directory, id, events: known?.events }),
    close: async () => {},
  };
}

async function openFolder<M>(
  folder: string,
  { id, disk, onProblem }: { readonly id: string; readonly disk: Disk; readonly onProblem: (problem: Error) => void },
): Promise<SessionStorage<M>> {
  // A replacement disk exists in this process only, so no lock is needed.
  if (disk !== nodeDisk) return DiskStorage.open<M>({ disk, folder, ...UNSHARED, onProblem });
  await disk.makeFolder(folder);
  chmodSync(folder, 0o700);
  const lock = lockSession(folder, id);
  try {
    return await DiskStorage.open<M>({ disk, folder, ...lock, onProblem });
  } catch (error) {
    lock.release();
    throw error;
  }
}

function lastWritten(log: string, now: number): number {
  const written = statSync(log).mtimeMs;
  if (written <= now) return written;
  utimesSync(log, new Date(now), new Date(now));
  return now;
}

import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { nodeDisk } from '../../../store/embedded/disk.ts';
import { readInfo } from './list-folders.ts';
import { lockSession } from './lock-session.ts';
import { sessionFolder } from './session-folder.ts';

interface DeleteOptions {
  readonly directory: string;
  readonly id: string;
  /** A session that has more events stays. */
  readonly events?: number | undefined;
}

/** Removes the folder of a session. Answers whether it did. Throws where a process has it open. */
export async function deleteFolder({ directory, id, events }: DeleteOptions): Promise<boolean> {
  const folder = sessionFolder(directory, id);
  // A session id has no dot, so a half-deleted folder cannot be opened. The next call removes the rest.
  const doomed = `${folder}.deleted`;
  const [isThere, isHalfway] = [nodeDisk.exists(folder), nodeDisk.exists(doomed)];
  if (isHalfway) rmSync(doomed, { recursive: true, force: true });
  if (isThere && !(await moveAway(folder, { id, to: doomed, events }))) return false;
  if (!isThere && !isHalfway) return false;
  rmSync(doomed, { recursive: true, force: true });
  await nodeDisk.syncFolder(dirname(folder));
  return true;
}

async function moveAway(
  folder: string,
  { id, to, events }: Pick<DeleteOptions, 'id' | 'events'> & { readonly to: string },
): Promise<boolean> {
  const lock = lockSession(folder, id);
  try {
    if (events !== undefined && (readInfo(nodeDisk, folder, id)?.events ?? 0) > events) return false;
    await nodeDisk.rename(folder, to);
    return true;
  } finally {
    lock.release();
  }
}

import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { nodeDisk } from '../../store/embedded/disk.ts';
import { lockSession } from './lock-session.ts';
import { sessionFolder } from './session-folder.ts';

/** Removes the folder of a session. Answers whether there was one. Throws where a process has it open. */
export async function deleteFolder({
  directory,
  id,
}: {
  readonly directory: string;
  readonly id: string;
}): Promise<boolean> {
  const folder = sessionFolder(directory, id);
  // A session id has no dot, so a half-deleted folder cannot be opened. The next call removes the rest.
  const doomed = `${folder}.deleted`;
  const [isThere, isHalfway] = [nodeDisk.exists(folder), nodeDisk.exists(doomed)];
  if (isHalfway) rmSync(doomed, { recursive: true, force: true });
  if (isThere) await moveAway(folder, { id, to: doomed });
  if (!isThere && !isHalfway) return false;
  rmSync(doomed, { recursive: true, force: true });
  await nodeDisk.syncFolder(dirname(folder));
  return true;
}

async function moveAway(folder: string, { id, to }: { readonly id: string; readonly to: string }): Promise<void> {
  const lock = lockSession(folder, id);
  try {
    await nodeDisk.rename(folder, to);
  } finally {
    lock.release();
  }
}

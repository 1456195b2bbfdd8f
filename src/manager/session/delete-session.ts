import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { nodeDisk } from '../../store/embedded/disk.ts';
import { Lock } from '../../store/embedded/lock.ts';
import { sessionFolder } from './session-folder.ts';

/** Removes a session and all that was ever said in it. Answers whether there was one. Throws where a process has it open. */
export async function deleteSession({
  directory,
  id,
}: {
  readonly directory: string;
  readonly id: string;
}): Promise<boolean> {
  const folder = sessionFolder(directory, id);
  if (!nodeDisk.exists(folder)) return false;
  const lock = Lock.take(join(folder, 'lock'), { what: `the session ${id}`, remedy: 'close it there first' });
  try {
    rmSync(folder, { recursive: true });
    await nodeDisk.syncFolder(dirname(folder));
    return true;
  } finally {
    lock.release();
  }
}

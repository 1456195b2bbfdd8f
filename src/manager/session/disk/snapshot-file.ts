import { join } from 'node:path';
import type { Disk } from '../../../store/embedded/disk.ts';
import { readSnapshotText, type Snapshot, snapshotText } from '../log/snapshot.ts';
import { readAt } from './lines.ts';
import { type DiskSession, replaceFile } from './open-log.ts';
import { NAMES, SNAPSHOT } from './session-folder.ts';

/** Replaces the snapshot. Readers find the old one or the new one, also after a crash. */
export async function writeSnapshot<M>(session: DiskSession, snapshot: Snapshot<M>): Promise<void> {
  const bytes = Buffer.from(snapshotText(snapshot, NAMES));
  const file = await replaceFile(session, SNAPSHOT, (draft) => draft.write(bytes, 0));
  file.close();
}

/** Undefined if there is no snapshot. Throws if it cannot be read. */
export function readSnapshot<M>(disk: Disk, folder: string): Snapshot<M> | undefined {
  const path = join(folder, SNAPSHOT);
  if (!disk.exists(path)) return undefined;
  const file = disk.open(path, 'read');
  try {
    return readSnapshotText(readAt(file, { offset: 0, bytes: file.size() }).toString('utf8'));
  } finally {
    file.close();
  }
}

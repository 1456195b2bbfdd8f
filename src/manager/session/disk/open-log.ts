import { dirname, join } from 'node:path';
import type { Disk, DiskFile } from '../../../store/embedded/disk.ts';
import { readPieces, writePieces } from './lines.ts';
import { ARCHIVE, EVENTS } from './session-folder.ts';

/**
 * The right to write the files of a session. The previous writer may still run without knowing that it lost the lock. Two rules keep the
 * files safe:
 * - Open a file, call `mayWrite`, then write. So the file is never one that a later writer made.
 * - To replace a file, write a draft under this writer's suffix, call `mayWrite`, then rename the draft.
 */
export interface Writing {
  /** Throws if another process has taken over. */
  readonly mayWrite: () => void;
  /** The previous writer may still run and write to the files that it has open. */
  readonly isContested: boolean;
  /** Ends the names of drafts. Each writer has its own suffix. */
  readonly draftSuffix: string;
  /** Called when everything that this writer uses is in files of its own. */
  readonly onOwnFiles: () => void;
  /** Called after the last write. */
  readonly release: () => void;
}

/** A session on disk, opened for writing. */
export interface DiskSession extends Writing {
  readonly disk: Disk;
  readonly folder: string;
  readonly onProblem: (problem: Error) => void;
}

/** For a session that no other process can reach. */
export const UNSHARED: Writing = {
  mayWrite: () => {},
  isContested: false,
  draftSuffix: '.new',
  onOwnFiles: () => {},
  release: () => {},
};

/**
 * Opens the log for writing. If the previous writer may still run, log and archive are copied, because it has the old files open.
 */
export async function openLog(session: DiskSession): Promise<DiskFile> {
  const { disk, folder, isContested, mayWrite, onOwnFiles } = session;
  removeDrafts(session);
  if (isContested && disk.exists(join(folder, ARCHIVE))) (await replaceByCopy(session, ARCHIVE)).close();
  const path = join(folder, EVENTS);
  const isThere = disk.exists(path);
  const file =
    isContested && isThere ? await replaceByCopy(session, EVENTS) : disk.open(path, isThere ? 'write' : 'create');
  try {
    // The log's name may not be synced yet: the file is new, or a process was killed right after a compaction.
    if (file.size() === 0) await disk.syncFolder(dirname(folder));
    await disk.syncFolder(folder);
    mayWrite();
    onOwnFiles();
    return file;
  } catch (error) {
    file.close();
    throw error;
  }
}

/** Stops a writer that lost its lock from renaming a draft. Later writers have no drafts yet while this one holds the lock. */
function removeDrafts({ disk, folder, mayWrite }: DiskSession): void {
  const drafts = disk.list(folder).filter((name) => name.endsWith(UNSHARED.draftSuffix));
  mayWrite();
  for (const name of drafts) disk.remove(join(folder, name));
}

async function replaceByCopy(session: DiskSession, name: string): Promise<DiskFile> {
  const old = session.disk.open(join(session.folder, name), 'read');
  try {
    return await replaceFile(session, name, (file) => {
      writePieces(file, 0, readPieces(old, 0, old.size()));
    });
  } finally {
    old.close();
  }
}

/** Replaces a file by a rename. Readers find the old file or the new one, also after a crash. */
export async function replaceFile(
  { disk, folder, draftSuffix, mayWrite }: DiskSession,
  name: string,
  write: (file: DiskFile) => void,
): Promise<DiskFile> {
  const draft = join(folder, `${name}${draftSuffix}`);
  disk.remove(draft);
  const file = disk.open(draft, 'create');
  try {
    write(file);
    await file.sync();
    mayWrite();
    await disk.rename(draft, join(folder, name));
    return file;
  } catch (error) {
    file.close();
    // Its part of a full disk is room for events.
    disk.remove(draft);
    throw error;
  }
}

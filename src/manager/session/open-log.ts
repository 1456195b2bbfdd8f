import { dirname, join } from 'node:path';
import type { Disk, DiskFile } from '../../store/embedded/disk.ts';
import { readPieces } from './lines.ts';
import { ARCHIVE, EVENTS } from './session-files.ts';
import { writePieces } from './write-pieces.ts';

/**
 * A session as its writer has it. The writer before may still be running and not know that it lost the lock, so:
 * - A file is opened, then `mayWrite` is called, then the file is written. It is never one that a later writer made.
 * - A file that replaces another is written under a name of this writer, then `mayWrite` is called, then it is renamed.
 */
export interface WrittenSession {
  readonly disk: Disk;
  readonly folder: string;
  /** Throws where another process has taken over. */
  readonly mayWrite: () => void;
  /** The writer before may still be running, and write to the files that it has open. */
  readonly isContested: boolean;
  /** Ends the names of files that are to replace others. No other writer has the same. */
  readonly draftSuffix: string;
  /** Called when everything that this writer uses is in files of its own. */
  readonly onOwnFiles: () => void;
}

/** A session that no other process can reach. */
export const UNSHARED: Omit<WrittenSession, 'disk' | 'folder'> = {
  mayWrite: () => {},
  isContested: false,
  draftSuffix: '.new',
  onOwnFiles: () => {},
};

/** Opens the log to write. Where the writer before may still be running, log and archive are copied: it has the old files. */
export async function openLog(session: WrittenSession): Promise<DiskFile> {
  const { disk, folder, isContested, mayWrite, onOwnFiles } = session;
  removeDrafts(session);
  if (isContested && disk.exists(join(folder, ARCHIVE))) (await replaceByCopy(session, ARCHIVE)).close();
  const path = join(folder, EVENTS);
  const isThere = disk.exists(path);
  const file =
    isContested && isThere ? await replaceByCopy(session, EVENTS) : disk.open(path, isThere ? 'write' : 'create');
  try {
    // Its name may be new, or that of a compacted log, and a process was killed before it could sync it.
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

/** Keeps a writer that lost its lock from a rename. Drafts of a later writer are not there yet when this one has the lock. */
function removeDrafts({ disk, folder, mayWrite }: WrittenSession): void {
  const drafts = disk.list(folder).filter((name) => name.endsWith(UNSHARED.draftSuffix));
  mayWrite();
  for (const name of drafts) disk.remove(join(folder, name));
}

async function replaceByCopy(session: WrittenSession, name: string): Promise<DiskFile> {
  const old = session.disk.open(join(session.folder, name), 'read');
  try {
    return await replaceFile(session, name, (file) => {
      writePieces(file, 0, readPieces(old, 0, old.size()));
    });
  } finally {
    old.close();
  }
}

/** Writes a file and gives it its name: whoever reads finds the old one or the new one, also after a crash. */
export async function replaceFile(
  { disk, folder, draftSuffix, mayWrite }: Pick<WrittenSession, 'disk' | 'folder' | 'draftSuffix' | 'mayWrite'>,
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
    throw error;
  }
}

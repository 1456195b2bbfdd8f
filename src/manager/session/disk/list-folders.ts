import { type Dirent, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Disk, nodeDisk } from '../../../store/embedded/disk.ts';
import { isSessionId } from '../../../store/store.ts';
import { changesBy, nothingKnown, type SessionInfo } from '../session-info.ts';
import { lastPart, readLog } from './read-log.ts';
import { EVENTS, sessionsDirectory, unusable } from './session-folder.ts';
import { readSnapshot } from './snapshot-file.ts';

/** The sessions in a directory, sorted by id. Other files and folders are left out. */
export function listFolders(directory: string): SessionInfo[] {
  const folder = sessionsDirectory(directory);
  return entriesOf(folder)
    .filter((entry) => entry.isDirectory() && isSessionId(entry.name))
    .map(({ name }) => name)
    .sort()
    .flatMap((id) => readIfThere(join(folder, id), id) ?? []);
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw unusable(error);
  }
}

/** Undefined if the log is a link, which leads elsewhere, or if the session is being deleted. */
function readIfThere(folder: string, id: string): SessionInfo | undefined {
  try {
    return readInfo(nodeDisk, folder, id);
  } catch (error) {
    if (['STORE_DAMAGED', 'ENOENT'].includes((error as { code?: string }).code ?? '')) return undefined;
    throw error;
  }
}

/** Reads only the events after the snapshot. */
export function readInfo(disk: Disk, folder: string, id: string): SessionInfo | undefined {
  const path = join(folder, EVENTS);
  if (!disk.exists(path)) return undefined;
  const file = disk.open(path, 'read');
  try {
    const start = knownInfo(disk, folder, id);
    const last = start.offset <= file.size() ? lastPart(file, start.offset) : undefined;
    const isSound = last?.kind === 'event' && last.event.seq === start.info.events;
    const { offset, info } = isSound ? start : { offset: 0, info: nothingKnown(id) };
    let found = info;
    for (const part of readLog<unknown>(file, offset)) {
      const event = part.kind === 'event' && part.isWhole ? part.event : undefined;
      if (event && event.seq > found.events)
        found = { ...found, ...changesBy(event), events: event.seq, lastActive: event.time };
    }
    return found.events > 0 ? found : undefined;
  } finally {
    file.close();
  }
}

function knownInfo(disk: Disk, folder: string, id: string): { offset: number; info: SessionInfo } {
  try {
    const snapshot = readSnapshot(disk, folder);
    if (!snapshot) return { offset: 0, info: nothingKnown(id) };
    const { format, seq, time, offset, state } = snapshot;
    return { offset, info: { id, format, status: state.status, number: state.number, events: seq, lastActive: time } };
  } catch {
    return { offset: 0, info: nothingKnown(id) };
  }
}

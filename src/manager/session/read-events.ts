import { join } from 'node:path';
import type { Disk, DiskFile } from '../../store/embedded/disk.ts';
import { readEvent } from './event-line.ts';
import { readLines } from './lines.ts';
import type { EventOptions } from './session.ts';
import type { SessionEvent } from './session-event.ts';
import { ARCHIVE, EVENTS } from './session-files.ts';

/** The events of a session, from its archive and its log, each once and in order. No lock is needed. */
export async function* readEvents<M>(
  disk: Disk,
  folder: string,
  { afterSeq = 0, types }: EventOptions = {},
): AsyncGenerator<SessionEvent<M>> {
  const files: DiskFile[] = [];
  const open = (name: string): DiskFile | undefined => {
    const path = join(folder, name);
    if (!disk.exists(path)) return undefined;
    const file = disk.open(path, 'read');
    files.push(file);
    return file;
  };
  try {
    // The log first: what a compaction moves between the two is then read twice rather than never.
    const log = open(EVENTS);
    const archiveBytes = log ? soundArchive(log) : 0;
    const archive = archiveBytes > 0 ? open(ARCHIVE) : undefined;
    let last = afterSeq;
    for (const [file, to] of [[archive, archiveBytes] as const, [log, undefined] as const]) {
      if (!file) continue;
      for (const { text, isWhole } of readLines(file, 0, to)) {
        const event = isWhole ? readEvent<M>(text)?.event : undefined;
        if (!event || event.seq <= last) continue;
        last = event.seq;
        if (types ? types.includes(event.type) : event.type !== 'checkpoint') yield event;
      }
    }
  } finally {
    for (const file of files) file.close();
  }
}

const FIRST = /^\{"seq":1,/;
const CHECKPOINT = /^\{"seq":\d+,"time":"[^"]*",(?:"batch":\d+,)?"type":"checkpoint"/;

/** How much of the archive was synced when the log was last rewritten: all, where what tells so is damaged. */
function soundArchive(log: DiskFile): number {
  for (const { text } of readLines(log, 0)) {
    if (FIRST.test(text)) return 0;
    const event = CHECKPOINT.test(text) ? readEvent(text)?.event : undefined;
    if (event?.type === 'checkpoint') return event.archive_bytes;
  }
  return Number.MAX_SAFE_INTEGER;
}

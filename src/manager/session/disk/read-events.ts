import { join } from 'node:path';
import type { Disk, DiskFile } from '../../../store/embedded/disk.ts';
import { readEvent } from '../log/event-line.ts';
import { type LogLine, selectEvents } from '../log/select-events.ts';
import type { SessionEvent } from '../session-event.ts';
import type { ReadEventsOptions } from '../session-storage.ts';
import { readLines } from './lines.ts';
import { readLog } from './read-log.ts';
import { ARCHIVE, EVENTS } from './session-folder.ts';

/** The events of a session, from its archive and its log, each once and in order. No lock is needed. */
export function readEvents<M>(disk: Disk, folder: string, options: ReadEventsOptions): AsyncGenerator<SessionEvent<M>> {
  return selectEvents(linesIn<M>(disk, folder), options);
}

type Lines<M> = Generator<LogLine<M>, void>;

function* linesIn<M>(disk: Disk, folder: string): Lines<M> {
  const files: DiskFile[] = [];
  const open = (name: string): DiskFile | undefined => {
    const path = join(folder, name);
    if (!disk.exists(path)) return undefined;
    const file = disk.open(path, 'read');
    files.push(file);
    return file;
  };
  try {
    // The log is opened first: an event that a compaction moves meanwhile is then read twice rather than never.
    const log = open(EVENTS);
    const archiveBytes = log ? soundArchive(log) : 0;
    const archive = archiveBytes > 0 ? open(ARCHIVE) : undefined;
    yield* merged<M>(eventsIn<M>(archive, archiveBytes), eventsIn<M>(log));
  } finally {
    for (const file of files) file.close();
  }
}

/** Merges two lists by sequence number. A line that a compaction kept is in both, and one copy may be damaged. */
function* merged<M>(archive: Lines<M>, log: Lines<M>): Lines<M> {
  const seqOf = ({ event }: LogLine<M>): number => event?.seq ?? 0;
  let [archived, logged] = [archive.next(), log.next()];
  while (!archived.done || !logged.done) {
    if (!archived.done && (logged.done || seqOf(archived.value) <= seqOf(logged.value))) {
      yield archived.value;
      archived = archive.next();
    } else if (!logged.done) {
      yield logged.value;
      logged = log.next();
    }
  }
}

function* eventsIn<M>(file: DiskFile | undefined, to?: number): Lines<M> {
  if (!file) return;
  for (const part of readLog<M>(file, 0, to)) {
    if (part.kind === 'event' && part.isWhole) yield part;
    // A last line without its newline may still be being written, so it is not damage.
    else if (part.kind === 'damage' && part.isWhole) yield { event: undefined };
  }
}

/** The number of archive bytes that were synced when the log was last rewritten. All bytes count if that record is damaged. */
function soundArchive(log: DiskFile): number {
  for (const { text } of readLines(log, 0)) {
    const event = FIRST.test(text) || CHECKPOINT.test(text) ? readEvent(text)?.event : undefined;
    if (event?.seq === 1) return 0;
    if (event?.type === 'checkpoint') return event.archive_bytes;
  }
  return Number.MAX_SAFE_INTEGER;
}

const FIRST = /^\{"crc32":"[0-9a-f]{8}","seq":1,/;
const CHECKPOINT = /^\{"crc32":"[0-9a-f]{8}","seq":\d+,"time":"[^"]*",(?:"batch":\d+,)?"type":"checkpoint"/;

import { join } from 'node:path';
import type { Disk, DiskFile } from '../../store/embedded/disk.ts';
import { readEvent } from './event-line.ts';
import { lastLine, type Place, readAt, readLines } from './lines.ts';
import { ARCHIVE, EVENTS } from './session-files.ts';
import { writePieces } from './write-pieces.ts';

const DRAFT = 'events.jsonl.new';

/**
 * Appends to the archive every event that it does not have yet. Durable when it resolves; answers how long it is then.
 * Only so many bytes as the last checkpoint tells of are known to be sound: more was left by a crash.
 */
export async function archiveEvents(
  disk: Disk,
  folder: string,
  { events, soundBytes }: { readonly events: DiskFile; readonly soundBytes: number },
): Promise<number> {
  const path = join(folder, ARCHIVE);
  const isNew = !disk.exists(path);
  const archive = disk.open(path, isNew ? 'create' : 'write');
  let size: number;
  try {
    const { position, seq } = archiveEnd(archive, soundBytes);
    archive.truncate(position);
    try {
      size = writePieces(archive, position, linesAfter(events, seq));
      await archive.sync();
    } catch (error) {
      // Half a batch would be half a line.
      archive.truncate(position);
      throw error;
    }
  } finally {
    archive.close();
  }
  if (isNew) await disk.syncFolder(folder);
  return size;
}

/** Where the last sound line of an archive ends, and which event it is. */
export function archiveEnd(archive: DiskFile, soundBytes: number): { readonly position: number; readonly seq: number } {
  for (let position = Math.min(archive.size(), soundBytes); position > 0; ) {
    const line = lastLine(archive, position);
    if (!line) break;
    const seq = line.isWhole ? seqOf(line.text) : undefined;
    if (seq !== undefined) return { position: line.offset + line.bytes, seq };
    position = line.offset;
  }
  return { position: 0, seq: 0 };
}

function* linesAfter(events: DiskFile, seq: number): Generator<Buffer> {
  for (const line of readLines(events, 0))
    if ((seqOf(line.text) ?? Number.POSITIVE_INFINITY) > seq) yield readAt(events, line);
}

/** It stands first in every line that nobody else wrote. */
function seqOf(line: string): number | undefined {
  const found = /^\{"seq":(\d+),/.exec(line)?.[1];
  return found === undefined ? readEvent(line)?.event.seq : Number(found);
}

/** A log that is to take the place of the old one. */
export interface Rewritten {
  readonly file: DiskFile;
  readonly size: number;
  /** Where each line stands now, by where it stood. */
  readonly places: ReadonlyMap<number, Place>;
}

interface RewriteOptions {
  readonly events: DiskFile;
  readonly kept: readonly Place[];
  readonly last: string;
}

/** Writes a log with only these lines and one more, beside the old one. Durable when it resolves. */
export async function rewriteEvents(
  disk: Disk,
  folder: string,
  { events, kept, last }: RewriteOptions,
): Promise<Rewritten> {
  const draft = join(folder, DRAFT);
  disk.remove(draft);
  const file = disk.open(draft, 'create');
  const places = new Map<number, Place>();
  try {
    const position = writePieces(file, 0, movedTo(events, kept, places));
    const bytes = Buffer.from(last);
    file.write(bytes, position);
    await file.sync();
    return { file, size: position + bytes.length, places };
  } catch (error) {
    file.close();
    disk.remove(draft);
    throw error;
  }
}

/** Puts the new log in the place of the old one. Where it fails, `hasMoved` tells which of the two now has the name. */
export async function replaceEvents(disk: Disk, folder: string): Promise<{ hasMoved: boolean; error?: Error }> {
  const draft = join(folder, DRAFT);
  try {
    await disk.rename(draft, join(folder, EVENTS));
    return { hasMoved: true };
  } catch (error) {
    return { hasMoved: !disk.exists(draft), error: error as Error };
  }
}

function* movedTo(events: DiskFile, kept: readonly Place[], places: Map<number, Place>): Generator<Buffer> {
  let offset = 0;
  for (const place of kept) {
    places.set(place.offset, { offset, bytes: place.bytes });
    offset += place.bytes;
    yield readAt(events, place);
  }
}

import { join } from 'node:path';
import type { DiskFile } from '../../../store/embedded/disk.ts';
import { type Place, unseal } from '../log/event-line.ts';
import { type Line, lastLine, readAt, readLines, writePieces } from './lines.ts';
import type { DiskSession } from './open-log.ts';
import { ARCHIVE, EVENTS } from './session-folder.ts';

/**
 * Appends to the archive all new events and all damaged lines. Durable when it resolves. Answers the length of the archive. The
 * last checkpoint records how many bytes are sound. Bytes after them were left by a crash and are written again.
 */
export async function archiveEvents(
  { disk, folder, mayWrite }: DiskSession,
  { events, soundBytes }: { readonly events: DiskFile; readonly soundBytes: number },
): Promise<number> {
  const path = join(folder, ARCHIVE);
  const isNew = !disk.exists(path);
  const archive = disk.open(path, isNew ? 'create' : 'write');
  let size: number;
  try {
    mayWrite();
    const { position, seq } = archiveEnd(archive, soundBytes);
    archive.truncate(position);
    try {
      size = writePieces(archive, position, linesAfter(events, seq));
      await archive.sync();
    } catch (error) {
      // A failed write may end in the middle of a line.
      archive.truncate(position);
      throw error;
    }
  } finally {
    archive.close();
  }
  if (isNew) await disk.syncFolder(folder);
  return size;
}

/** The end of an archive, and the last readable event in it. Damaged lines before the end stay. */
export function archiveEnd(archive: DiskFile, soundBytes: number): { readonly position: number; readonly seq: number } {
  const end = Math.min(archive.size(), soundBytes);
  let position = end;
  for (let line = lastLine(archive, end); line; line = lastLine(archive, line.offset)) {
    // Half a line, in an archive whose length is not known.
    if (!line.isWhole && end < soundBytes) position = line.offset;
    const seq = seqOf(line);
    if (seq !== undefined) return { position, seq };
  }
  return { position, seq: 0 };
}

function* linesAfter(events: DiskFile, seq: number): Generator<Buffer> {
  for (const line of readLines(events, 0)) {
    const number = seqOf(line);
    if (number === undefined || number > seq) yield readAt(events, line);
  }
}

/** The number of an event. Undefined for a damaged line. */
function seqOf({ text, isWhole }: Line): number | undefined {
  const found = isWhole ? SEQ.exec(text)?.[1] : undefined;
  return found === undefined || unseal(text) === undefined ? undefined : Number(found);
}

const SEQ = /^\{"crc32":"[0-9a-f]{8}","seq":(\d+),/;

/** A new log that will replace the old one. */
interface Rewritten {
  readonly file: DiskFile;
  readonly size: number;
  /** The new position of each line, by its old offset. */
  readonly places: ReadonlyMap<number, Place>;
}

/** Writes a draft of the log with these lines and one more. Durable when it resolves. */
export async function rewriteEvents(
  { disk, folder, draftSuffix }: DiskSession,
  { events, kept, last }: { readonly events: DiskFile; readonly kept: readonly Place[]; readonly last: string },
): Promise<Rewritten> {
  const draft = join(folder, `${EVENTS}${draftSuffix}`);
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

/** Renames the draft to the log. On failure, `hasMoved` says whether the new log has the name. */
export async function replaceEvents({
  disk,
  folder,
  draftSuffix,
  mayWrite,
}: DiskSession): Promise<{ hasMoved: boolean; error?: Error }> {
  const draft = join(folder, `${EVENTS}${draftSuffix}`);
  let isAllowed = false;
  try {
    mayWrite();
    isAllowed = true;
    await disk.rename(draft, join(folder, EVENTS));
    return { hasMoved: true };
  } catch (error) {
    // The next writer removes drafts, so a missing draft alone does not prove that the rename succeeded.
    const isRemoved = (error as NodeJS.ErrnoException).code === 'ENOENT';
    return { hasMoved: isAllowed && !isRemoved && !disk.exists(draft), error: error as Error };
  }
}

function* movedTo(events: DiskFile, kept: readonly Place[], places: Map<number, Place>): Generator<Buffer> {
  let offset = 0;
  for (const place of kept) {
    const bytes = readAt(events, place);
    const line = [bytes.subarray(0, -1), bytes].map(String).find((text) => unseal(text) !== undefined);
    const moved = line === undefined ? bytes : Buffer.from(`${line}\n`);
    places.set(place.offset, { offset, bytes: moved.length });
    offset += moved.length;
    yield moved;
  }
}

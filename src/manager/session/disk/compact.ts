import { join } from 'node:path';
import type { DiskFile } from '../../../store/embedded/disk.ts';
import { type Place, readEvent, toLine, unseal } from '../log/event-line.ts';
import { inOrder, type LineNumber } from './line-order.ts';
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
  /** The number in a last line without a checksum. It may be damaged. */
  let unsealed: number | undefined;
  for (let line = lastLine(archive, end); line; line = lastLine(archive, line.offset)) {
    // Half a line, in an archive whose length is not known.
    if (!line.isWhole && end < soundBytes) position = line.offset;
    const number = numberOf(line);
    if (!number) continue;
    if (unsealed !== undefined)
      return { position, seq: unsealed === number.seq + 1 ? unsealed : Math.min(unsealed, number.seq) };
    if (number.isSealed) return { position, seq: number.seq };
    unsealed = number.seq;
  }
  // Archiving an event twice is harmless. Not archiving it loses it.
  return { position, seq: unsealed === 1 ? 1 : 0 };
}

/** Adds a checksum to lines of the first format, unless their number is damaged. */
function* linesAfter(events: DiskFile, seq: number): Generator<Buffer> {
  for (const { line: numbered, fits } of inOrder(numberedLines(events), ({ number }) => number)) {
    const { line, number } = numbered;
    if (!number || !fits) yield readAt(events, line);
    else if (number.seq > seq) yield Buffer.from(toLine(line.text));
  }
}

function* numberedLines(file: DiskFile): Generator<{ readonly line: Line; readonly number: LineNumber | undefined }> {
  for (const line of readLines(file, 0)) yield { line, number: numberOf(line) };
}

/** Undefined for a damaged line. */
function numberOf({ text, isWhole }: Line): LineNumber | undefined {
  const seq = isWhole ? seqOf(text) : undefined;
  return seq === undefined ? undefined : { seq, isSealed: SEQ.test(text) };
}

function seqOf(line: string): number | undefined {
  const found = SEQ.exec(line)?.[1];
  if (found === undefined) return readEvent(line)?.event.seq;
  return unseal(line) === undefined ? undefined : Number(found);
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
    const line = [bytes.subarray(0, -1), bytes].map(String).find((text) => seqOf(text) !== undefined);
    const moved = line === undefined ? bytes : Buffer.from(toLine(line));
    places.set(place.offset, { offset, bytes: moved.length });
    offset += moved.length;
    yield moved;
  }
}

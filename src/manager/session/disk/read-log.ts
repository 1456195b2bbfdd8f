import { sessionLimits } from '../../../limits.ts';
import type { DiskFile } from '../../../store/embedded/disk.ts';
import { CHECKSUM, type Place, type ReadEvent, readEvent } from '../log/event-line.ts';
import { type Line, lastLine, readAt, readLines, textOf } from './lines.ts';

/** An event and the position of its line. */
export interface Located<M> extends ReadEvent<M> {
  readonly kind: 'event';
  readonly place: Place;
  /** False for a last line without its newline. */
  readonly isWhole: boolean;
}

/** A damaged line, or a blank one, which harms nothing. */
export interface NoEvent {
  readonly kind: 'damage' | 'blank';
  readonly place: Place;
  readonly isWhole: boolean;
}

export type LogPart<M> = Located<M> | NoEvent;

/** Reads a log or an archive from a position. Damage costs only the line that contains it. */
export function* readLog<M>(file: DiskFile, from: number, to?: number): Generator<LogPart<M>> {
  for (const line of readLines(file, from, to)) {
    const { offset, bytes, isWhole } = line;
    const read = isWhole ? readEvent<M>(line.text) : undefined;
    if (read) yield { kind: 'event', ...read, place: { offset, bytes }, isWhole };
    else if (isBlank(line)) yield { kind: 'blank', place: { offset, bytes }, isWhole };
    else yield* salvage<M>(readAt(file, line), { offset, isWhole });
  }
}

/** The event at a position. Undefined if the line is damaged. */
export function readEventAt<M>(file: DiskFile, place: Place): ReadEvent<M> | undefined {
  return withoutEnd<M>(readAt(file, place));
}

/** The event or damage that ends at a position. Undefined at the start of the file. */
export function lastPart<M>(file: DiskFile, end: number): LogPart<M> | undefined {
  const line = lastLine(file, end);
  return line && [...readLog<M>(file, line.offset, end)].at(-1);
}

/** Bytes that are not UTF-8 have an empty text too, but are not blank. */
const isBlank = ({ isWhole, text, bytes }: Line): boolean => isWhole && text.trim() === '' && bytes === text.length + 1;

/** Splits two lines that a damaged newline has joined. The first is recovered if only its newline is damaged. */
function* salvage<M>(bytes: Buffer, { offset, isWhole }: { offset: number; isWhole: boolean }): Generator<LogPart<M>> {
  let start = bytes.indexOf(CHECKSUM, 1);
  for (let tries = 0; start > 0 && tries < sessionLimits.salvageTries; tries++) {
    const read = withoutEnd<M>(bytes.subarray(start));
    if (read) {
      yield* salvage<M>(bytes.subarray(0, start), { offset, isWhole: true });
      const place = { offset: offset + start, bytes: bytes.length - start };
      yield { kind: 'event', ...read, place, isWhole };
      return;
    }
    start = bytes.indexOf(CHECKSUM, start + 1);
  }
  const place = { offset, bytes: bytes.length };
  const read = withoutEnd<M>(bytes);
  if (read) yield { kind: 'event', ...read, place, isWhole };
  else yield { kind: 'damage', place, isWhole };
}

/** Reads a line with its newline, without one, or with a damaged newline and another one that was added later. */
function withoutEnd<M>(bytes: Buffer): ReadEvent<M> | undefined {
  const read = (end: number): ReadEvent<M> | undefined => readEvent<M>(textOf(bytes.subarray(0, Math.max(0, end))));
  return read(bytes.length - 1) ?? read(bytes.length) ?? read(bytes.length - 2);
}

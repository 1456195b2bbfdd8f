import { PalimpsestError } from '../../errors.ts';

/** Replaces bytes by others. */
export interface ByteEdit {
  readonly start: number;
  /** The position after the last replaced byte. */
  readonly end: number;
  readonly bytes: Uint8Array;
}

/** The bytes with all edits applied. All other bytes stay. Edits may come in any order. */
export function splice(bytes: Uint8Array, edits: readonly ByteEdit[]): Uint8Array {
  const original = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const sorted = [...edits].sort((a, b) => a.start - b.start || a.end - b.end);
  let length = bytes.length;
  for (const edit of sorted) length += edit.bytes.length - (edit.end - edit.start);
  const spliced = Buffer.allocUnsafe(length);
  let from = 0;
  let to = 0;
  for (const { start, end, bytes: added } of sorted) {
    if (start < from || end < start || end > bytes.length) throw overlap({ start, end }, from);
    to += original.copy(spliced, to, from, start);
    spliced.set(added, to);
    to += added.length;
    from = end;
  }
  original.copy(spliced, to, from);
  return spliced;
}

function overlap({ start, end }: Pick<ByteEdit, 'start' | 'end'>, from: number): PalimpsestError {
  return new PalimpsestError(
    'BAD_INPUT',
    `Expected edits that do not overlap but found one from ${start} to ${end} behind one that ends at ${from}`,
  );
}

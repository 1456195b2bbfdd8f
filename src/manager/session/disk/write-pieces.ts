import type { DiskFile } from '../../../store/embedded/disk.ts';

const WRITE_BYTES = 1 << 18;

/** Writes pieces one after the other, several small ones at a time. Answers where they end. */
export function writePieces(file: DiskFile, from: number, pieces: Iterable<Buffer>): number {
  let position = from;
  let waiting: Buffer[] = [];
  let bytes = 0;
  const flush = (): void => {
    file.write(waiting.length === 1 && waiting[0] ? waiting[0] : Buffer.concat(waiting), position);
    position += bytes;
    waiting = [];
    bytes = 0;
  };
  for (const piece of pieces) {
    waiting.push(piece);
    bytes += piece.length;
    if (bytes >= WRITE_BYTES) flush();
  }
  if (bytes > 0) flush();
  return position;
}

import { join } from 'node:path';
import type { Disk, DiskFile } from '../../../store/embedded/disk.ts';
import { seal, unseal } from '../log/event-line.ts';
import { readAt } from './lines.ts';
import { type DiskSession, replaceFile } from './open-log.ts';
import { SYNCED } from './session-folder.ts';

/** Room for the largest sequence number. The length is fixed, so that a new mark fully overwrites the old one. */
const BYTES = 48;

/**
 * The last acknowledged event. Written after the event's sync, but not synced itself, so it survives the process. It
 * distinguishes an acknowledged line that is damaged from a batch that a crash left unfinished.
 */
export class SyncMark {
  readonly #path: string;
  readonly #disk: Disk;
  readonly #file: DiskFile;
  readonly #onProblem: (problem: Error) => void;
  #hasFailed = false;

  private constructor(file: DiskFile, { disk, folder, onProblem }: DiskSession) {
    this.#path = join(folder, SYNCED);
    this.#disk = disk;
    this.#file = file;
    this.#onProblem = onProblem;
  }

  static async create(session: DiskSession, seq: number): Promise<SyncMark> {
    const { disk, folder, isContested, mayWrite } = session;
    const path = join(folder, SYNCED);
    const isThere = disk.exists(path);
    const file =
      isContested && isThere
        ? await replaceFile(session, SYNCED, () => {})
        : disk.open(path, isThere ? 'write' : 'create');
    try {
      mayWrite();
    } catch (error) {
      file.close();
      throw error;
    }
    const mark = new SyncMark(file, session);
    mark.write(seq);
    return mark;
  }

  /** Writes the mark. A failure costs no event: an older mark is weaker, not wrong. */
  write(seq: number): void {
    try {
      this.#file.write(Buffer.from(`${seal(`"seq":${seq}}`).padEnd(BYTES - 1)}\n`), 0);
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) this.#onProblem(error as Error);
      this.#hasFailed = true;
    }
  }

  close(): void {
    this.#file.close();
  }

  /** Removes the mark of a session whose snapshot holds the same number. */
  remove(): void {
    this.close();
    this.#disk.remove(this.#path);
  }
}

/** The last event that is known to be acknowledged; 0 if the mark is missing or damaged. */
export function readSyncMark(disk: Disk, folder: string): number {
  const path = join(folder, SYNCED);
  if (!disk.exists(path)) return 0;
  const file = disk.open(path, 'read');
  try {
    const text = readAt(file, { offset: 0, bytes: BYTES }).toString('utf8').trimEnd();
    const json = unseal(text);
    const seq = json === undefined ? 0 : Number((JSON.parse(json) as { seq: unknown }).seq);
    return Number.isSafeInteger(seq) ? seq : 0;
  } finally {
    file.close();
  }
}

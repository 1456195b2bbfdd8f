import { PalimpsestError } from '../../../errors.ts';
import type { DiskFile } from '../../../store/embedded/disk.ts';
import { type Place, toLine } from '../log/event-line.ts';
import type { Recovered } from '../log/replay.ts';
import type { SessionEvent } from '../session-event.ts';
import {
  type Appended,
  type Batch,
  type Compacted,
  type Compaction,
  notWritten,
  type ReadEventsOptions,
  type RecoverOptions,
  type SessionStorage,
  type SnapshotOf,
} from '../session-storage.ts';
import { archiveEvents, replaceEvents, rewriteEvents } from './compact.ts';
import { writePieces } from './lines.ts';
import { type DiskSession, openLog } from './open-log.ts';
import { readEvents } from './read-events.ts';
import { recover } from './recover.ts';
import { writeSnapshot } from './snapshot-file.ts';
import { SyncMark } from './sync-mark.ts';

/** The events of a session in the files of its folder. */
export class DiskStorage<M> implements SessionStorage<M> {
  readonly #session: DiskSession;
  #file: DiskFile;
  #mark: SyncMark | undefined;
  #archiveBytes = 0;
  #failure: Error | undefined;

  /** Takes a log that is already open. */
  constructor(session: DiskSession, file: DiskFile) {
    this.#session = session;
    this.#file = file;
  }

  static async open<M>(session: DiskSession): Promise<DiskStorage<M>> {
    return new DiskStorage<M>(session, await openLog(session));
  }

  get folder(): string {
    return this.#session.folder;
  }

  get failure(): Error | undefined {
    return this.#failure;
  }

  checkWriter(): void {
    this.#session.mayWrite();
  }

  async recover(options: RecoverOptions<M>): Promise<Recovered> {
    const { disk, folder } = this.#session;
    const recovered = await recover({ ...options, disk, folder, file: this.#file });
    this.#archiveBytes = recovered.archiveBytes;
    this.#mark = await SyncMark.create(this.#session, recovered.end.seq);
    return recovered;
  }

  async append(events: readonly string[], { position, seq }: Batch): Promise<Appended> {
    this.#check();
    const lines = events.map(toLine);
    const end = this.#put(lines, position);
    await this.#sync();
    // Checked after the sync: a writer that lost its lock acknowledges nothing.
    this.#check();
    this.#mark?.write(seq + lines.length - 1);
    return { position: end, places: placesOf(lines, position) };
  }

  read(options: ReadEventsOptions): AsyncIterable<SessionEvent<M>> {
    return readEvents<M>(this.#session.disk, this.folder, options);
  }

  async saveSnapshot(snapshot: SnapshotOf<M>): Promise<void> {
    await namingFailure(() => writeSnapshot(this.#session, { ...snapshot, archive_bytes: this.#archiveBytes }));
  }

  compact(compaction: Compaction): Promise<Compacted> {
    return namingFailure(() => this.#compact(compaction));
  }

  async #compact({ kept, keepsOthers, seq, checkpoint }: Compaction): Promise<Compacted> {
    const archiveBytes = await this.#archive(keepsOthers);
    const last = toLine(checkpoint(archiveBytes));
    const { file, size, places } = await rewriteEvents(this.#session, { events: this.#file, kept, last });
    const { hasMoved, error } = await replaceEvents(this.#session);
    if (hasMoved) this.#moveTo(file, seq);
    else file.close();
    if (error) {
      // Throws if the reason is another process that has taken over, not the disk.
      this.#session.mayWrite();
      throw hasMoved ? this.#fail(unsureName(error)) : error;
    }
    this.#archiveBytes = archiveBytes;
    return {
      position: size,
      checkpointBytes: Buffer.byteLength(last),
      placeOf: (place) => places.get(place.offset) ?? place,
    };
  }

  async close({ isSaved }: { readonly isSaved: boolean }): Promise<void> {
    try {
      if (isSaved) this.#mark?.remove();
      else this.#mark?.close();
    } finally {
      this.#file.close();
      this.#session.release();
    }
  }

  /** Answers how many bytes of the archive are sound afterwards. */
  async #archive(keepsOthers: boolean): Promise<number> {
    const soundBytes = this.#archiveBytes;
    return keepsOthers ? archiveEvents(this.#session, { events: this.#file, soundBytes }) : soundBytes;
  }

  #moveTo(file: DiskFile, seq: number): void {
    this.#file.close();
    this.#file = file;
    this.#mark?.write(seq);
  }

  #check(): void {
    try {
      this.#session.mayWrite();
    } catch (error) {
      throw this.#fail(error as Error);
    }
  }

  /** Writes lines and answers where they end. A failed write leaves nothing behind. */
  #put(lines: readonly string[], position: number): number {
    try {
      return writePieces(this.#file, position, bytesOf(lines));
    } catch (error) {
      const refused = notWritten((error as Error).message, error);
      try {
        this.#file.truncate(position);
      } catch {
        throw this.#fail(refused);
      }
      throw refused;
    }
  }

  /** Syncs the log. After a failed sync the disk's content is unknown, and a second sync would wrongly report success. */
  async #sync(): Promise<void> {
    try {
      await this.#file.sync();
    } catch (error) {
      const text =
        'Expected the events to reach the disk but the sync failed; open the session again to see what it holds';
      throw this.#fail(new PalimpsestError('STORE_FAILED', text, { cause: error }));
    }
  }

  #fail(error: Error): Error {
    this.#failure ??= error;
    return error;
  }
}

/** Reports errors of the disk as STORE_FAILED. For files that replace others: the log has every event all the same. */
async function namingFailure<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PalimpsestError) throw error;
    const why = (error as Error).message;
    const text = `Expected to replace a file of the session but found: ${why}; no event is lost, see to the disk`;
    throw new PalimpsestError('STORE_FAILED', text, { cause: error });
  }
}

/** Line by line, because all lines together may exceed the longest possible string. */
function* bytesOf(lines: readonly string[]): Generator<Buffer> {
  for (const line of lines) yield Buffer.from(line);
}

function placesOf(lines: readonly string[], position: number): Place[] {
  let offset = position;
  return lines.map((line) => {
    const place = { offset, bytes: Buffer.byteLength(line) };
    offset += place.bytes;
    return place;
  });
}

function unsureName(cause: Error): PalimpsestError {
  const text = 'Expected the name of the new log to reach the disk but the sync failed; open the session again';
  return new PalimpsestError('STORE_FAILED', text, { cause });
}

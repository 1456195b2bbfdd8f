import { join } from 'node:path';
import { PalimpsestError } from '../../../errors.ts';
import type { Disk, DiskFile } from '../../../store/embedded/disk.ts';
import type { Place } from '../log/event-line.ts';
import { type Recovered, Replay } from '../log/replay.ts';
import { loadSnapshot, type SnapshotEvents, type Start } from '../log/restore-snapshot.ts';
import type { Snapshot } from '../log/snapshot.ts';
import type { SessionEvent } from '../session-event.ts';
import type { RecoverOptions } from '../session-storage.ts';
import { archiveEnd } from './compact.ts';
import { readAt, readPieces, writePieces } from './lines.ts';
import { type Located, type LogPart, lastPart, type NoEvent, readEventAt, readLog } from './read-log.ts';
import { ARCHIVE, EVENTS, SNAPSHOT, TORN } from './session-folder.ts';
import { readSnapshot } from './snapshot-file.ts';
import { readSyncMark } from './sync-mark.ts';

interface DiskRecoverOptions<M> extends RecoverOptions<M> {
  readonly disk: Disk;
  readonly folder: string;
  readonly file: DiskFile;
}

interface RecoveredLog extends Recovered {
  /** The number of archive bytes that are known to be sound. */
  readonly archiveBytes: number;
}

/** Brings a conversation to the end of its log: from a sound snapshot, else from the events alone. */
export async function recover<M>(options: DiskRecoverOptions<M>): Promise<RecoveredLog> {
  const { disk, folder, file, conversation } = options;
  const start = await loadSnapshot<M>(conversation, {
    name: SNAPSHOT,
    read: () => readSnapshot<M>(disk, folder),
    eventsOf: (snapshot) => eventsIn(file, snapshot),
  });
  // Also if the snapshot is unusable: these events were synced before it was written.
  const acknowledged = Math.max(start.seq, readSyncMark(disk, folder));
  const replay = new LogReplay(options, { ...start, acknowledged });
  await replay.run();
  return replay.result(start.problem);
}

function eventsIn<M>(file: DiskFile, { offset }: Snapshot<M>): SnapshotEvents<M> {
  const read = new Map<number, SessionEvent<M> | 'damaged' | undefined>();
  return {
    holding(_key, place) {
      if (!read.has(place.offset))
        read.set(place.offset, readEventAt<M>(file, place)?.event ?? (isLine(file, place) ? 'damaged' : undefined));
      return read.get(place.offset);
    },
    last() {
      const part = offset <= file.size() ? lastPart<M>(file, offset) : undefined;
      if (part?.kind === 'event') return part.event;
      return part?.kind === 'damage' && part.isWhole ? 'damaged' : undefined;
    },
  };
}

/** Whether a place is exactly one line. If not, the place belongs to another log. */
function isLine(file: DiskFile, { offset, bytes }: Place): boolean {
  const before = offset === 0 ? NEWLINE : readAt(file, { offset: offset - 1, bytes: 1 })[0];
  const line = readAt(file, { offset, bytes });
  return before === NEWLINE && line.length === bytes && line.indexOf(NEWLINE) === bytes - 1;
}

/**
 * Damage after the last event that is known to be acknowledged. Later events wait until a later batch proves that they were
 * synced.
 */
interface Doubtful<M> {
  readonly offset: number;
  readonly expected: number;
  readonly lines: number;
  readonly followers: Located<M>[];
}

/** Reads the lines of a log. Cuts off lines of a batch that a crash left unfinished. */
class LogReplay<M> {
  readonly #options: DiskRecoverOptions<M>;
  readonly #replay: Replay<M>;
  readonly #hasSnapshot: boolean;
  /** Events up to this number were acknowledged. Their lines are never cut off. */
  readonly #acknowledged: number;
  #cutLines = 0;
  #tornBytes = 0;
  #doubtful: Doubtful<M> | undefined;

  constructor(options: DiskRecoverOptions<M>, { snapshot, damage, acknowledged }: Start<M> & { acknowledged: number }) {
    this.#options = options;
    this.#acknowledged = acknowledged;
    this.#hasSnapshot = snapshot !== undefined;
    this.#replay = new Replay({ conversation: options.conversation, snapshot, damage });
  }

  async run(): Promise<void> {
    const replay = this.#replay;
    let parts = 0;
    for (const part of readLog<M>(this.#options.file, replay.end.position)) {
      this.#take(part);
      if (++parts % PARTS_BETWEEN === 0) await this.#options.between();
    }
    if (this.#doubtful) await this.#cutOff(this.#doubtful);
    if (replay.finish().hasLostCheckpoint) this.#readArchiveEnd();
    this.#checkEnd();
    // A killed process may have written the last events without a sync. From here on they count as synced.
    if (replay.end.seq > this.#acknowledged) await this.#options.file.sync();
  }

  result(problem: string | undefined): RecoveredLog {
    const [tornBytes, cutLines] = [this.#tornBytes, this.#cutLines];
    return { ...this.#replay.result({ problem, tornBytes, cutLines }), archiveBytes: this.#replay.archiveBytes };
  }

  #take(part: LogPart<M>): void {
    if (part.kind !== 'event') this.#takeNoEvent(part);
    else if (part.isWhole || part.event.seq <= this.#acknowledged) this.#takeEvent(part);
    else this.#doubt(part);
  }

  #takeEvent(located: Located<M>): void {
    if (!this.#doubtful) {
      this.#replay.accept(located);
      return;
    }
    this.#doubtful.followers.push(located);
    // A later batch proves that the damaged line's batch was synced. So the line was an event, and it is lost.
    if (located.batch > this.#doubtful.expected) this.#acceptDoubtful(this.#doubtful);
  }

  #takeNoEvent(part: NoEvent): void {
    const isAcknowledged = this.#replay.end.seq < this.#acknowledged;
    if (part.kind === 'blank') {
      if (!this.#doubtful) this.#replay.pass(part.place);
    } else if (!this.#doubtful && isAcknowledged) this.#replay.takeDamage(part.place);
    else this.#doubt(part);
  }

  #doubt({ place, isWhole }: LogPart<M>): void {
    const { offset = place.offset, lines = 0, followers = [], expected } = this.#doubtful ?? {};
    this.#doubtful = {
      offset,
      expected: expected ?? this.#replay.end.seq + 1,
      lines: lines + (isWhole ? 1 : 0),
      followers,
    };
  }

  #acceptDoubtful({ lines, followers }: Doubtful<M>): void {
    this.#doubtful = undefined;
    this.#replay.damage.lines += lines;
    for (const located of followers) this.#replay.accept(located);
  }

  /** After a lost checkpoint, the archive holds the events before the log. */
  #readArchiveEnd(): void {
    const { disk, folder } = this.#options;
    const path = join(folder, ARCHIVE);
    if (!disk.exists(path)) {
      this.#replay.archiveBytes = 0;
      return;
    }
    const archive = disk.open(path, 'read');
    try {
      const { position, seq } = archiveEnd(archive, Number.POSITIVE_INFINITY);
      this.#replay.archiveBytes = position;
      this.#replay.end = { ...this.#replay.end, seq: Math.max(this.#replay.end.seq, seq) };
    } finally {
      archive.close();
    }
  }

  /**
   * Records acknowledged events that are not in the log as missing, without reusing their numbers. Ends a damaged last line with
   * a newline.
   */
  #checkEnd(): void {
    const { file, folder } = this.#options;
    const replay = this.#replay;
    if (replay.events === 0 && replay.damage.lines > 0 && !this.#hasSnapshot) throw noEvents(folder);
    replay.damage.miss(replay.end.seq + 1, this.#acknowledged + 1);
    const { position } = replay.end;
    const hasNewline = position === 0 || readAt(file, { offset: position - 1, bytes: 1 })[0] === NEWLINE;
    if (!hasNewline) file.write(Buffer.from('\n'), position);
    replay.end = {
      ...replay.end,
      seq: Math.max(replay.end.seq, this.#acknowledged),
      position: position + (hasNewline ? 0 : 1),
    };
  }

  /** Cuts off a batch that a crash left unfinished. It was never acknowledged and must not reappear after later events. */
  async #cutOff({ offset, lines, followers }: Doubtful<M>): Promise<void> {
    const { file, folder } = this.#options;
    const hasLines = lines + followers.length > 0;
    if (hasLines && this.#replay.end.seq === 0) throw noEvents(folder);
    if (hasLines) await keepTorn(this.#options, offset);
    this.#tornBytes = file.size() - offset;
    this.#cutLines = lines;
    file.truncate(offset);
    await file.sync();
  }
}

const PARTS_BETWEEN = 100;
const NEWLINE = 10;

/** Copies the lines to a separate file. They may leave the log only after this resolves. */
async function keepTorn<M>({ disk, folder, file }: DiskRecoverOptions<M>, offset: number): Promise<void> {
  const path = join(folder, TORN);
  const torn = disk.open(path, disk.exists(path) ? 'write' : 'create');
  try {
    writePieces(torn, torn.size(), readPieces(file, offset, file.size()));
    await torn.sync();
  } finally {
    torn.close();
  }
  await disk.syncFolder(folder);
}

function noEvents(folder: string): PalimpsestError {
  return new PalimpsestError(
    'STORE_DAMAGED',
    `Expected events in ${join(folder, EVENTS)} but found none that can be read; repair it, or move it away to begin a new session`,
  );
}

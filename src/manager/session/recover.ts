import { join } from 'node:path';
import { PalimpsestError } from '../../errors.ts';
import type { Disk, DiskFile } from '../../store/embedded/disk.ts';
import { archiveEnd } from './compact.ts';
import type { Conversation, ConversationState } from './conversation.ts';
import { type ReadEvent, readEvent } from './event-line.ts';
import type { LogEnd } from './event-log.ts';
import { type Line, lastLine, type Place, readAt, readLines, readPieces } from './lines.ts';
import type { Recovery } from './session.ts';
import type { Checkpoint, SessionEvent } from './session-event.ts';
import { ARCHIVE, EVENTS, SNAPSHOT, TORN } from './session-files.ts';
import { readSnapshot, type Snapshot } from './snapshot.ts';
import { writePieces } from './write-pieces.ts';

export interface RecoverOptions<M> {
  readonly disk: Disk;
  readonly folder: string;
  readonly file: DiskFile;
  /** Empty when this begins. */
  readonly conversation: Conversation<M>;
  /** Called between events, so that what they hide can be stored before there is too much of it. */
  readonly between: () => Promise<void>;
}

export interface Recovered {
  readonly end: LogEnd;
  readonly recovery: Omit<Recovery, 'answeredCalls'>;
  /** What the log says it holds; undefined for a new one. */
  readonly format: string | undefined;
  /** How much of the archive is known to be sound. */
  readonly archiveBytes: number;
}

/** Brings a conversation to where its log ends: from the snapshot if that is sound, else from the events alone. */
export async function recover<M>(options: RecoverOptions<M>): Promise<Recovered> {
  const { snapshot, problem } = loadSnapshot(options);
  const replay = new Replay(options, snapshot);
  await replay.run();
  return replay.result(problem);
}

function loadSnapshot<M>({ disk, folder, file, conversation }: RecoverOptions<M>): {
  snapshot?: Snapshot<M>;
  problem?: string;
} {
  try {
    const snapshot = readSnapshot<M>(disk, folder);
    if (!snapshot) return {};
    const found = findMessages(file, snapshot);
    const state = { ...snapshot.state, messages: snapshot.messages.map(([key]) => key) };
    conversation.load(state, (key) => found.get(key));
    return { snapshot };
  } catch (error) {
    conversation.clear();
    return { problem: `${SNAPSHOT} cannot be used: ${(error as Error).message}` };
  }
}

/** The messages that a snapshot names. Throws where the log is not the one it was made of. */
function findMessages<M>(
  file: DiskFile,
  { seq, offset, messages }: Snapshot<M>,
): Map<string, { message: M; place: Place }> {
  const last = offset <= file.size() ? lastLine(file, offset) : undefined;
  if (!last?.isWhole || readEvent(last.text)?.event.seq !== seq)
    throw new Error(`expected event ${seq} to end at byte ${offset} of ${EVENTS}, but it does not`);
  const read = new Map<number, SessionEvent<M> | undefined>();
  return new Map(
    messages.map(([key, place]) => {
      if (!read.has(place.offset)) read.set(place.offset, readEvent<M>(readAt(file, place).toString('utf8'))?.event);
      const message = messagesOf(read.get(place.offset)).find((found) => found.key === key)?.message;
      if (message === undefined) throw new Error(`expected message ${key} at byte ${place.offset} of ${EVENTS}`);
      return [key, { message, place }] as const;
    }),
  );
}

function messagesOf<M>(event: SessionEvent<M> | undefined): { key: string; message: M }[] {
  if (event?.type === 'message') return [{ key: String(event.seq), message: event.message }];
  if (event?.type !== 'session_restart') return [];
  return event.messages.map((message, i) => ({ key: `${event.seq}.${i}`, message }));
}

interface Located<M> extends ReadEvent<M> {
  readonly place: Place;
}

/** Something that is no event. Until it is known whether it was ever synced, what follows waits. */
interface Damage<M> {
  readonly offset: number;
  readonly expected: number;
  readonly lines: number;
  readonly followers: Located<M>[];
}

class Replay<M> {
  readonly #options: RecoverOptions<M>;
  readonly #snapshot: Snapshot<M> | undefined;
  #end: LogEnd;
  #format: string | undefined;
  #archiveBytes: number;
  #events = 0;
  #damagedLines = 0;
  #tornBytes = 0;
  readonly #missing: number[] = [];
  #damage: Damage<M> | undefined;
  /** What stands before the checkpoint in a compacted log: messages to which it refers. */
  #prologue: Located<M>[] | undefined;

  constructor(options: RecoverOptions<M>, snapshot: Snapshot<M> | undefined) {
    this.#options = options;
    this.#snapshot = snapshot;
    this.#format = snapshot?.format;
    this.#archiveBytes = snapshot?.archive_bytes ?? 0;
    this.#end = { position: snapshot?.offset ?? 0, seq: snapshot?.seq ?? 0, time: snapshot?.time ?? '' };
  }

  async run(): Promise<void> {
    let lines = 0;
    for (const line of readLines(this.#options.file, this.#end.position)) {
      this.#take(line);
      if (++lines % LINES_BETWEEN === 0) await this.#options.between();
    }
    if (this.#damage) await this.#cutOff(this.#damage);
    if (this.#prologue) this.#withoutCheckpoint(this.#prologue);
  }

  result(problem: string | undefined): Recovered {
    const from = this.#snapshot ? 'snapshot' : this.#events > 0 ? 'events' : 'nothing';
    return {
      end: this.#end,
      format: this.#format,
      archiveBytes: this.#archiveBytes,
      recovery: {
        from,
        events: this.#events,
        tornBytes: this.#tornBytes,
        damagedLines: this.#damagedLines,
        missing: this.#missing,
        ...(problem === undefined ? {} : { snapshotProblem: problem }),
      },
    };
  }

  #take(line: Line): void {
    const read = line.isWhole ? readEvent<M>(line.text) : undefined;
    if (read) this.#takeEvent({ ...read, place: { offset: line.offset, bytes: line.bytes } });
    else if (isBlank(line)) this.#pass(line);
    else this.#takeDamage(line);
  }

  #takeEvent(located: Located<M>): void {
    if (!this.#damage) {
      this.#accept(located);
      return;
    }
    this.#damage.followers.push(located);
    // Written after the batch of the damaged line was synced: that was an event, and it is lost.
    if (located.batch > this.#damage.expected) this.#acceptDamage(this.#damage);
  }

  #takeDamage(line: Line): void {
    const { offset = line.offset, lines = 0, followers = [], expected = this.#end.seq + 1 } = this.#damage ?? {};
    this.#damage = { offset, expected, lines: lines + (line.isWhole ? 1 : 0), followers };
  }

  #pass({ offset, bytes }: Place): void {
    if (!this.#damage) this.#end = { ...this.#end, position: offset + bytes };
  }

  #acceptDamage({ lines, followers }: Damage<M>): void {
    this.#damage = undefined;
    this.#damagedLines += lines;
    for (const located of followers) this.#accept(located);
  }

  #accept(located: Located<M>): void {
    const { event, place } = located;
    this.#events += 1;
    if (event.seq <= this.#end.seq) {
      // It is there already.
      this.#damagedLines += 1;
      this.#pass(place);
      return;
    }
    if (this.#end.seq === 0 && event.type !== 'session_start') this.#prologue = [];
    // Before a checkpoint there are gaps in any case: it tells which messages are missing.
    if (!this.#prologue) this.#miss(this.#end.seq + 1, event.seq);
    this.#end = { position: place.offset + place.bytes, seq: event.seq, time: event.time };
    if (event.type === 'checkpoint') this.#fromCheckpoint(event);
    else if (this.#prologue) this.#prologue.push(located);
    else this.#fold(located);
  }

  #fold({ event, place }: Located<M>): void {
    if (event.type === 'session_start') this.#format = event.format;
    this.#options.conversation.apply(event, place);
  }

  #fromCheckpoint(event: Checkpoint): void {
    const { format, ...state } = event.state as ConversationState<M> & { format: string };
    this.#archiveBytes = event.archive_bytes;
    if (!this.#prologue) return;
    const found = new Map<string, { message: M; place: Place }>();
    for (const { event, place } of this.#prologue)
      for (const { key, message } of messagesOf(event)) found.set(key, { message, place });
    const lost = this.#options.conversation.load(state, (key) => found.get(key));
    this.#missing.push(...lost.map((key) => Number.parseInt(key, 10)));
    this.#format = format;
    this.#prologue = undefined;
  }

  /** The line is gone that told how the log began: all there is counts, and so does the archive, which goes before it. */
  #withoutCheckpoint(prologue: readonly Located<M>[]): void {
    let next = 1;
    for (const located of prologue) {
      this.#miss(next, located.event.seq);
      next = located.event.seq + 1;
      this.#fold(located);
    }
    const { position, seq } = this.#readArchiveEnd();
    this.#archiveBytes = position;
    this.#end = { ...this.#end, seq: Math.max(this.#end.seq, seq) };
  }

  #readArchiveEnd(): { readonly position: number; readonly seq: number } {
    const { disk, folder } = this.#options;
    const path = join(folder, ARCHIVE);
    if (!disk.exists(path)) return { position: 0, seq: 0 };
    const archive = disk.open(path, 'read');
    try {
      return archiveEnd(archive, archive.size());
    } finally {
      archive.close();
    }
  }

  /** From and up to, not including. */
  #miss(from: number, to: number): void {
    for (let seq = from; seq < Math.min(to, from + MOST_MISSING); seq++) this.#missing.push(seq);
  }

  /** What a crash left unfinished was never acknowledged. It must not come back behind what is written now. */
  async #cutOff({ offset, lines, followers }: Damage<M>): Promise<void> {
    const { file, folder } = this.#options;
    const hasLines = lines + followers.length > 0;
    if (hasLines && this.#end.seq === 0) throw noEvents(folder);
    if (hasLines) await keepTorn(this.#options, offset);
    this.#tornBytes = file.size() - offset;
    this.#damagedLines += lines;
    file.truncate(offset);
    await file.sync();
  }
}

const MOST_MISSING = 1000;
const LINES_BETWEEN = 100;

/** Not what is no UTF-8 and has no text for that reason. */
const isBlank = ({ isWhole, text, bytes }: Line): boolean => isWhole && text.trim() === '' && bytes === text.length + 1;

/** Durable when it resolves: only then may it leave the log. */
async function keepTorn<M>({ disk, folder, file }: RecoverOptions<M>, offset: number): Promise<void> {
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
    `Expected events in ${join(folder, EVENTS)} but found none that can be read; put it right, or move it away to begin anew`,
  );
}

import { join } from 'node:path';
import { PalimpsestError } from '../../errors.ts';
import type { Disk, DiskFile } from '../../store/embedded/disk.ts';
import { archiveEnd } from './compact.ts';
import type { Conversation, ConversationState } from './conversation.ts';
import { Damage } from './damage.ts';
import type { LogEnd } from './event-log.ts';
import { type Place, readAt, readPieces } from './lines.ts';
import { type Located, type LogPart, lastPart, type NoEvent, readEventAt, readLog } from './read-log.ts';
import type { Recovery } from './session.ts';
import type { Checkpoint, SessionEvent } from './session-event.ts';
import { ARCHIVE, EVENTS, SNAPSHOT, TORN } from './session-files.ts';
import { readSnapshot, type Snapshot } from './snapshot.ts';
import { readSyncMark } from './sync-mark.ts';
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
  /** The format of the messages in the log; undefined for a new one. */
  readonly format: string | undefined;
  /** How much of the archive is known to be sound. */
  readonly archiveBytes: number;
  /** Damage that is still there, or was. */
  readonly damage: Damage;
}

/** Brings a conversation to where its log ends: from the snapshot if that is sound, else from the events alone. */
export async function recover<M>(options: RecoverOptions<M>): Promise<Recovered> {
  const start = loadSnapshot(options);
  const acknowledged = Math.max(start.seq, readSyncMark(options.disk, options.folder));
  const replay = new Replay(options, { ...start, acknowledged });
  await replay.run();
  return replay.result(start.problem);
}

interface Start<M> {
  /** The last event that the snapshot covers, also where it cannot be used: they were all synced before it was written. */
  readonly seq: number;
  readonly snapshot?: Snapshot<M>;
  readonly damage: Damage;
  readonly problem?: string;
}

function loadSnapshot<M>({ disk, folder, file, conversation }: RecoverOptions<M>): Start<M> {
  let seq = 0;
  try {
    const snapshot = readSnapshot<M>(disk, folder);
    if (!snapshot) return { seq, damage: new Damage() };
    seq = snapshot.seq;
    const { found, damage } = findMessages(file, snapshot);
    const state = { ...snapshot.state, messages: snapshot.messages.map(([key]) => key) };
    conversation.load(state, (key) => found.get(key));
    return { seq, snapshot, damage };
  } catch (error) {
    conversation.clear();
    return { seq, damage: new Damage(), problem: `${SNAPSHOT} cannot be used: ${(error as Error).message}` };
  }
}

interface FoundMessages<M> {
  readonly found: ReadonlyMap<string, { message: M; place: Place }>;
  readonly damage: Damage;
}

/** The messages that a snapshot names, without those that are damaged. Throws where the log is not the one it was made of. */
function findMessages<M>(file: DiskFile, { seq, offset, messages, damage: known }: Snapshot<M>): FoundMessages<M> {
  const damage = new Damage();
  if (known) damage.add(known);
  const found = new Map<string, { message: M; place: Place }>();
  const read = new Map<number, SessionEvent<M> | undefined>();
  for (const [key, place] of messages) {
    if (!read.has(place.offset)) read.set(place.offset, readEventAt<M>(file, place)?.event);
    const event = read.get(place.offset);
    const message = messagesOf(event).find((other) => other.key === key)?.message;
    if (message !== undefined) found.set(key, { message, place });
    else if (!event && isLine(file, place)) noteDamage(damage, Number.parseInt(key, 10));
    else throw new Error(`expected message ${key} at byte ${place.offset} of ${EVENTS}`);
  }
  const last = offset <= file.size() ? lastPart<M>(file, offset) : undefined;
  if (last?.kind === 'damage' && last.isWhole) noteDamage(damage, seq);
  else if (last?.kind !== 'event' || last.event.seq !== seq)
    throw new Error(`expected event ${seq} to end at byte ${offset} of ${EVENTS}, but it does not`);
  return { found, damage };
}

/** A place in the middle of a line is one of another log. */
function isLine(file: DiskFile, { offset, bytes }: Place): boolean {
  const before = offset === 0 ? NEWLINE : readAt(file, { offset: offset - 1, bytes: 1 })[0];
  const line = readAt(file, { offset, bytes });
  return before === NEWLINE && line.length === bytes && line.indexOf(NEWLINE) === bytes - 1;
}

/** One event has one line. */
function noteDamage(damage: Damage, seq: number): void {
  if (damage.isMissing(seq)) return;
  damage.lines += 1;
  damage.miss(seq, seq + 1);
}

function messagesOf<M>(event: SessionEvent<M> | undefined): { key: string; message: M }[] {
  if (event?.type === 'message') return [{ key: String(event.seq), message: event.message }];
  if (event?.type !== 'session_restart') return [];
  return event.messages.map((message, i) => ({ key: `${event.seq}.${i}`, message }));
}

/** Damage behind the last event that is known to be acknowledged. Events behind it wait until a later batch proves that they were synced. */
interface Doubtful<M> {
  readonly offset: number;
  readonly expected: number;
  readonly lines: number;
  readonly followers: Located<M>[];
}

class Replay<M> {
  readonly #options: RecoverOptions<M>;
  readonly #snapshot: Snapshot<M> | undefined;
  /** Events up to this one were acknowledged: of their lines, none is cut off. */
  readonly #acknowledged: number;
  readonly #damage: Damage;
  #end: LogEnd;
  #format: string | undefined;
  #archiveBytes: number;
  #events = 0;
  #cutLines = 0;
  #tornBytes = 0;
  #doubtful: Doubtful<M> | undefined;
  /** The lines before the checkpoint of a compacted log: messages to which it refers. */
  #prologue: Located<M>[] | undefined;

  constructor(options: RecoverOptions<M>, { snapshot, damage, acknowledged }: Start<M> & { acknowledged: number }) {
    this.#options = options;
    this.#snapshot = snapshot;
    this.#acknowledged = acknowledged;
    this.#damage = damage;
    this.#format = snapshot?.format;
    this.#archiveBytes = snapshot?.archive_bytes ?? 0;
    this.#end = { position: snapshot?.offset ?? 0, seq: snapshot?.seq ?? 0, time: snapshot?.time ?? '' };
  }

  async run(): Promise<void> {
    let parts = 0;
    for (const part of readLog<M>(this.#options.file, this.#end.position)) {
      this.#take(part);
      if (++parts % PARTS_BETWEEN === 0) await this.#options.between();
    }
    if (this.#doubtful) await this.#cutOff(this.#doubtful);
    if (this.#prologue) this.#withoutCheckpoint(this.#prologue);
    this.#checkEnd();
    // A process that was killed may have written it and not synced it. From here on it counts as synced.
    if (this.#end.seq > this.#acknowledged) await this.#options.file.sync();
  }

  result(problem: string | undefined): Recovered {
    const from = this.#snapshot ? 'snapshot' : this.#events > 0 ? 'events' : 'nothing';
    return {
      end: this.#end,
      format: this.#format,
      archiveBytes: this.#archiveBytes,
      damage: this.#damage,
      recovery: {
        from,
        events: this.#events,
        tornBytes: this.#tornBytes,
        damagedLines: this.#damage.openLines + this.#cutLines,
        missing: this.#damage.missing,
        ...(problem === undefined ? {} : { snapshotProblem: problem }),
      },
    };
  }

  #take(part: LogPart<M>): void {
    if (!('event' in part)) this.#takeNoEvent(part);
    else if (part.kind === 'misnumbered') this.#takeMisnumbered(part);
    else if (part.isWhole || part.event.seq <= this.#acknowledged) this.#takeEvent(part);
    else this.#doubt(part);
  }

  #takeEvent(located: Located<M>): void {
    if (!this.#doubtful) {
      this.#accept(located);
      return;
    }
    this.#doubtful.followers.push(located);
    // Written after the batch of the damaged line was synced: that was an event, and it is lost.
    if (located.batch > this.#doubtful.expected) this.#acceptDoubtful(this.#doubtful);
  }

  /**
   * The line is whole, so no crash left it: it stays in the log. A checkpoint names the messages before it, so there the
   * message is used if its number was right after all.
   */
  #takeMisnumbered(located: Located<M>): void {
    if (this.#doubtful) {
      this.#doubt(located);
      return;
    }
    this.#damage.lines += 1;
    this.#pass(located.place);
    this.#beginPrologue(located);
    this.#prologue?.push(located);
  }

  #beginPrologue({ event }: Located<M>): void {
    if (this.#end.seq === 0 && event.type !== 'session_start') this.#prologue ??= [];
  }

  #takeNoEvent(part: NoEvent): void {
    const isAcknowledged = !this.#doubtful && this.#end.seq < this.#acknowledged;
    if (part.kind === 'blank') this.#pass(part.place);
    else if (isAcknowledged) {
      this.#damage.lines += 1;
      this.#pass(part.place);
    } else this.#doubt(part);
  }

  #doubt({ place, isWhole }: LogPart<M>): void {
    const { offset = place.offset, lines = 0, followers = [], expected = this.#end.seq + 1 } = this.#doubtful ?? {};
    this.#doubtful = { offset, expected, lines: lines + (isWhole ? 1 : 0), followers };
  }

  #pass({ offset, bytes }: Place): void {
    if (!this.#doubtful) this.#end = { ...this.#end, position: offset + bytes };
  }

  #acceptDoubtful({ lines, followers }: Doubtful<M>): void {
    this.#doubtful = undefined;
    this.#damage.lines += lines;
    for (const located of followers) this.#accept(located);
  }

  #accept(located: Located<M>): void {
    const { event, place } = located;
    this.#events += 1;
    if (event.seq <= this.#end.seq) {
      // It is there already.
      this.#damage.lines += 1;
      this.#pass(place);
      return;
    }
    this.#beginPrologue(located);
    // Before a checkpoint there are gaps in any case: it tells which messages are missing.
    if (!this.#prologue) this.#damage.miss(this.#end.seq + 1, event.seq);
    this.#end = { position: place.offset + place.bytes, seq: event.seq, time: event.time };
    if (event.type === 'checkpoint') this.#fromCheckpoint(event);
    else if (this.#prologue) this.#prologue.push(located);
    else this.#fold(located);
  }

  #fold({ event, place }: Located<M>): void {
    if (event.type === 'session_start') this.#format = event.format;
    if (event.type === 'damage_acknowledged') this.#damage.take(event);
    this.#options.conversation.apply(event, place);
  }

  #fromCheckpoint(event: Checkpoint): void {
    const { format, ...state } = event.state as ConversationState<M> & { format: string };
    this.#archiveBytes = event.archive_bytes;
    if (!this.#prologue) return;
    if (event.damage) this.#damage.add(event.damage);
    const found = new Map<string, { message: M; place: Place }>();
    for (const { event, place } of this.#prologue)
      for (const { key, message } of messagesOf(event)) found.set(key, { message, place });
    const lost = this.#options.conversation.load(state, (key) => found.get(key));
    for (const seq of lost.map((key) => Number.parseInt(key, 10))) this.#damage.miss(seq, seq + 1);
    this.#format = format;
    this.#prologue = undefined;
  }

  /** The line is gone that told how the log began: all there is counts, and so does the archive, which goes before it. */
  #withoutCheckpoint(prologue: readonly Located<M>[]): void {
    let next = 1;
    for (const located of prologue) {
      this.#damage.miss(next, located.event.seq);
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
      return archiveEnd(archive, Number.POSITIVE_INFINITY);
    } finally {
      archive.close();
    }
  }

  /** Acknowledged events that are not there are missing; their numbers are not used again. A new line begins behind damage. */
  #checkEnd(): void {
    const { file, folder } = this.#options;
    if (this.#events === 0 && this.#damage.lines > 0 && !this.#snapshot) throw noEvents(folder);
    this.#damage.miss(this.#end.seq + 1, this.#acknowledged + 1);
    const { position } = this.#end;
    const hasNewline = position === 0 || readAt(file, { offset: position - 1, bytes: 1 })[0] === NEWLINE;
    if (!hasNewline) file.write(Buffer.from('\n'), position);
    this.#end = {
      ...this.#end,
      seq: Math.max(this.#end.seq, this.#acknowledged),
      position: position + (hasNewline ? 0 : 1),
    };
  }

  /** A batch that a crash left unfinished was never acknowledged. It must not come back behind later events. */
  async #cutOff({ offset, lines, followers }: Doubtful<M>): Promise<void> {
    const { file, folder } = this.#options;
    const hasLines = lines + followers.length > 0;
    if (hasLines && this.#end.seq === 0) throw noEvents(folder);
    if (hasLines) await keepTorn(this.#options, offset);
    this.#tornBytes = file.size() - offset;
    this.#cutLines = lines;
    file.truncate(offset);
    await file.sync();
  }
}

const PARTS_BETWEEN = 100;
const NEWLINE = 10;

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

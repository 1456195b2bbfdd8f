import { PalimpsestError } from '../../errors.ts';
import { archiveEvents, replaceEvents, rewriteEvents } from './compact.ts';
import type { Conversation } from './conversation.ts';
import type { Damage, KnownDamage } from './damage.ts';
import { encodeBody, stampBody, toLine } from './event-line.ts';
import type { EventLog } from './event-log.ts';
import type { Place } from './lines.ts';
import type { WrittenSession } from './open-log.ts';
import type { SessionEvent } from './session-event.ts';
import { writeSnapshot } from './snapshot.ts';

export interface UpkeepOptions extends WrittenSession {
  readonly id: string;
  readonly compaction: 'archive' | 'discard' | 'off';
  readonly compactAfterBytes: number;
  readonly snapshotEvery: number;
  readonly onProblem: (problem: Error) => void;
}

/** The parts of a session that upkeep works on. */
export interface Kept<M> {
  readonly conversation: Conversation<M>;
  readonly log: EventLog<M>;
  /** The name of the format. */
  readonly format: string;
  /** How much of the archive is known to be sound. */
  readonly archiveBytes: number;
  readonly damage: Damage;
  /** Stores what the conversation hides, before it is written down as hidden. */
  readonly storeHidden: () => Promise<void>;
}

/** Keeps a log quick to open, and free of what is no longer needed: snapshots and compactions, between two batches. */
export class Upkeep<M> {
  readonly #options: UpkeepOptions;
  readonly #kept: Kept<M>;
  #archiveBytes: number;
  #checkpointBytes = 0;
  #sinceSnapshot = 0;
  /** Something may have come to be no longer needed. */
  #mayCompact = false;
  #hasFailedCompaction = false;

  constructor(options: UpkeepOptions, kept: Kept<M>) {
    this.#options = options;
    this.#kept = kept;
    this.#archiveBytes = kept.archiveBytes;
  }

  /** To be told of every event that has become durable. */
  take({ type }: SessionEvent<M>): void {
    this.#sinceSnapshot += 1;
    this.#mayCompact ||= type === 'session_restart' || type === 'reset';
  }

  /** Does the work that is due. A failure here harms no event. */
  async run(): Promise<void> {
    if (this.#sinceSnapshot >= this.#options.snapshotEvery) await this.trySnapshot();
    if (this.#mayCompact && this.#isWorthCompacting()) await this.#attempt(() => this.compact());
  }

  /** Answers whether it was written. */
  async trySnapshot(): Promise<boolean> {
    return this.#attempt(() => this.#snapshot());
  }

  /** Archives all, keeps what is needed with all that it amounts to, and only then lets the rest go. */
  async compact(): Promise<void> {
    if (this.#options.compaction === 'off') return;
    // Stays so if this fails: it would fail again and again.
    this.#hasFailedCompaction = true;
    this.#options.mayWrite();
    await this.#kept.storeHidden();
    const { conversation, log } = this.#kept;
    const { file: events, end } = log;
    const archiveBytes = await this.#archive();
    const seq = end.seq + 1;
    const last = this.#checkpoint(seq, archiveBytes);
    const { file, size, places } = await rewriteEvents(this.#options, {
      events,
      kept: keptLines(conversation),
      last,
    });
    const { hasMoved, error } = await replaceEvents(this.#options);
    if (!hasMoved) file.close();
    else log.moveTo(file, { position: size, seq, time: end.time });
    if (error) {
      // Another process that has taken over is the reason, and not the disk.
      this.#options.mayWrite();
      throw hasMoved ? log.fail(unsureName(error)) : error;
    }
    conversation.moved((place) => places.get(place.offset) ?? place);
    this.#archiveBytes = archiveBytes;
    this.#checkpointBytes = Buffer.byteLength(last);
    this.#hasFailedCompaction = false;
    await this.#snapshot();
  }

  /** Answers how much of the archive is sound then. */
  async #archive(): Promise<number> {
    const soundBytes = this.#archiveBytes;
    if (this.#options.compaction !== 'archive') return soundBytes;
    return archiveEvents(this.#options, { events: this.#kept.log.file, soundBytes });
  }

  /** The line that ends a compacted log. */
  #checkpoint(seq: number, archive_bytes: number): string {
    const { conversation, format, log } = this.#kept;
    const state = { format, ...conversation.dump() };
    const body = encodeBody({ type: 'checkpoint', archive_bytes, state, ...this.#damage() });
    return toLine(stampBody(body, { seq, time: log.end.time, batch: seq }));
  }

  async #snapshot(): Promise<void> {
    // Also where it fails: the next attempt is due after as many events again.
    this.#sinceSnapshot = 0;
    this.#mayCompact = true;
    const { id } = this.#options;
    this.#options.mayWrite();
    await this.#kept.storeHidden();
    const { conversation, format, log } = this.#kept;
    const { seq, time, position: offset } = log.end;
    const { messages: _keys, ...state } = conversation.dump();
    const about = { id, format, seq, time, offset, archive_bytes: this.#archiveBytes, ...this.#damage() };
    await writeSnapshot(this.#options, { ...about, state, messages: conversation.places() });
  }

  #damage(): { readonly damage?: KnownDamage } {
    const damage = this.#kept.damage.dump();
    return damage === undefined ? {} : { damage };
  }

  #isWorthCompacting(): boolean {
    const { compaction, compactAfterBytes } = this.#options;
    this.#mayCompact = false;
    if (compaction === 'off' || this.#hasFailedCompaction) return false;
    const { position } = this.#kept.log.end;
    if (position < compactAfterBytes) return false;
    const lines = keptLines(this.#kept.conversation);
    const live = lines.reduce((sum, { bytes }) => sum + bytes, this.#checkpointBytes);
    return position - live >= Math.max(compactAfterBytes, live);
  }

  async #attempt(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      this.#options.onProblem(error as Error);
      return false;
    }
  }
}

/** The log lines of the messages in memory, each once, in log order. */
function keptLines<M>(conversation: Conversation<M>): Place[] {
  const lines = new Map(conversation.places().map(([, place]) => [place.offset, place]));
  return [...lines.values()].sort((a, b) => a.offset - b.offset);
}

function unsureName(cause: Error): PalimpsestError {
  const text = 'Expected the name of the new log to reach the disk but the sync failed; open the session again';
  return new PalimpsestError('STORE_FAILED', text, { cause });
}

import type { Conversation } from './conversation/conversation.ts';
import type { Damage, KnownDamage } from './log/damage.ts';
import { encodeBody, type Place, stampBody } from './log/event-line.ts';
import type { EventLog } from './log/event-log.ts';
import type { SessionEvent } from './session-event.ts';
import type { SessionStorage } from './session-storage.ts';

export interface UpkeepOptions {
  readonly id: string;
  readonly compaction: 'archive' | 'discard' | 'off';
  readonly compactAfterBytes: number;
  readonly snapshotEvery: number;
  readonly onProblem: (problem: Error) => void;
}

/** The parts of a session that upkeep works on. */
export interface Kept<M> {
  readonly conversation: Conversation<M>;
  readonly storage: SessionStorage<M>;
  readonly log: EventLog<M>;
  /** The name of the format. */
  readonly format: string;
  readonly damage: Damage;
  /** Stores hidden texts before the snapshot or checkpoint records them as hidden. */
  readonly storeHidden: () => Promise<void>;
}

/** Writes snapshots and compacts the log, between two batches. This keeps the log small and quick to open. */
export class Upkeep<M> {
  readonly #options: UpkeepOptions;
  readonly #kept: Kept<M>;
  #checkpointBytes = 0;
  #sinceSnapshot = 0;
  /** A compaction may be worthwhile. */
  #mayCompact = false;
  #hasFailedCompaction = false;

  constructor(options: UpkeepOptions, kept: Kept<M>) {
    this.#options = options;
    this.#kept = kept;
  }

  /** Call this for every durable event. */
  take({ type }: SessionEvent<M>): void {
    this.#sinceSnapshot += 1;
    this.#mayCompact ||= type === 'session_restart' || type === 'reset';
  }

  /** Does the work that is due. A failure harms no event. A provisional view was never sent, so it is not recorded. */
  async run(): Promise<void> {
    if (this.#kept.conversation.isProvisional) return;
    if (this.#sinceSnapshot >= this.#options.snapshotEvery) await this.trySnapshot();
    if (this.#mayCompact && this.#isWorthCompacting()) await this.#attempt(() => this.compact());
  }

  /** Answers whether the snapshot was written. */
  async trySnapshot(): Promise<boolean> {
    if (this.#kept.conversation.isProvisional) return false;
    return this.#attempt(() => this.#snapshot());
  }

  /** Archives all events, then rewrites the log with a checkpoint and only the events that are still needed. */
  async compact(): Promise<void> {
    if (this.#options.compaction === 'off') return;
    // Stays true if the compaction fails, so that it is not retried after every batch.
    this.#hasFailedCompaction = true;
    const { conversation, storage, log } = this.#kept;
    storage.checkWriter();
    await this.#kept.storeHidden();
    const { seq: last, time } = log.end;
    const seq = last + 1;
    const { position, checkpointBytes, placeOf } = await storage.compact({
      kept: keptLines(conversation),
      keepsOthers: this.#options.compaction === 'archive',
      seq,
      time,
      checkpoint: (archiveBytes) => this.#checkpoint(seq, archiveBytes),
    });
    log.moveTo({ position, seq, time });
    conversation.moved(placeOf);
    this.#checkpointBytes = checkpointBytes;
    this.#hasFailedCompaction = false;
    await this.#snapshot();
  }

  /** The checkpoint that ends a compacted log, as JSON. */
  #checkpoint(seq: number, archive_bytes: number): string {
    const { conversation, format, log } = this.#kept;
    const state = { format, ...conversation.dump() };
    const body = encodeBody({ type: 'checkpoint', archive_bytes, state, ...this.#damage() });
    return stampBody(body, { seq, time: log.end.time, batch: seq });
  }

  async #snapshot(): Promise<void> {
    // Reset even if the snapshot fails: the next attempt comes after `snapshotEvery` more events.
    this.#sinceSnapshot = 0;
    this.#mayCompact = true;
    const { id } = this.#options;
    const { conversation, storage, format, log } = this.#kept;
    storage.checkWriter();
    await this.#kept.storeHidden();
    const { seq, time, position: offset } = log.end;
    const { messages: _keys, ...state } = conversation.dump();
    const about = { id, format, seq, time, offset, ...this.#damage() };
    await storage.saveSnapshot({ ...about, state, messages: conversation.places() });
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

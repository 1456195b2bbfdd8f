import type { Conversation, ConversationState } from '../conversation/conversation.ts';
import type { Recovery } from '../session.ts';
import type { Checkpoint, SessionEvent } from '../session-event.ts';
import type { Damage } from './damage.ts';
import type { Place } from './event-line.ts';
import type { LogEnd } from './event-log.ts';
import { messagesOf, seqOfKey } from './restore-snapshot.ts';
import type { Snapshot } from './snapshot.ts';

/** The state of a session after its events were read. */
export interface Recovered {
  /** The format of the messages in the log. Undefined for a new log. */
  readonly format: string | undefined;
  readonly end: LogEnd;
  readonly recovery: Omit<Recovery, 'answeredCalls'>;
  /** All damage that was found, acknowledged or not. */
  readonly damage: Damage;
}

/** An event and the position of its line. */
interface LocatedEvent<M> {
  readonly event: SessionEvent<M>;
  readonly place: Place;
}

export interface ReplayOptions<M> {
  /** The state that the snapshot restored; empty without a snapshot. */
  readonly conversation: Conversation<M>;
  readonly snapshot: Snapshot<M> | undefined;
  readonly damage: Damage;
}

/** Applies events to a conversation in order, and records which are missing. */
export class Replay<M> {
  readonly #options: ReplayOptions<M>;
  readonly damage: Damage;
  /** The number of events that were read. */
  events = 0;
  end: LogEnd;
  #format: string | undefined;
  /** The number of archive bytes that are known to be sound. */
  archiveBytes: number;
  /** The messages before the checkpoint of a compacted log. The checkpoint refers to them. */
  #prologue: LocatedEvent<M>[] | undefined;

  constructor(options: ReplayOptions<M>) {
    const { snapshot, damage } = options;
    this.#options = options;
    this.damage = damage;
    this.#format = snapshot?.format;
    this.archiveBytes = snapshot?.archive_bytes ?? 0;
    this.end = { position: snapshot?.offset ?? 0, seq: snapshot?.seq ?? 0, time: snapshot?.time ?? '' };
  }

  /** Takes the next event. */
  accept(located: LocatedEvent<M>): void {
    const { event, place } = located;
    this.events += 1;
    if (event.seq <= this.end.seq) {
      // An event with this number was already read.
      this.takeDamage(place);
      return;
    }
    this.#beginPrologue(located);
    // A compacted log has gaps before its checkpoint. The checkpoint shows which messages are missing.
    if (!this.#prologue) this.damage.miss(this.end.seq + 1, event.seq);
    this.end = { position: place.offset + place.bytes, seq: event.seq, time: event.time };
    if (event.type === 'checkpoint') this.#fromCheckpoint(event);
    else if (this.#prologue) this.#prologue.push(located);
    else this.#fold(located);
  }

  /** Skips a line that is no event and harms nothing. */
  pass({ offset, bytes }: Place): void {
    this.end = { ...this.end, position: offset + bytes };
  }

  /** Records a damaged line. */
  takeDamage(place: Place): void {
    this.damage.lines += 1;
    this.pass(place);
  }

  /**
   * Call this after the last event. Answers whether the checkpoint at the start of the log is lost. If it is, all events that
   * were found count.
   */
  finish(): { readonly hasLostCheckpoint: boolean } {
    const prologue = this.#prologue;
    if (!prologue) return { hasLostCheckpoint: false };
    this.#prologue = undefined;
    let next = 1;
    for (const located of prologue) {
      this.damage.miss(next, located.event.seq);
      next = located.event.seq + 1;
      this.#fold(located);
    }
    return { hasLostCheckpoint: true };
  }

  result({
    problem,
    tornBytes = 0,
    cutLines = 0,
  }: {
    problem?: string | undefined;
    tornBytes?: number;
    cutLines?: number;
  }): Recovered {
    const from = this.#options.snapshot ? 'snapshot' : this.events > 0 ? 'events' : 'nothing';
    return {
      format: this.#format,
      end: this.end,
      damage: this.damage,
      recovery: {
        from,
        events: this.events,
        tornBytes,
        damagedLines: this.damage.openLines + cutLines,
        missing: this.damage.missing,
        ...(problem === undefined ? {} : { snapshotProblem: problem }),
      },
    };
  }

  #beginPrologue({ event }: LocatedEvent<M>): void {
    if (this.end.seq === 0 && event.type !== 'session_start') this.#prologue ??= [];
  }

  #fold({ event, place }: LocatedEvent<M>): void {
    if (event.type === 'session_start') this.#format = event.format;
    if (event.type === 'damage_acknowledged') this.damage.take(event);
    this.#options.conversation.apply(event, place);
  }

  #fromCheckpoint(event: Checkpoint): void {
    const { format, ...state } = event.state as ConversationState<M> & { format: string };
    this.archiveBytes = event.archive_bytes;
    if (!this.#prologue) return;
    if (event.damage) this.damage.add(event.damage);
    const found = new Map<string, { message: M; place: Place }>();
    for (const { event, place } of this.#prologue)
      for (const { key, message } of messagesOf(event)) found.set(key, { message, place });
    const lost = this.#options.conversation.load(state, (key) => found.get(key));
    for (const seq of lost.map(seqOfKey)) this.damage.miss(seq, seq + 1);
    this.#format = format;
    this.#prologue = undefined;
  }
}

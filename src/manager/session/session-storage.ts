import type { Conversation } from './conversation.ts';
import type { KnownDamage } from './damage.ts';
import type { Place } from './place.ts';
import type { ReadEventsOptions } from './read-events.ts';
import type { Recovered } from './replay.ts';
import type { SessionEvent } from './session-event.ts';
import type { SessionInfo } from './session-info.ts';
import type { Snapshot } from './snapshot.ts';

/** Where sessions live: a directory, or a database. */
export interface SessionPlace {
  /** Lets this process alone write the session. Throws STORE_LOCKED where another process has it open. */
  open<M>(id: string, options: OpenOptions): Promise<SessionStorage<M>>;
  /** All sessions that have events, by their ids. */
  list(): Promise<readonly SessionInfo[]>;
  /** All events of a session, also while another process has it open. */
  read<M>(id: string, options: ReadEventsOptions): AsyncIterable<SessionEvent<M>>;
  /**
   * When a session was last written, by the clock of the place. If that is in the future, `now` is noted in its place, and
   * answered.
   */
  lastWritten(id: string, now: number): Promise<number>;
  /**
   * Removes a session. Answers whether it did. Throws STORE_LOCKED where a process has it open. With `events`, a session that has
   * more events by now stays.
   */
  delete(id: string, known?: Pick<SessionInfo, 'events'>): Promise<boolean>;
  /** To be called when nothing is open any more. */
  close(): Promise<void>;
}

export interface OpenOptions {
  /** Told what went wrong without harm to the events. */
  readonly onProblem: (problem: Error) => void;
  /** Called when the storage is closed. */
  readonly onClose: () => Promise<void> | void;
}

/**
 * Where the events of one session live, as its only writer has it: on disk, or in a database. The storage keeps and returns
 * events and knows nothing of what they mean for the conversation.
 */
export interface SessionStorage<M> {
  /** The folder of the session; empty where it has none. */
  readonly folder: string;
  /** A longer event is refused; `sessionLimits.eventChars` if not given. */
  readonly eventChars?: number;
  /** Set when nothing more may be written: another process has taken over, or nobody knows what was written. */
  readonly failure: Error | undefined;
  /** Throws if it is known that another process has taken over. */
  checkWriter(): void;
  /** Brings an empty conversation to where the events end. Called once, before anything else. */
  recover(options: RecoverOptions<M>): Promise<Recovered>;
  /**
   * Appends events, all or none of them. They are durable when it resolves. If it throws and `failure` is not set, nothing was
   * written, and the events may be appended again.
   */
  append(events: readonly string[], batch: Batch): Promise<Appended>;
  /** All events, also those that are no longer needed. */
  read(options: ReadEventsOptions): AsyncIterable<SessionEvent<M>>;
  /** Replaces the snapshot. Readers find the old one or the new one. */
  saveSnapshot(snapshot: SnapshotOf<M>): Promise<void>;
  /** Appends a checkpoint and lets go of events that are no longer needed, all or nothing. */
  compact(compaction: Compaction): Promise<Compacted>;
  /** Lets others open the session. `isSaved`: a snapshot of all events was written. */
  close(state: { readonly isSaved: boolean }): Promise<void>;
}

export interface RecoverOptions<M> {
  /** Empty when this begins. */
  readonly conversation: Conversation<M>;
  /** Called between events, so that what they hide can be stored before there is too much of it. */
  readonly between: () => Promise<void>;
  /** Called with the format of the messages; undefined for a new log. Throws where it is another than expected. */
  readonly checkFormat: (format: string | undefined) => void;
}

/** Where a batch stands in the log. Its events are JSON and have their numbers already. */
export interface Batch {
  /** Where the log ends before it. */
  readonly position: number;
  /** The number of its first event. */
  readonly seq: number;
  readonly time: string;
}

export interface Appended {
  /** Where the log ends now. */
  readonly position: number;
  /** Where each event stands. */
  readonly places: readonly Place[];
}

/** A snapshot without what only the storage knows. */
export type SnapshotOf<M> = Omit<Snapshot<M>, 'archive_bytes'>;

export interface Compaction {
  /** The events that are still needed, in order. */
  readonly kept: readonly Place[];
  /** Whether events that are no longer needed can be read later. */
  readonly keepsOthers: boolean;
  /** The number of the checkpoint, and its time. */
  readonly seq: number;
  readonly time: string;
  /** The checkpoint as JSON. It records how much of the archive is sound. */
  readonly checkpoint: (archiveBytes: number) => string;
}

export interface Compacted {
  /** Where the log ends now. */
  readonly position: number;
  /** The size of the checkpoint. */
  readonly checkpointBytes: number;
  /** Where an event stands that was kept. */
  readonly placeOf: (before: Place) => Place;
}

/** Damage as a snapshot and a checkpoint have it. */
export interface WithDamage {
  readonly damage?: KnownDamage;
}

import { PalimpsestError } from '../../errors.ts';
import type { Conversation } from './conversation/conversation.ts';
import type { Place } from './log/event-line.ts';
import type { Recovered } from './log/replay.ts';
import type { Snapshot } from './log/snapshot.ts';
import type { EventOptions } from './session.ts';
import type { SessionEvent } from './session-event.ts';
import type { SessionInfo } from './session-info.ts';

/** How people find the parts of a session in its place. */
export interface SessionNames {
  readonly events: string;
  readonly snapshot: string;
}

/** The location of sessions: a directory or a database. */
export interface SessionPlace {
  readonly names: SessionNames;
  /**
   * Makes this process the only writer of the session. Throws STORE_LOCKED if another process has it open. `onProblem` is called
   * with problems that do not harm the events.
   */
  open<M>(id: string, onProblem: (problem: Error) => void): Promise<SessionStorage<M>>;
  /** All sessions with events, sorted by id. */
  list(): Promise<readonly SessionInfo[]>;
  /** All events of a session. Works while another process has it open. */
  read<M>(id: string, options: ReadEventsOptions): AsyncIterable<SessionEvent<M>>;
  /** The time of the last write, by the clock of the place. If that is in the future, `now` is recorded instead and returned. */
  lastWritten(id: string, now: number): Promise<number>;
  /**
   * Removes a session. Answers whether it was removed. Throws STORE_LOCKED if a process has it open. With `known`, a session that
   * has more events by now stays.
   */
  delete(id: string, known?: Pick<SessionInfo, 'events'>): Promise<boolean>;
  /** Call this after every session is closed. */
  close(): Promise<void>;
}

export interface ReadEventsOptions extends EventOptions {
  /** Called with the number of damaged lines once all events were read, if some of them are not acknowledged. */
  readonly onDamage: (lines: number) => void;
}

/**
 * The events of one session, for its only writer: on disk or in a database. The storage knows nothing about the meaning of
 * events.
 */
export interface SessionStorage<M> {
  /** The folder of the session; empty in a database. */
  readonly folder: string;
  /** A longer event is refused; `sessionLimits.eventChars` if not given. */
  readonly eventChars?: number;
  /** Set when nothing more may be written: another process has taken over, or the result of a write is unknown. */
  readonly failure: Error | undefined;
  /** Throws if it is known that another process has taken over. */
  checkWriter(): void;
  /** Brings an empty conversation to the end of the events. Called once, before all other methods. */
  recover(options: RecoverOptions<M>): Promise<Recovered>;
  /**
   * Appends all events or none. They are durable when it resolves. If it throws without setting `failure`, nothing was written
   * and the events can be appended again.
   */
  append(events: readonly string[], batch: Batch): Promise<Appended>;
  /** All events, including those that are no longer needed. */
  read(options: ReadEventsOptions): AsyncIterable<SessionEvent<M>>;
  /** Replaces the snapshot. Readers find the old one or the new one. */
  saveSnapshot(snapshot: SnapshotOf<M>): Promise<void>;
  /** Appends a checkpoint and removes events that are no longer needed, all or nothing. */
  compact(compaction: Compaction): Promise<Compacted>;
  /** Lets other processes open the session. `isSaved`: a snapshot of all events was written. */
  close(state: { readonly isSaved: boolean }): Promise<void>;
}

export interface RecoverOptions<M> {
  /** Empty before recovery. */
  readonly conversation: Conversation<M>;
  /** Called between events, so that hidden texts are stored before too many are pending. */
  readonly between: () => Promise<void>;
}

/** The position of a batch in the log. Its events are JSON and already numbered. */
export interface Batch {
  /** The end of the log before the batch. */
  readonly position: number;
  /** The number of the first event. */
  readonly seq: number;
  readonly time: string;
  /** What the events change about the session. */
  readonly changes: Partial<SessionInfo>;
}

/** The error of an `append` that has written nothing. */
export function notWritten(why: string, cause: unknown): PalimpsestError {
  const text = `Expected to write to the log of the session but found: ${why}; nothing was added, add it again`;
  return new PalimpsestError('STORE_FAILED', text, { cause });
}

export interface Appended {
  /** The new end of the log. */
  readonly position: number;
  /** The position of each event. */
  readonly places: readonly Place[];
}

/** A snapshot without the fields that only the storage knows. */
export type SnapshotOf<M> = Omit<Snapshot<M>, 'archive_bytes'>;

export interface Compaction {
  /** The events that are still needed, in order. */
  readonly kept: readonly Place[];
  /** Whether events that are no longer needed stay readable. */
  readonly keepsOthers: boolean;
  /** The number of the checkpoint, and its time. */
  readonly seq: number;
  readonly time: string;
  /** The checkpoint as JSON. It records how much of the archive is sound. */
  readonly checkpoint: (archiveBytes: number) => string;
}

export interface Compacted {
  /** The new end of the log. */
  readonly position: number;
  /** The size of the checkpoint. */
  readonly checkpointBytes: number;
  /** The new position of an event that was kept. */
  readonly placeOf: (before: Place) => Place;
}

import { storeLimits } from '../limits.ts';
import { badOption, type Rule, rule } from '../options.ts';
import type { RequestRecord } from '../report/request-record.ts';

/** Programs that are compiled without the types of Node and of browsers have no `AbortSignal`. */
export type Signal = typeof globalThis extends { AbortSignal: { prototype: infer S } }
  ? S
  : { readonly aborted: boolean };

/** The name of a text: `p_` and 26 letters and digits. */
export type Handle = string;

/** The place where a text was hidden. */
export interface Reference {
  /** The session whose request hid it. */
  readonly session?: string;
  /** The turn of that session. */
  readonly turn?: number;
  /** The tool whose result it is. */
  readonly tool?: string;
}

/** A stored text with its references. */
export interface Stored {
  /** The name of the text. */
  readonly handle: Handle;
  /** The whole text. */
  readonly text: string;
  /** The size in UTF-8. */
  readonly bytes: number;
  /** The places where it was hidden. */
  readonly refs: readonly Reference[];
}

/** One turn of a conversation: recent ones whole, masked ones with a placeholder and handles. */
export interface TurnRecord {
  /** The session of the turn. */
  readonly session: string;
  /** Counts from 1; turn 0 is everything before the first reply. */
  readonly turn: number;
  /** The words and the thinking of the model. */
  readonly reasoning: string;
  /** A line for each call: the tool and its arguments. */
  readonly action: string;
  /** The results of the calls as the model sees them. */
  readonly observation: string;
  /** The words of the user in this turn, if there are any. */
  readonly user?: string;
  /** The tools that were called. */
  readonly tools?: readonly string[];
  /** Whether a result is behind a handle, as a whole or in part. */
  readonly masked: boolean;
  /** The results behind handles. */
  readonly results?: readonly { readonly callId: string; readonly tool: string; readonly handle: Handle }[];
}

/** A small text of a session under a name: a summary, a count. */
export interface SessionNote {
  /** The session that the note belongs to. */
  readonly session: string;
  /** 1 to 128 letters, digits, `_`, `.`, `:` and `-`. */
  readonly name: string;
  /** Up to 64 KiB of UTF-8. */
  readonly text: string;
}

/** The records of requests that started from `since` on and before `until`, in ms since the epoch. */
export interface RecordRange {
  /** The first moment, included. @default the beginning */
  readonly since?: number;
  /** The moment after the last. @default now */
  readonly until?: number;
  /** Called for each damaged record of these days. It is left out. @default none */
  readonly onDamaged?: () => void;
}

/** Where and how to search. */
export interface SearchOptions {
  /** Only texts that this session refers to. @default all sessions */
  readonly session?: string;
  /** The query is a regular expression. @default false */
  readonly regex?: boolean;
  /** Capital letters make no difference. @default false */
  readonly ignoreCase?: boolean;
  /** The largest number of matches. @default all */
  readonly limit?: number;
  /** Once aborted, the search stops and throws the signal's reason. @default none */
  readonly signal?: Signal | undefined;
}

/** A line that matches a search. */
export interface Match {
  /** The text that has the line. */
  readonly handle: Handle;
  /** Counted from 1. */
  readonly line: number;
  /** The line. */
  readonly text: string;
  /** The places where the text was hidden. */
  readonly refs: readonly Reference[];
}

/** A session with its times and sizes. Times are in ms since the epoch. */
export interface SessionInfo {
  /** The id of the session. */
  readonly session: string;
  /** When it was first written to. */
  readonly firstAt: number;
  /** When it was written to or touched last, to the hour. */
  readonly lastAt: number;
  /** Texts that it refers to, including those that other sessions refer to. */
  readonly texts: number;
  /** The size of these texts, in UTF-8. */
  readonly textBytes: number;
  /** Turns that are stored. */
  readonly turns: number;
}

/** The size of a store. */
export interface StoreStats {
  /** The engine. */
  readonly kind: 'memory' | 'embedded' | 'postgres';
  /** Texts, each counted once. */
  readonly texts: number;
  /** Turns of all sessions. */
  readonly turns: number;
  /** Notes of all sessions. */
  readonly notes: number;
  /** Records of requests, if the store keeps them. */
  readonly records?: number;
  /** Sessions that texts or turns belong to. */
  readonly sessions: number;
  /** The size of all texts, in UTF-8. */
  readonly textBytes: number;
  /** The size on disk, if known. */
  readonly diskBytes?: number;
  /** The part of it that the next compaction frees. */
  readonly deadBytes?: number;
  /** The stored bytes, without those that the next compaction frees. `maxBytes` of `prune` is compared with it. */
  readonly usedBytes?: number;
  /** When the oldest data was stored, in ms since the epoch. Absent if nothing has a time. */
  readonly oldestAt?: number;
  /** When the newest data was stored. */
  readonly newestAt?: number;
  /** The bytes that were stored in the last seven days and still exist. */
  readonly weekBytes?: number;
}

/** Something that `verify` found. */
export interface Problem {
  /** The problem. */
  readonly what: string;
  /** The remedy: how much was saved, and what to do. */
  readonly remedy: string;
  /** The text that it is about. */
  readonly handle?: Handle;
  /** The place in the file, in bytes. */
  readonly at?: number;
}

/** How far a compaction may go. */
export interface GcOptions {
  /** Removes data that `verify` reports as damaged. @default false */
  readonly repair?: boolean;
  /** Compacts even if little is dead. @default false */
  readonly force?: boolean;
}

/** The result of a compaction. */
export interface GcReport {
  /** Bytes by which the file shrank. */
  readonly freedBytes: number;
  /** Texts that no session referred to. */
  readonly removedTexts: number;
  /** Damaged records that were removed. */
  readonly repaired: number;
}

/** How `delete` works. */
export interface DeleteOptions {
  /** Waits until the bytes are gone. @default false */
  readonly purge?: boolean;
  /** Removes nothing, and returns the counts of what would be removed. @default false */
  readonly dryRun?: boolean;
  /** Keeps the records of its requests, which hold no text. @default false */
  readonly keepRecords?: boolean;
}

/** Counts of removed data. */
export interface Removed {
  /** Sessions. */
  readonly sessions: number;
  /** Texts. */
  readonly texts: number;
  /** Turns. */
  readonly turns: number;
  /** Records of requests. Absent if none was removed. */
  readonly records?: number;
  /** Removed bytes, counted like `usedBytes`. */
  readonly bytes: number;
}

/** Limits for `prune`: it removes sessions, texts without one and whole days of records, the least recently used first. */
export interface PruneOptions {
  /** Removes sessions that were not used for longer, and days of records that ended before. @default no limit */
  readonly maxAgeMs?: number;
  /** Removes sessions until the store has this size. Sessions in use go last. @default no limit */
  readonly maxBytes?: number;
  /** Removes nothing, and returns what would be removed. @default false */
  readonly dryRun?: boolean;
  /** The present, in ms since the epoch. @default the clock of the store */
  readonly now?: number;
}

/** The result of `prune`. */
export interface PruneReport extends Removed {
  /** Removed sessions that were used in the last six hours: `maxBytes` could not be met without them. */
  readonly inUse: number;
  /** The bytes that are left. */
  readonly usedBytes: number;
}

/** Stores hidden texts, turns, notes and records. A store is opened for one tenant. */
export interface Store {
  /** The `kind` of its `stats`, which a gateway shows. A gateway asks a store without it for `stats`, which may read every row. */
  readonly kind?: StoreStats['kind'];
  /** Durable when it resolves. The same text is stored once and referred to by each session and turn. */
  put(text: string, about: Reference): Promise<Handle>;
  /** One batch: much faster than one after the other. */
  putMany(items: readonly { readonly text: string; readonly about: Reference }[]): Promise<Handle[]>;
  /** Undefined for an unknown handle, and for a text that is not a handle. */
  get(handle: string): Promise<Stored | undefined>;
  /** The texts in the order of the handles: one batch, much faster than one after the other. */
  getMany(handles: readonly string[]): Promise<(Stored | undefined)[]>;
  /** The last record of a turn wins. Durable when it resolves. */
  putTurn(record: TurnRecord): Promise<void>;
  /** One batch: much faster than one after the other. */
  putTurns(records: readonly TurnRecord[]): Promise<void>;
  /** One turn; undefined if it is not stored. */
  turn(session: string, turn: number): Promise<TurnRecord | undefined>;
  /** The turns of a session, in the order of their numbers. */
  turns(session: string): AsyncIterable<TurnRecord>;
  /** Stores a small text of a session under a name, and replaces an earlier one. Durable when it resolves. */
  putNote(note: SessionNote): Promise<void>;
  /** The text kept under that name; undefined if there is none. */
  note(session: string, name: string): Promise<string | undefined>;
  /**
   * Stores records of requests, which hold numbers and names and no text. Durable when it resolves. A store without this
   * method and `records` keeps none: a gateway then has them in memory only.
   */
  putRecords?(records: readonly RequestRecord[]): Promise<void>;
  /** Days in their order; the records of a day may come in any. */
  records?(range?: RecordRange): AsyncIterable<RequestRecord>;
  /** The texts of a session, oldest first. */
  list(session: string): AsyncIterable<Stored>;
  /** Finds lines in stored texts, one match at a time. */
  search(query: string, options?: SearchOptions): AsyncIterable<Match>;
  /** Every session, the least recently used first. */
  sessions(): AsyncIterable<SessionInfo>;
  /** Records that a session is in use. Writes at most once an hour, and nothing for an unknown session. */
  touch(session: string): Promise<void>;
  /** Removes a session's references, turns, notes and records. Texts with none left are gone when it resolves. */
  delete(session: string, options?: DeleteOptions): Promise<Removed>;
  /** Removes whole sessions, texts without one and days of records, by age and size. */
  prune(options?: PruneOptions): Promise<PruneReport>;
  /** Changes with every deletion by any process. A cache of stored handles is then invalid. */
  deletions(): Promise<number>;
  /** Counts texts, sessions and bytes. */
  stats(): Promise<StoreStats>;
  /** Reads everything and resolves with all damage that it finds. An empty list is a sound store. */
  verify(): Promise<Problem[]>;
  /** Frees the space of deleted texts. */
  gc(options?: GcOptions): Promise<GcReport>;
  /** Every text, turn, note and record as one object a line. */
  export(): AsyncIterable<object>;
  /**
   * A random key of this store, the same in every process and after restarts: a gateway names credentials with it. Created at the
   * first call. Undefined for a reader that finds none. It is not in `export`.
   */
  secret(): Promise<string | undefined>;
  /** Finishes all writes and frees the lock or the connections. Later calls throw STORE_CLOSED. */
  close(): Promise<void>;
}

const HANDLE = /^p_[a-z2-7]{26}$/;

export const isHandle = (value: string): boolean => HANDLE.test(value);

const SESSION = new RegExp(`^[A-Za-z0-9_-]{1,${storeLimits.nameChars}}$`);

export const isSessionId = (session: unknown): boolean => typeof session === 'string' && SESSION.test(session);

/** Checks the id of a session: ids become part of keys. */
export const sessionRule: Rule = rule(
  `a session id of 1 to ${storeLimits.nameChars} letters, digits, _ and -`,
  isSessionId,
);

export function checkSession(session: string): void {
  if (!isSessionId(session)) throw badOption('the session', sessionRule.expected, session);
}

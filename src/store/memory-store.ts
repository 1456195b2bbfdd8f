import { randomBytes } from 'node:crypto';
import { given } from '../options.ts';
import type { RequestRecord } from '../report/request-record.ts';
import {
  checkGc,
  checkItem,
  checkNote,
  checkNoteName,
  checkRecord,
  checkTenant,
  checkTurn,
  clashError,
  closedError,
  toReference,
} from './check-input.ts';
import { handleOf } from './handle.ts';
import { MemoryRecords } from './memory-records.ts';
import { type Gone, NOTHING_REMOVED, prune, type Removable, slicesOf, WEEK_MS, withRecords } from './prune.ts';
import { dayOf, isOfSession, removableDays } from './request-records.ts';
import { searchTexts } from './search-texts.ts';
import {
  checkSession,
  type DeleteOptions,
  type GcOptions,
  type GcReport,
  type Handle,
  type Match,
  type Problem,
  type PruneOptions,
  type PruneReport,
  type RecordRange,
  type Reference,
  type Removed,
  type SearchOptions,
  type SessionInfo,
  type SessionNote,
  type Store,
  type Stored,
  type StoreStats,
  type TurnRecord,
} from './store.ts';
import { TextReferences, type TimedReference } from './text-references.ts';

/** Options of `createMemoryStore`. */
export interface MemoryStoreOptions {
  /** Checked but not used: every memory store is separate. @default 'default' */
  readonly tenant?: string;
  /** The clock, in ms since the epoch. @default Date.now */
  readonly now?: () => number;
}

/**
 * A store that ends with the process, for tests and for agents that need recall only while they run.
 *
 * @example
 * ```ts
 * import { createMemoryStore, fitAndStore } from 'palimpsest/store';
 *
 * const store = createMemoryStore();
 * const { messages } = await fitAndStore(history, { store });
 * ```
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): Store {
  const { tenant = 'default', now = Date.now } = given('createMemoryStore', options);
  checkTenant(tenant);
  return new MemoryStore(now);
}

interface Text {
  readonly handle: Handle;
  readonly text: string;
  readonly bytes: number;
  readonly storedAt: number;
  readonly refs: TextReferences;
}

interface Session {
  readonly firstAt: number;
  lastAt: number;
  /** Handles, oldest first. */
  readonly texts: Set<Handle>;
  readonly turns: Map<number, TurnRecord>;
  readonly notes: Map<string, string>;
}

interface NewText {
  readonly text: string;
  readonly about: Reference;
  /** The handle, if the gateway has already computed it. */
  readonly handle?: Handle;
}

class MemoryStore implements Store {
  readonly kind = 'memory';
  readonly #texts = new Map<Handle, Text>();
  readonly #sessions = new Map<string, Session>();
  readonly #records = new MemoryRecords();
  readonly #now: () => number;
  #deletions = 0;
  readonly #secret = randomBytes(32).toString('hex');
  #isClosed = false;

  constructor(now: () => number) {
    this.#now = now;
  }

  async put(text: string, about: Reference): Promise<Handle> {
    const [handle] = await this.putMany([{ text, about }]);
    return handle as Handle;
  }

  async putMany(items: readonly NewText[]): Promise<Handle[]> {
    this.#checkOpen();
    for (const item of items) checkItem(item);
    return items.map((item) => this.#put(item));
  }

  /** Two texts with one handle would have 130 bits of SHA-256 in common: the texts themselves are compared. */
  #put({ text, about: given, handle = handleOf(text) }: NewText): Handle {
    const about = toReference(given);
    const known = this.#texts.get(handle);
    if (known && known.text !== text) throw clashError(handle);
    const time = this.#now();
    const stored = known ?? {
      handle,
      text,
      bytes: Buffer.byteLength(text),
      storedAt: time,
      refs: new TextReferences(),
    };
    this.#texts.set(handle, stored);
    stored.refs.add({ about, time });
    if (about.session !== undefined) this.#used(about.session).texts.add(handle);
    return handle;
  }

  async get(handle: string): Promise<Stored | undefined> {
    this.#checkOpen();
    const found = this.#texts.get(handle);
    return found && toStored(found);
  }

  async getMany(handles: readonly string[]): Promise<(Stored | undefined)[]> {
    return Promise.all(handles.map((handle) => this.get(handle)));
  }

  async putTurn(record: TurnRecord): Promise<void> {
    await this.putTurns([record]);
  }

  async putTurns(records: readonly TurnRecord[]): Promise<void> {
    this.#checkOpen();
    for (const record of records) checkRecord(record);
    for (const record of records) this.#used(record.session).turns.set(record.turn, structuredClone(record));
  }

  async turn(session: string, turn: number): Promise<TurnRecord | undefined> {
    this.#checkOpen();
    checkSession(session);
    checkTurn(turn);
    return structuredClone(this.#sessions.get(session)?.turns.get(turn));
  }

  async *turns(session: string): AsyncGenerator<TurnRecord> {
    this.#checkOpen();
    checkSession(session);
    const { turns } = this.#sessions.get(session) ?? {};
    for (const turn of [...(turns?.keys() ?? [])].sort((a, b) => a - b)) {
      const record = turns?.get(turn);
      if (record) yield structuredClone(record);
    }
  }

  async putNote(note: SessionNote): Promise<void> {
    this.#checkOpen();
    checkNote(note);
    this.#used(note.session).notes.set(note.name, note.text);
  }

  async note(session: string, name: string): Promise<string | undefined> {
    this.#checkOpen();
    checkSession(session);
    checkNoteName(name);
    return this.#sessions.get(session)?.notes.get(name);
  }

  async putRecords(records: readonly RequestRecord[]): Promise<void> {
    this.#checkOpen();
    await this.#records.putRecords(records);
  }

  async *records(range?: RecordRange): AsyncGenerator<RequestRecord> {
    this.#checkOpen();
    yield* this.#records.records(range);
  }

  async *list(session: string): AsyncGenerator<Stored> {
    this.#checkOpen();
    checkSession(session);
    yield* this.#storedOf(session);
  }

  async *search(query: string, options: SearchOptions = {}): AsyncGenerator<Match> {
    this.#checkOpen();
    if (options.session !== undefined) checkSession(options.session);
    yield* searchTexts(this.#storedOf(options.session), query, options);
  }

  async *sessions(): AsyncGenerator<SessionInfo> {
    this.#checkOpen();
    for (const [session, { firstAt, lastAt, texts, turns }] of [...this.#sessions].sort(byUse)) {
      const textBytes = [...texts].reduce((sum, handle) => sum + (this.#texts.get(handle)?.bytes ?? 0), 0);
      yield { session, firstAt, lastAt, texts: texts.size, textBytes, turns: turns.size };
    }
  }

  async touch(session: string): Promise<void> {
    this.#checkOpen();
    checkSession(session);
    const known = this.#sessions.get(session);
    if (known) known.lastAt = this.#now();
  }

  async delete(session: string, { dryRun = false, keepRecords = false }: DeleteOptions = {}): Promise<Removed> {
    this.#checkOpen();
    checkSession(session);
    const removed = this.#remove(
      { session, usedAt: Number.POSITIVE_INFINITY },
      { dryRun, gone: { sessions: new Set(), before: 0 } },
    );
    if (keepRecords) return removed;
    return withRecords(
      removed,
      this.#records.remove((record) => isOfSession(record, session), { dryRun }),
    );
  }

  async prune(options: PruneOptions = {}): Promise<PruneReport> {
    this.#checkOpen();
    const source = {
      removables: async (now: number) => [...this.#removables(), ...removableDays(this.#records.days, now)],
      usedBytes: async () => this.#usedBytes(),
      remove: async (what: Removable, how: { readonly dryRun: boolean; readonly gone: Gone }) =>
        this.#remove(what, how),
    };
    return prune(source, options, this.#now);
  }

  async deletions(): Promise<number> {
    this.#checkOpen();
    return this.#deletions;
  }

  #removables(): Removable[] {
    const sessions = [...this.#sessions].map(([session, { lastAt }]) => ({ session, usedAt: lastAt }));
    const loose = [...this.#texts.values()].flatMap(({ refs }) =>
      refs.all().flatMap(({ about, time }) => (about.session === undefined ? [{ usedAt: time, point: time }] : [])),
    );
    return [...sessions, ...slicesOf(loose.sort((a, b) => a.usedAt - b.usedAt))];
  }

  #remove(
    { session, before = 0, day, usedAt }: Removable,
    { dryRun, gone }: { readonly dryRun: boolean; readonly gone: Gone },
  ): Removed {
    if (day !== undefined)
      return withRecords(
        NOTHING_REMOVED,
        this.#records.remove(({ at }) => dayOf(at) === day, { dryRun }),
      );
    const known = session === undefined ? undefined : this.#sessions.get(session);
    // The session does not exist, or was used after it was chosen.
    if (session !== undefined && !(known && known.lastAt <= usedAt)) return NOTHING_REMOVED;
    const isMeant = ({ about, time }: TimedReference): boolean =>
      about.session === session && (session !== undefined || time < before);
    const isGone = ({ about, time }: TimedReference): boolean =>
      about.session === undefined ? time < gone.before : gone.sessions.has(about.session);
    let [texts, bytes] = [0, 0];
    for (const handle of known?.texts ?? [...this.#texts.keys()]) {
      const text = this.#texts.get(handle);
      const refs = text?.refs.all() ?? [];
      const meant = refs.filter(isMeant);
      if (!text || meant.length === 0) continue;
      if (refs.every((ref) => isMeant(ref) || (dryRun && isGone(ref)))) {
        texts += 1;
        bytes += text.bytes;
        if (!dryRun) this.#texts.delete(handle);
      }
      if (!dryRun) text.refs.remove(meant);
    }
    bytes += sizeOfTurns(known);
    if (!dryRun) this.#deletions += 1;
    if (!dryRun && session !== undefined) this.#sessions.delete(session);
    return { sessions: known ? 1 : 0, texts, turns: known?.turns.size ?? 0, bytes };
  }

  #usedBytes(): number {
    const texts = [...this.#texts.values()].reduce((sum, { bytes }) => sum + bytes, 0);
    return [...this.#sessions.values()].reduce(
      (sum, session) => sum + sizeOfTurns(session),
      texts + this.#records.bytes,
    );
  }

  async stats(): Promise<StoreStats> {
    this.#checkOpen();
    const sessions = [...this.#sessions.values()];
    const texts = [...this.#texts.values()];
    const times = [
      ...texts.map(({ storedAt }) => storedAt),
      ...sessions.flatMap(({ firstAt, lastAt }) => [firstAt, lastAt]),
    ];
    const since = this.#now() - WEEK_MS;
    return {
      kind: this.kind,
      texts: texts.length,
      turns: sessions.reduce((sum, { turns }) => sum + turns.size, 0),
      notes: sessions.reduce((sum, { notes }) => sum + notes.size, 0),
      records: this.#records.count,
      sessions: sessions.length,
      textBytes: texts.reduce((sum, { bytes }) => sum + bytes, 0),
      usedBytes: this.#usedBytes(),
      ...(times.length > 0 ? { oldestAt: least(times), newestAt: -least(times.map((time) => -time)) } : {}),
      weekBytes: texts.reduce((sum, { storedAt, bytes }) => sum + (storedAt >= since ? bytes : 0), 0),
    };
  }

  async verify(): Promise<Problem[]> {
    this.#checkOpen();
    return [];
  }

  async gc(options: GcOptions = {}): Promise<GcReport> {
    this.#checkOpen();
    checkGc(options);
    return { freedBytes: 0, removedTexts: 0, repaired: 0 };
  }

  async secret(): Promise<string> {
    this.#checkOpen();
    return this.#secret;
  }

  async *export(): AsyncGenerator<object> {
    this.#checkOpen();
    for (const stored of this.#storedOf()) yield { type: 'text', ...stored };
    for (const { turns } of this.#sessions.values())
      for (const record of turns.values()) yield { type: 'turn', ...structuredClone(record) };
    for (const [session, { notes }] of this.#sessions)
      for (const [name, text] of notes) yield { type: 'note', session, name, text };
    for await (const record of this.#records.records()) yield { type: 'record', ...record };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#texts.clear();
    this.#sessions.clear();
    this.#records.clear();
  }

  /** A snapshot of the texts of a session, or of all: a slow reader may put and delete meanwhile. */
  *#storedOf(session?: string): Generator<Stored> {
    const handles = session === undefined ? this.#texts.keys() : (this.#sessions.get(session)?.texts ?? []);
    for (const handle of [...handles]) {
      const found = this.#texts.get(handle);
      if (found) yield toStored(found);
    }
  }

  #used(name: string): Session {
    const now = this.#now();
    const session: Session = this.#sessions.get(name) ?? {
      ...{ firstAt: now, lastAt: now },
      ...{ texts: new Set(), turns: new Map(), notes: new Map() },
    };
    session.lastAt = now;
    this.#sessions.set(name, session);
    return session;
  }

  #checkOpen(): void {
    if (this.#isClosed) throw closedError();
  }
}

const toStored = ({ refs, handle, text, bytes }: Text): Stored => ({
  ...{ handle, text, bytes },
  refs: refs.all().map(({ about }) => toReference(about)),
});

const byUse = ([, a]: [string, Session], [, b]: [string, Session]): number => a.lastAt - b.lastAt;

/** Not `Math.min(...times)`: the list may exceed the number of arguments that a call allows. */
const least = (times: readonly number[]): number => times.reduce((min, time) => Math.min(min, time));

/** The size of turns and notes. */
function sizeOfTurns(session: Session | undefined): number {
  let bytes = 0;
  for (const turn of session?.turns.values() ?? []) bytes += Buffer.byteLength(JSON.stringify(turn));
  for (const note of session?.notes.values() ?? []) bytes += Buffer.byteLength(note);
  return bytes;
}

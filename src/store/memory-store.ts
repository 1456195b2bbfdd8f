import { randomBytes } from 'node:crypto';
import { given } from '../options.ts';
import {
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
import { searchTexts } from './search-texts.ts';
import {
  checkSession,
  type GcReport,
  type Handle,
  type Match,
  type Problem,
  type Reference,
  type SearchOptions,
  type SessionNote,
  type Store,
  type Stored,
  type StoreStats,
  type TurnRecord,
} from './store.ts';

/** Options of `createMemoryStore`. */
export interface MemoryStoreOptions {
  /** Every store in memory is alone: the name is only checked. */
  readonly tenant?: string;
}

/** A store that is gone with the process: for tests, and for agents that need recall only while they run. */
export function createMemoryStore(options: MemoryStoreOptions = {}): Store {
  const { tenant = 'default' } = given('createMemoryStore', options);
  checkTenant(tenant);
  return new MemoryStore();
}

interface Text {
  readonly handle: Handle;
  readonly text: string;
  readonly bytes: number;
  readonly refs: Map<string, Reference>;
}

interface Session {
  /** Oldest first. */
  readonly texts: Set<Handle>;
  readonly turns: Map<number, TurnRecord>;
  readonly notes: Map<string, string>;
}

class MemoryStore implements Store {
  readonly #texts = new Map<Handle, Text>();
  readonly #sessions = new Map<string, Session>();
  readonly #secret = randomBytes(32).toString('hex');
  #isClosed = false;

  async put(text: string, about: Reference): Promise<Handle> {
    const [handle] = await this.putMany([{ text, about }]);
    return handle as Handle;
  }

  async putMany(items: readonly { readonly text: string; readonly about: Reference }[]): Promise<Handle[]> {
    this.#checkOpen();
    for (const item of items) checkItem(item);
    return items.map(({ text, about }) => this.#put(text, toReference(about)));
  }

  /** Two texts with one handle would have 130 bits of SHA-256 in common: the texts themselves are compared. */
  #put(text: string, about: Reference): Handle {
    const handle = handleOf(text);
    const known = this.#texts.get(handle);
    if (known && known.text !== text) throw clashError(handle);
    const stored = known ?? { handle, text, bytes: Buffer.byteLength(text), refs: new Map() };
    this.#texts.set(handle, stored);
    const key = JSON.stringify([about.session, about.turn, about.tool]);
    if (!stored.refs.has(key)) stored.refs.set(key, about);
    if (about.session !== undefined) this.#session(about.session).texts.add(handle);
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
    for (const record of records) this.#session(record.session).turns.set(record.turn, structuredClone(record));
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
    this.#session(note.session).notes.set(note.name, note.text);
  }

  async note(session: string, name: string): Promise<string | undefined> {
    this.#checkOpen();
    checkSession(session);
    checkNoteName(name);
    return this.#sessions.get(session)?.notes.get(name);
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

  async delete(session: string): Promise<void> {
    this.#checkOpen();
    checkSession(session);
    for (const handle of this.#sessions.get(session)?.texts ?? []) this.#unrefer(handle, session);
    this.#sessions.delete(session);
  }

  #unrefer(handle: Handle, session: string): void {
    const refs = this.#texts.get(handle)?.refs ?? new Map<string, Reference>();
    for (const [key, about] of refs) if (about.session === session) refs.delete(key);
    if (refs.size === 0) this.#texts.delete(handle);
  }

  async stats(): Promise<StoreStats> {
    this.#checkOpen();
    const sessions = [...this.#sessions.values()];
    return {
      kind: 'memory',
      texts: this.#texts.size,
      turns: sessions.reduce((sum, { turns }) => sum + turns.size, 0),
      notes: sessions.reduce((sum, { notes }) => sum + notes.size, 0),
      sessions: sessions.length,
      textBytes: [...this.#texts.values()].reduce((sum, { bytes }) => sum + bytes, 0),
    };
  }

  async verify(): Promise<Problem[]> {
    this.#checkOpen();
    return [];
  }

  async gc(): Promise<GcReport> {
    this.#checkOpen();
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
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#texts.clear();
    this.#sessions.clear();
  }

  /** Those of a session, or all, as they are now: who reads slowly may put and delete meanwhile. */
  *#storedOf(session?: string): Generator<Stored> {
    const handles = session === undefined ? this.#texts.keys() : (this.#sessions.get(session)?.texts ?? []);
    for (const handle of [...handles]) {
      const found = this.#texts.get(handle);
      if (found) yield toStored(found);
    }
  }

  #session(name: string): Session {
    const session = this.#sessions.get(name) ?? { texts: new Set(), turns: new Map(), notes: new Map() };
    this.#sessions.set(name, session);
    return session;
  }

  #checkOpen(): void {
    if (this.#isClosed) throw closedError();
  }
}

const toStored = ({ refs, ...rest }: Text): Stored => ({ ...rest, refs: [...refs.values()].map(toReference) });

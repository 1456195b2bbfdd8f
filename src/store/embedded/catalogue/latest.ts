import type { SessionNote, TurnRecord } from '../../store.ts';
import type { Key } from '../linear-hash.ts';
import { type LogRecord, NOTE, TURN, USE } from '../log.ts';
import type { Spot } from '../log-file.ts';
import { keyOf, readNote, readNoteKey, readTurn, readUse } from '../records.ts';
import type { Deletions } from './deletions.ts';
import { entryOf, type IndexedLog } from './indexed-log.ts';

/** Turns, notes and uses of sessions: a new record replaces the earlier one of the same item. */
export class Latest {
  readonly #log: IndexedLog;
  readonly #deletions: Deletions;

  constructor(log: IndexedLog, deletions: Deletions) {
    this.#log = log;
    this.#deletions = deletions;
  }

  addTurn({ session, turn }: TurnRecord, spot: Spot): void {
    const isNew = this.#replace(turnKey(session, turn), spot, (old) => turnOf(old, session, turn) !== undefined);
    if (isNew) this.#log.counts.turns += 1;
  }

  addNote({ session, name }: Omit<SessionNote, 'text'>, spot: Spot): void {
    const isNew = this.#replace(noteKey(session, name), spot, (old) => isNoteOf(old, session, name));
    if (isNew) this.#log.counts.notes += 1;
  }

  addUse(session: string, spot: Spot): void {
    this.#replace(useKey(session), spot, (old) => isUseOf(old, session));
    this.#log.counts.newestUse = spot.position;
  }

  /** Points the key to a new record in place of the old one. Returns whether there was no old one. */
  #replace(key: Key, spot: Spot, isSame: (old: LogRecord) => boolean): boolean {
    const { file, index, counts } = this.#log;
    const old = index.find(key, ({ position, bytes }) => {
      const found = file.read(position, bytes);
      return !found || isSame(found);
    });
    counts.deadBytes += old?.bytes ?? 0;
    return this.#log.point(key, old?.position ?? 0, entryOf(spot));
  }

  /** The record of a turn. Throws if it is damaged. */
  findTurn(session: string, turn: number): TurnRecord | undefined {
    return this.#find(session, turnKey(session, turn), (record) => turnOf(record, session, turn));
  }

  /** The text of a note. Throws if it is damaged. */
  findNote(session: string, name: string): string | undefined {
    const read = (record: LogRecord) => (isNoteOf(record, session, name) ? readNote(record.body).text : undefined);
    return this.#find(session, noteKey(session, name), read);
  }

  #find<T>(session: string, key: Key, read: (record: LogRecord) => T | undefined): T | undefined {
    const { found, damagedAt } = this.#log.seek(key, read);
    if (found === undefined && damagedAt > this.#deletions.of(session)) throw this.#log.damaged(damagedAt);
    return found;
  }

  findUse(session: string): LogRecord | undefined {
    return this.#log.seek(useKey(session), (record) => (isUseOf(record, session) ? record : undefined)).found;
  }

  /** Whether no later record has replaced this one. */
  has(record: LogRecord): boolean {
    const key = keyIn(record);
    const isIt = ({ position }: Spot): boolean => position === record.position;
    return key !== undefined && this.#log.index.find(key, isIt) !== undefined;
  }

  /** Removes the record of an item whose session is deleted, unless it was replaced. */
  remove(record: LogRecord): void {
    const { index, counts } = this.#log;
    const key = keyIn(record);
    if (!key || !index.remove(key, record.position)) return;
    counts.deadBytes += record.bytes;
    if (record.type === TURN) counts.turns -= 1;
    if (record.type === NOTE) counts.notes -= 1;
  }
}

/** Undefined for records of other types. */
function keyIn({ type, body }: LogRecord): Key | undefined {
  if (type === TURN) {
    const { session, turn } = readTurn(body);
    return turnKey(session, turn);
  }
  if (type === NOTE) {
    const { session, name } = readNoteKey(body);
    return noteKey(session, name);
  }
  return type === USE ? useKey(readUse(body).session) : undefined;
}

const turnKey = (session: string, turn: number): Key => keyOf('turn', `${session}\0${turn}`);
const noteKey = (session: string, name: string): Key => keyOf('note', `${session}\0${name}`);
const useKey = (session: string): Key => keyOf('use', session);

function turnOf({ type, body }: LogRecord, session: string, turn: number): TurnRecord | undefined {
  if (type !== TURN) return undefined;
  const record = readTurn(body);
  return record.session === session && record.turn === turn ? record : undefined;
}

function isNoteOf({ type, body }: LogRecord, session: string, name: string): boolean {
  if (type !== NOTE) return false;
  const found = readNoteKey(body);
  return found.session === session && found.name === name;
}

const isUseOf = ({ type, body }: LogRecord, session: string): boolean =>
  type === USE && readUse(body).session === session;

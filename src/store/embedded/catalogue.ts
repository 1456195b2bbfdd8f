import { PalimpsestError } from '../../errors.ts';
import { storeLimits } from '../../limits.ts';
import { type Digest, digestOf } from '../handle.ts';
import { type Gone, NOTHING_REMOVED, USE_EVERY_MS } from '../prune.ts';
import type { Reference, Removed, SessionNote, Stored, TurnRecord } from '../store.ts';
import type { Entry, Key, LinearHash } from './linear-hash.ts';
import {
  type Body,
  DELETION,
  EXPIRY,
  type Glimpse,
  type LogRecord,
  MOVED,
  NOTE,
  REFERENCE,
  START,
  TEXT,
  TURN,
  USE,
} from './log.ts';
import type { LogFile, Spot, Stamp } from './log-file.ts';
import {
  beforeOf,
  beforeTurn,
  decodeText,
  deletionBody,
  digestIn,
  expiryBody,
  isNamed,
  keyOf,
  keyOfDigest,
  keyOfHandle,
  noteBody,
  readAbout,
  readDeletion,
  readExpiry,
  readNote,
  readNoteKey,
  readReference,
  readText,
  readTurn,
  readUse,
  referenceBody,
  referenceKey,
  sessionIn,
  type TextBody,
  textBody,
  textBytesOf,
  turnBody,
  useBody,
} from './records.ts';

/** Counts of the live records, kept up to date with each change. */
export interface Counts {
  texts: number;
  turns: number;
  notes: number;
  sessions: number;
  textBytes: number;
  /** Bytes in records that the index no longer points to. */
  deadBytes: number;
  deletions: number;
  /** References whose text was lost when they were read. */
  orphans: number;
  /** The position of the newest use record, or 0. */
  newestUse: number;
}

/** A text to store. `time`: when a copied text was first stored. */
export interface NewText {
  readonly text: string;
  readonly about: Reference;
  readonly time?: number;
}

/** One more reference to a text that is stored already. */
export interface NewReference {
  readonly digest: Digest;
  readonly about: Reference;
  readonly time?: number;
}

/** When a session was used, in ms since the epoch. 0: not known. */
export interface SessionTimes {
  readonly session: string;
  readonly firstAt: number;
  readonly lastAt: number;
}

/** Sessions of an older version have no times. They count as used now. */
export const knownTimes = (
  { firstAt, lastAt }: SessionTimes,
  now: number,
): Pick<SessionTimes, 'firstAt' | 'lastAt'> => ({
  firstAt: firstAt || now,
  lastAt: lastAt || now,
});

/** A record of a text that has no session. */
export interface Loose {
  readonly usedAt: number;
  readonly point: number;
}

/** The session of records that have none: they form a chain like those of a session. */
const NO_SESSION = '';

export interface FoundText extends TextBody {
  readonly position: number;
  readonly recordBytes: number;
}

/** The newest record of a session. */
interface Head {
  readonly session: string;
  readonly key: Key;
  /** The first use, from the newest use record; 0 if there is none. */
  firstAt: number;
  usedAt: number;
  /** The newest record of the session; 0 if there is none. */
  position: number;
  /** The newest record that is written to the log. */
  written: Spot | undefined;
  /** The record that the index points to. */
  indexed: number;
}

/** The content of a log by name: its records, their meaning, and the index that points to them. */
export class Catalogue {
  readonly counts: Counts;
  /** The last record says that the store continues in another generation. */
  isMoved = false;
  readonly #log: LogFile;
  readonly #index: LinearHash;
  /** Recently used sessions: their newest records and last deletions. */
  readonly #heads = new Map<string, Head>();
  readonly #deletions = new Map<string, number>();
  /** Heads that the index does not contain yet. */
  readonly #moved = new Set<Head>();
  /** The low halves of the keys whose records are not written yet. */
  readonly #unwritten = new Set<number>();
  #isTogether = false;
  /** The newest use record, written or not. */
  #newestUse: number;
  readonly #now: () => number;

  /** Counts of a store of format 4 have no notes, those of 5 no uses. */
  constructor(log: LogFile, index: LinearHash, { counts = {}, now = Date.now }: CatalogueOptions = {}) {
    this.#log = log;
    this.#index = index;
    this.counts = { ...noCounts(), ...counts };
    this.#newestUse = this.counts.newestUse;
    this.#now = now;
  }

  // Writing. A record goes into the log first, and into the index once it is written.

  /** Stores texts and their references in one write. Returns their digests. */
  putTexts(items: Iterable<NewText>): Digest[] {
    return this.together(() => {
      const digests: Digest[] = [];
      const now = this.#now();
      for (const { text, about, time = now } of items) digests.push(this.#putText(text, about, time));
      return digests;
    });
  }

  /** Stores turns in one write. */
  putTurns(records: Iterable<TurnRecord>, time = this.#now()): void {
    this.together(() => {
      for (const record of records) {
        const head = this.#headOf(record.session);
        this.#use(head, time);
        this.#append(
          { type: TURN, time },
          turnBody(head.position, record),
          (spot) => this.#addTurn(record, spot),
          head,
        );
      }
    });
  }

  putNote(note: SessionNote, time = this.#now()): void {
    this.together(() => {
      const head = this.#headOf(note.session);
      this.#use(head, time);
      this.#append({ type: NOTE, time }, noteBody(head.position, note), (spot) => this.#addNote(note, spot), head);
    });
  }

  /** Records that a session is in use, unless it does not exist or that was recorded recently. */
  touch(session: string, time = this.#now()): void {
    this.together(() => {
      const head = this.#headOf(session);
      if (head.position > this.#deletionOf(session)) this.#use(head, time);
    });
  }

  /** Whether `touch` would record something. */
  mustTouch(session: string): boolean {
    const head = this.#headOf(session);
    return head.position > this.#deletionOf(session) && isLongAgo(head.usedAt, this.#now());
  }

  /** Records a use with known times, copied from another log. */
  putUse({ session, firstAt, lastAt }: SessionTimes): void {
    this.together(() => this.#appendUse(this.#headOf(session), { firstAt, time: lastAt }));
  }

  #use(head: Head, time: number): void {
    if (head.session === NO_SESSION || !isLongAgo(head.usedAt, time)) return;
    this.#appendUse(head, { firstAt: head.firstAt || time, time });
  }

  #appendUse(head: Head, times: { readonly firstAt: number; readonly time: number }): void {
    const { session } = head;
    // Rounded like the time of a record.
    const [firstAt, time] = [toSecond(times.firstAt), toSecond(times.time)];
    const body = useBody({ session, firstAt, older: this.#newestUse });
    this.#newestUse = this.#append({ type: USE, time }, body, (spot) => this.#addUse(session, spot));
    head.firstAt = firstAt;
    head.usedAt = time;
  }

  /** Deletes a session. The record is written twice, so that one damaged place does not bring deleted data back. */
  deleteSession(session: string): void {
    this.together(() => {
      for (let n = 0; n < 2; n++) {
        // When the deletion is applied, the index holds all records before it and none after it.
        this.#flush();
        const stamp = { type: DELETION, time: this.#now() };
        this.#append(stamp, deletionBody(session), (spot) => this.#addDeletion(session, spot));
        this.#flush();
      }
    });
  }

  /** Removes records without a session before a position. Also written twice. */
  expire(before: number): void {
    this.together(() => {
      for (let n = 0; n < 2; n++) {
        this.#flush();
        this.#append({ type: EXPIRY, time: this.#now() }, expiryBody(before), (spot) => this.#addExpiry(before, spot));
        this.#flush();
      }
    });
  }

  /** Applies many changes in one write. If one fails, unwritten changes are dropped and written ones stay. */
  together<T>(write: () => T): T {
    if (this.#isTogether) return write();
    this.#isTogether = true;
    try {
      const answer = write();
      this.#flush();
      return answer;
    } catch (error) {
      this.#log.drop();
      this.#unwritten.clear();
      this.#indexHeads();
      this.#heads.clear();
      this.#newestUse = this.counts.newestUse;
      throw error;
    } finally {
      this.#isTogether = false;
    }
  }

  #flush(): void {
    this.#log.flush();
    this.#unwritten.clear();
    this.#indexHeads();
  }

  #putText(text: string, about: Reference, time: number): Digest {
    const digest = digestOf(text);
    const key = keyOfDigest(digest);
    // A record that is not written yet cannot be read.
    if (this.#unwritten.has(key.low)) this.#flush();
    // A damaged text is stored again.
    const { text: known, damagedAt } = this.#seekText(digest);
    if (known && known.digest !== digest) throw clash();
    const head = this.#headOf(about.session ?? NO_SESSION);
    this.#use(head, time);
    if (known && this.#refersTo(known, about)) return digest;
    if (!known) {
      const body = textBody(text, { digest, before: head.position, about });
      // A text that was stored before and lost may still have references.
      const isShared = (damagedAt > 0 || this.counts.orphans > 0) && this.#referenceHead(digest) > 0;
      this.#append({ type: TEXT, time }, body, (spot) => this.#addText(key, body.textBytes, spot, isShared), head);
    } else this.#appendReference(digest, about, { head, time });
    this.#unwritten.add(key.low);
    return digest;
  }

  /**
   * Adds a reference to a stored text. Returns false if the text is not stored. Neither the text nor its other references
   * are read, so a compaction that copies many references to one text takes the same time for each.
   */
  putReference({ digest, about, time = this.#now() }: NewReference): boolean {
    return this.together(() => {
      const { low } = keyOfDigest(digest);
      if (this.#unwritten.has(low)) this.#flush();
      if (!this.#isStored(digest)) return false;
      const head = this.#headOf(about.session ?? NO_SESSION);
      this.#use(head, time);
      this.#appendReference(digest, about, { head, time });
      this.#unwritten.add(low);
      return true;
    });
  }

  #isStored(digest: Digest): boolean {
    const isIt = ({ position }: Entry): boolean => this.#log.beginsWith({ type: TEXT, position }, digest);
    return this.#index.find(keyOfDigest(digest), isIt) !== undefined;
  }

  #appendReference(
    digest: Digest,
    about: Reference,
    { head, time }: { readonly head: Head; readonly time: number },
  ): void {
    const older = this.#referenceHead(digest);
    const body = referenceBody({ digest, before: head.position, older, about });
    this.#append({ type: REFERENCE, time }, body, (spot) => this.#addReference(digest, older, spot), head);
  }

  /** Whether one of the newest references to a text is this one already. */
  #refersTo({ digest, about, position }: FoundText, wanted: Reference): boolean {
    if (isSame(about, wanted) && !this.#isDeleted(about, position)) return true;
    let at = this.#referenceHead(digest);
    for (let looked = 0; at > 0 && looked < storeLimits.comparedReferences; looked++) {
      const record = this.#log.read(at, SMALL);
      if (!record) return false;
      const reference = readReference(record.body);
      if (isSame(reference.about, wanted) && !this.#isDeleted(wanted, at)) return true;
      at = reference.older;
    }
    return false;
  }

  #append(stamp: Stamp, body: Body, written: (spot: Spot) => void, head?: Head): number {
    const { position } = this.#log.append(stamp, body, (spot) => {
      written(spot);
      if (head) this.#moveHead(head, spot);
    });
    if (head) head.position = position;
    return position;
  }

  // The meaning of a record. A new record and one that is replayed after a crash are treated the same.

  /** Applies a record that is already in the log. */
  apply(record: LogRecord): void {
    const { type, body } = record;
    this.isMoved = type === MOVED;
    if (type === TEXT) this.#applyText(record);
    else if (type === REFERENCE) this.#addReference(digestIn(body), readReference(body).older, record);
    else if (type === TURN) this.#addTurn(readTurn(body).record, record);
    else if (type === NOTE) this.#addNote(readNoteKey(body), record);
    else if (type === DELETION) this.#addDeletion(readDeletion(body), record);
    else if (type === EXPIRY) this.#addExpiry(readExpiry(body), record);
    else if (type === USE) this.#applyUse(record);
    const session = type === DELETION || type === EXPIRY ? undefined : chainOf(record);
    if (session === undefined) return;
    this.#moveHead(this.#headOf(session), record);
    this.#indexHeads();
  }

  #applyUse(record: LogRecord): void {
    const { session, firstAt } = readUse(record.body);
    this.#addUse(session, record);
    this.#newestUse = record.position;
    const head = this.#heads.get(session);
    if (head) Object.assign(head, { firstAt, usedAt: record.time });
  }

  #addUse(session: string, spot: Spot): void {
    this.#replace(useKey(session), spot, (old) => isUseOf(old, session));
    this.counts.newestUse = spot.position;
  }

  #applyText(record: LogRecord): void {
    const digest = digestIn(record.body);
    this.#addText(keyOfDigest(digest), textBytesOf(record.body), record, this.#referenceHead(digest) > 0);
  }

  #addText(key: Key, textBytes: number, spot: Spot, hasReferences: boolean): void {
    this.#index.add(key, entryOf(spot, hasReferences));
    this.counts.texts += 1;
    this.counts.textBytes += textBytes;
  }

  #addReference(digest: Digest, older: number, spot: Spot): void {
    const key = referenceKey(digest);
    if (!this.#index.mark(keyOfDigest(digest))) this.counts.orphans += 1;
    if (older > 0 && this.#index.move(key, older, entryOf(spot))) return;
    // If the previous reference was lost, the head is an older one.
    const head = older === 0 ? 0 : this.#referenceHead(digest);
    if (head === 0 || !this.#index.move(key, head, entryOf(spot))) this.#index.add(key, entryOf(spot));
  }

  #addTurn({ session, turn }: TurnRecord, spot: Spot): void {
    const isNew = this.#replace(turnKey(session, turn), spot, (old) => turnOf(old, session, turn) !== undefined);
    if (isNew) this.counts.turns += 1;
  }

  #addNote({ session, name }: Omit<SessionNote, 'text'>, spot: Spot): void {
    const isNew = this.#replace(noteKey(session, name), spot, (old) => isNoteOf(old, session, name));
    if (isNew) this.counts.notes += 1;
  }

  /** Points the key to a new record in place of the old one. Returns whether there was no old one. */
  #replace(key: Key, spot: Spot, isSame: (old: LogRecord) => boolean): boolean {
    const old = this.#index.find(key, ({ position, bytes }) => {
      const found = this.#log.read(position, bytes);
      return !found || isSame(found);
    });
    if (!old) {
      this.#index.add(key, entryOf(spot));
      return true;
    }
    this.counts.deadBytes += old.bytes;
    this.#index.move(key, old.position, entryOf(spot));
    return false;
  }

  /** Removes the turns and notes of a session, and every text that no other session refers to. */
  #addDeletion(session: string, spot: Spot): void {
    const positions = this.positionsOf(session);
    const { key, position: head } = this.#headOf(session);
    const earlier = this.#deletionOf(session);
    if (earlier === 0 || !this.#index.move(deletionKey(session), earlier, entryOf(spot)))
      this.#index.add(deletionKey(session), entryOf(spot));
    this.counts.deletions += 1;
    this.counts.deadBytes += spot.bytes;
    this.#remember(session, spot.position);
    if (head > 0 && this.#index.remove(key, head)) this.counts.sessions -= 1;
    this.#heads.delete(session);
    this.#forgetUse(session);
    for (const digest of this.#forgetAll(positions)) this.#forgetText(digest);
  }

  #forgetUse(session: string): void {
    const use = this.#findUse(session);
    if (use && this.#index.remove(useKey(session), use.position)) this.counts.deadBytes += use.bytes;
  }

  #addExpiry(before: number, spot: Spot): void {
    const positions = this.positionsOf(NO_SESSION).filter((position) => position < before);
    const earlier = this.#seekOf(deletionKey(NO_SESSION), NO_SESSION);
    if (earlier === 0 || !this.#index.move(deletionKey(NO_SESSION), earlier, entryOf(spot)))
      this.#index.add(deletionKey(NO_SESSION), entryOf(spot));
    this.counts.deletions += 1;
    this.counts.deadBytes += spot.bytes;
    this.#remember(NO_SESSION, before);
    for (const digest of this.#forgetAll(positions)) this.#forgetText(digest);
  }

  /** Returns the texts that the records referred to, each once. */
  #forgetAll(positions: readonly number[]): Set<Digest> {
    const digests = new Set<Digest>();
    for (const position of positions) {
      const record = this.#log.read(position, SMALL);
      if (record?.type === TURN) this.#forgetTurn(record);
      else if (record?.type === NOTE) this.#forgetNote(record);
      else if (record) digests.add(digestIn(record.body));
      if (record?.type === REFERENCE) this.counts.deadBytes += record.bytes;
    }
    return digests;
  }

  #forgetTurn({ body, position, bytes }: LogRecord): void {
    const { session, turn } = readTurn(body).record;
    if (!this.#index.remove(turnKey(session, turn), position)) return;
    this.counts.turns -= 1;
    this.counts.deadBytes += bytes;
  }

  #forgetNote({ body, position, bytes }: LogRecord): void {
    const { session, name } = readNoteKey(body);
    if (!this.#index.remove(noteKey(session, name), position)) return;
    this.counts.notes -= 1;
    this.counts.deadBytes += bytes;
  }

  #forgetText(digest: Digest): void {
    const text = this.textOf(digest);
    if (!text || this.#hasReference(text)) return;
    this.#index.remove(keyOfDigest(digest), text.position);
    const head = this.#referenceHead(digest);
    if (head > 0) this.#index.remove(referenceKey(digest), head);
    this.counts.texts -= 1;
    this.counts.textBytes -= text.textBytes;
    this.counts.deadBytes += text.recordBytes;
  }

  /**
   * Whether any reference to a text is left. The index is then moved to the newest one that is left, so the next deletion need
   * not walk over deleted references again.
   */
  #hasReference({ digest, about, position }: FoundText): boolean {
    if (!this.#isDeleted(about, position)) return true;
    const head = this.#referenceHead(digest);
    const isLeft = (reference: FoundReference): boolean => !this.#isDeleted(reference.about, reference.position);
    const left = firstOf(this.#referencesFrom(head, digest), isLeft);
    if (left && left.position !== head) this.#index.move(referenceKey(digest), head, entryOf(left));
    return left !== undefined;
  }

  // Texts.

  /** The text of a handle and its references. Throws if it is damaged. */
  find(handle: string): Stored | undefined {
    const key = keyOfHandle(handle);
    if (!key) return undefined;
    let stored: Stored | undefined;
    let damagedAt = 0;
    this.#index.find(key, (entry) => {
      const record = this.#glance(entry);
      if (!record) damagedAt = entry.position;
      else if (record.type === TEXT && isNamed(record.body, key)) stored = this.#stored(handle, record, entry);
      return stored !== undefined;
    });
    // The damaged record is most likely this text. An error is better than the answer that it does not exist.
    if (!stored && damagedAt > 0) throw this.#damaged(damagedAt);
    return stored;
  }

  #stored(handle: string, record: Glimpse, entry: Entry): Stored {
    const { text, bytes } = decodeText(record.body, record.length);
    return { handle, text, bytes, refs: this.#referencesOf(record, entry) };
  }

  /** Reads fully any record that does not look like a text: its type may be damaged. */
  #glance(entry: Entry): Glimpse | undefined {
    const glimpse = this.#log.glance(entry);
    if (glimpse?.type === TEXT) return glimpse;
    const record = this.#log.read(entry.position, entry.bytes);
    return record && { ...record, length: record.body.length };
  }

  #referencesOf({ body, position }: Glimpse, { isMarked }: Entry): Reference[] {
    const about = readAbout(body);
    if (isMarked) return this.referencesTo({ digest: digestIn(body), about, position });
    return this.#isDeleted(about, position) ? [] : [about];
  }

  textOf(digest: Digest): FoundText | undefined {
    return this.#seekText(digest).text;
  }

  #seekText(digest: Digest): { readonly text: FoundText | undefined; readonly damagedAt: number } {
    let text: FoundText | undefined;
    let damagedAt = 0;
    this.#index.find(keyOfDigest(digest), ({ position, bytes }) => {
      const record = this.#log.read(position, bytes);
      if (!record) damagedAt = position;
      if (record?.type !== TEXT || !isAlike(digestIn(record.body), digest)) return false;
      text = { ...readText(record.body), position, recordBytes: record.bytes };
      return true;
    });
    return { text, damagedAt };
  }

  /** The references to a text that were not deleted, oldest first. */
  referencesTo({ digest, about, position }: Pick<FoundText, 'digest' | 'about' | 'position'>): Reference[] {
    const head = this.#referenceHead(digest);
    const isOwnAlive = !this.#isDeleted(about, position);
    if (head === 0) return isOwnAlive ? [about] : [];
    const newestFirst: Reference[] = [];
    for (const reference of this.#referencesFrom(head, digest))
      if (!this.#isDeleted(reference.about, reference.position)) newestFirst.push(reference.about);
    if (isOwnAlive) newestFirst.push(about);
    return unique(newestFirst.reverse());
  }

  /** All references from one on, newest first, including deleted ones. If the chain is broken, reads the log instead. */
  *#referencesFrom(head: number, digest: Digest): Generator<FoundReference> {
    let last = Number.POSITIVE_INFINITY;
    for (let at = head; at > 0; ) {
      const record = this.#log.read(at, SMALL);
      if (!record) {
        yield* this.#readReferences(digest, last);
        return;
      }
      const { about, older } = readReference(record.body);
      yield { about, position: at, bytes: record.bytes };
      last = at;
      at = older;
    }
  }

  #readReferences(digest: Digest, before: number): FoundReference[] {
    const found: FoundReference[] = [];
    for (const { position, type, body, bytes } of this.#log.records()) {
      if (position >= before) break;
      if (type !== REFERENCE) continue;
      const reference = readReference(body);
      if (reference.digest === digest) found.push({ about: reference.about, position, bytes });
    }
    return found.reverse();
  }

  // A damaged record under the wanted key most likely belongs to the wanted item. It is treated as a match, so that the broken
  // chain is noticed and the log is read instead.

  /** The newest reference to a text, or 0. */
  #referenceHead(digest: Digest): number {
    const isOf = ({ position }: Entry): boolean => {
      const record = this.#log.read(position, SMALL);
      return !record || (record.type === REFERENCE && digestIn(record.body) === digest);
    };
    return this.#index.find(referenceKey(digest), isOf)?.position ?? 0;
  }

  // Sessions, turns and notes.

  /** The record of a turn. Throws if it is damaged. */
  findTurn(session: string, turn: number): TurnRecord | undefined {
    return this.#findOf(session, turnKey(session, turn), (record) => turnOf(record, session, turn));
  }

  /** The text of a note. Throws if it is damaged. */
  findNote(session: string, name: string): string | undefined {
    const read = (record: LogRecord) => (isNoteOf(record, session, name) ? readNote(record.body).text : undefined);
    return this.#findOf(session, noteKey(session, name), read);
  }

  #findOf<T>(session: string, key: Key, read: (record: LogRecord) => T | undefined): T | undefined {
    let found: T | undefined;
    let damagedAt = 0;
    this.#index.find(key, ({ position, bytes }) => {
      const record = this.#log.read(position, bytes);
      if (!record) damagedAt = position;
      found = record && read(record);
      return found !== undefined;
    });
    if (found === undefined && damagedAt > this.#deletionOf(session)) throw this.#damaged(damagedAt);
    return found;
  }

  /** The records of a session that were not deleted, oldest first. */
  positionsOf(session: string): number[] {
    const positions: number[] = [];
    const end = this.walk(session, undefined, ({ position }) => positions.push(position) > 0);
    return end === BROKEN_CHAIN ? this.#readPositions(session, this.#deletionOf(session)) : positions.reverse();
  }

  /**
   * Visits the records of a session that are not deleted, newest first, until `visit` returns false. Returns where to continue;
   * undefined at the end. Positions belong to this generation.
   */
  walk(session: string, from: number | undefined, visit: (record: LogRecord) => boolean): number | undefined {
    const deleted = this.#deletionOf(session);
    for (let at = from ?? this.#headOf(session).position; at > deleted; ) {
      const record = this.#log.read(at, SMALL);
      if (!record) return BROKEN_CHAIN;
      at = record.type === TURN ? beforeTurn(record.body) : beforeOf(record.body);
      if (!visit(record)) return at > deleted ? at : undefined;
    }
    return undefined;
  }

  /** A record without the end of a long text. */
  recordAt(position: number): LogRecord | undefined {
    return this.#log.read(position, SMALL);
  }

  /** The records of a session, read from the log because the chain is broken. */
  #readPositions(session: string, after: number): number[] {
    const positions: number[] = [];
    for (const record of this.#log.records(after > 0 ? after : undefined))
      if (record.type !== DELETION && record.type !== EXPIRY && chainOf(record) === session)
        positions.push(record.position);
    return positions;
  }

  #headOf(session: string): Head {
    const known = this.#heads.get(session);
    if (known) return known;
    if (this.#heads.size >= storeLimits.openSessions) {
      this.#flush();
      this.#heads.clear();
    }
    const key = sessionKey(session);
    const position = this.#seekOf(key, session);
    const use = session === NO_SESSION ? undefined : this.#findUse(session);
    const firstAt = use ? readUse(use.body).firstAt : 0;
    const head: Head = {
      ...{ session, key, firstAt, usedAt: use?.time ?? 0 },
      ...{ position, written: undefined, indexed: position },
    };
    this.#heads.set(session, head);
    return head;
  }

  #moveHead(head: Head, { position, bytes }: Spot): void {
    head.position = Math.max(head.position, position);
    head.written = { position, bytes };
    this.#moved.add(head);
  }

  /** Updates the index once for many records of a session. */
  #indexHeads(): void {
    for (const head of this.#moved) {
      const entry = entryOf(head.written as Spot);
      if (head.indexed === 0 || !this.#index.move(head.key, head.indexed, entry)) {
        this.#index.add(head.key, entry);
        if (head.session !== NO_SESSION) this.counts.sessions += 1;
      }
      head.indexed = entry.position;
    }
    this.#moved.clear();
  }

  /** The position of a session's last deletion, or 0. */
  #deletionOf(session: string): number {
    if (this.counts.deletions === 0) return 0;
    const known = this.#deletions.get(session);
    if (known !== undefined) return known;
    const found = this.#seekOf(deletionKey(session), session);
    const position = session === NO_SESSION ? this.#expiredBefore(found) : found;
    this.#remember(session, position);
    return position;
  }

  #expiredBefore(position: number): number {
    const record = position > 0 ? this.#log.read(position, SMALL) : undefined;
    return record?.type === EXPIRY ? readExpiry(record.body) : 0;
  }

  #remember(session: string, deletedAt: number): void {
    if (this.#deletions.size >= storeLimits.openSessions && !this.#deletions.has(session)) this.#deletions.clear();
    this.#deletions.set(session, deletedAt);
  }

  #seekOf(key: Key, session: string): number {
    const isOf = ({ position }: Entry): boolean => {
      const record = this.#log.read(position, SMALL);
      return !record || chainOf(record) === session;
    };
    return this.#index.find(key, isOf)?.position ?? 0;
  }

  #isDeleted({ session }: Reference, position: number): boolean {
    return position < this.#deletionOf(session ?? NO_SESSION);
  }

  /** Whether the session of a text or reference was deleted after it was put. */
  isDeleted({ body, position }: Pick<LogRecord, 'body' | 'position'>): boolean {
    return this.#isDeleted(readAbout(body), position);
  }

  // Times and sizes.

  /**
   * Every session and its times, most recently used first. Sessions of an older version have no use record: they are found in the
   * log, and their times are 0.
   */
  sessionTimes(): SessionTimes[] {
    const known: SessionTimes[] = [];
    for (let at = this.counts.newestUse; at > 0; ) {
      const record = this.#log.read(at, SMALL);
      // The log is read for the rest of the chain.
      if (record?.type !== USE) break;
      const { session, firstAt, older } = readUse(record.body);
      if (this.#leadsTo(useKey(session), record)) known.push({ session, firstAt, lastAt: record.time });
      at = older;
    }
    return known.length === this.counts.sessions ? known : [...known, ...this.#timesWithoutUse(known)];
  }

  #timesWithoutUse(known: readonly SessionTimes[]): SessionTimes[] {
    const names = new Set([NO_SESSION, ...known.map(({ session }) => session)]);
    const found = new Map<string, SessionTimes>();
    for (const record of this.#log.records()) {
      const session = chainOf(record);
      if (session === undefined || names.has(session) || record.position < this.#deletionOf(session)) continue;
      if (record.type === DELETION) continue;
      const { firstAt = record.time } = found.get(session) ?? {};
      found.set(session, { session, firstAt, lastAt: record.time });
    }
    return [...found.values()].reverse();
  }

  /** When a session was used last, to the hour. */
  usedAt(session: string): number {
    return this.#headOf(session).usedAt;
  }

  /** The records of texts without a session, oldest first. */
  looseTexts(): Loose[] {
    return this.positionsOf(NO_SESSION).map((point) => ({ point, usedAt: this.#log.read(point, SMALL)?.time ?? 0 }));
  }

  /** The size of the texts and turns that a session refers to. */
  sizeOf(session: string): { readonly texts: number; readonly textBytes: number; readonly turns: number } {
    const digests = new Set<Digest>();
    const turns = new Set<number>();
    for (const position of this.positionsOf(session)) {
      const record = this.#log.read(position, SMALL);
      if (record?.type === TEXT || record?.type === REFERENCE) digests.add(digestIn(record.body));
      if (record?.type === TURN) turns.add(readTurn(record.body).record.turn);
    }
    const textBytes = [...digests].reduce((sum, digest) => sum + (this.textOf(digest)?.textBytes ?? 0), 0);
    return { texts: digests.size, textBytes, turns: turns.size };
  }

  /** Counts the records that a removal frees, if all of `gone` is removed already. */
  freedBy(
    { session = NO_SESSION, before = Number.POSITIVE_INFINITY }: RemovalTarget,
    { gone, checkedUpTo }: DryRun,
  ): Removed {
    const positions = this.positionsOf(session).filter((position) => position < before);
    const digests = new Set<Digest>();
    let [turns, bytes] = [0, session === NO_SESSION ? 0 : (this.#findUse(session)?.bytes ?? 0)];
    for (const position of positions) {
      const record = this.#log.read(position, SMALL);
      if (!record) continue;
      const isReplaceable = record.type === TURN || record.type === NOTE;
      if (!isReplaceable) digests.add(digestIn(record.body));
      if (isReplaceable ? this.isAlive(record) : record.type === REFERENCE) bytes += record.bytes;
      if (record.type === TURN && this.isAlive(record)) turns += 1;
    }
    const isLeft = ({ about, position }: Pick<FoundReference, 'about' | 'position'>): boolean => {
      if (this.#isDeleted(about, position)) return false;
      if (about.session !== undefined) return about.session !== session && !gone.sessions.has(about.session);
      return position >= (session === NO_SESSION ? Math.max(before, gone.before) : gone.before);
    };
    let texts = 0;
    for (const digest of digests) {
      const text = this.textOf(digest);
      if (!text || isLeft(text) || this.#isAnyLeft(digest, isLeft, checkedUpTo)) continue;
      texts += 1;
      bytes += text.recordBytes;
    }
    const isThere = session !== NO_SESSION && positions.length > 0;
    return positions.length === 0 ? NOTHING_REMOVED : { sessions: isThere ? 1 : 0, texts, turns, bytes };
  }

  #isAnyLeft(
    digest: Digest,
    isLeft: (reference: FoundReference) => boolean,
    checkedUpTo: DryRun['checkedUpTo'],
  ): boolean {
    const from = checkedUpTo.get(digest) ?? this.#referenceHead(digest);
    const left = firstOf(this.#referencesFrom(from, digest), isLeft);
    if (from > 0) checkedUpTo.set(digest, left?.position ?? 0);
    return left !== undefined;
  }

  /** The times of the first record and of the last use, and the bytes stored since a time. */
  ages(since: number): { readonly oldestAt: number; readonly newestAt: number; readonly bytesSince: number } {
    const oldestAt = this.#log.read(START, SMALL)?.time ?? 0;
    let [newestAt, from] = [0, this.#log.end];
    for (let at = this.counts.newestUse; at > 0; ) {
      const record = this.#log.read(at, SMALL);
      if (record?.type !== USE) break;
      newestAt = Math.max(newestAt, record.time);
      if (record.time < since) break;
      from = at;
      at = readUse(record.body).older;
    }
    return { oldestAt, newestAt, bytesSince: this.#log.end - from };
  }

  #findUse(session: string): LogRecord | undefined {
    let found: LogRecord | undefined;
    this.#index.find(useKey(session), ({ position, bytes }) => {
      const record = this.#log.read(position, bytes);
      if (record && isUseOf(record, session)) found = record;
      return found !== undefined;
    });
    return found;
  }

  // The whole store.

  /** Whether the index still points to this record. */
  isAlive(record: LogRecord): boolean {
    if (record.type === TEXT) {
      const { digest, about } = readText(record.body);
      return !this.#isDeleted(about, record.position) && this.textOf(digest)?.position === record.position;
    }
    if (record.type === TURN) {
      const { session, turn } = readTurn(record.body).record;
      return this.#leadsTo(turnKey(session, turn), record);
    }
    if (record.type === NOTE) {
      const { session, name } = readNoteKey(record.body);
      return this.#leadsTo(noteKey(session, name), record);
    }
    if (record.type === USE) return this.#leadsTo(useKey(readUse(record.body).session), record);
    if (record.type !== REFERENCE) return false;
    const { about, digest } = readReference(record.body);
    return !this.#isDeleted(about, record.position) && this.textOf(digest) !== undefined;
  }

  #leadsTo(key: Key, record: LogRecord): boolean {
    return this.#index.find(key, ({ position }) => position === record.position) !== undefined;
  }

  /** Throws `DamagedPage` if any page of the index is damaged. */
  checkIndex(): void {
    for (const _ of this.#index.entries());
  }

  /** Whether a text has references although the index does not point to it. */
  mustLeadTo({ body, position }: LogRecord): boolean {
    const { about, digest } = readText(body);
    return !this.#isDeleted(about, position) && this.textOf(digest) === undefined;
  }

  #damaged(position: number): PalimpsestError {
    return new PalimpsestError(
      'STORE_DAMAGED',
      `Expected a record at ${position} of ${this.#log.name} but found damage; run palimpsest store verify`,
    );
  }
}

/** Most records are smaller. For the others, the first read shows their size. */
const SMALL = 512;

/** A record in the chain of a session is damaged. */
export const BROKEN_CHAIN = -1;

const noCounts = (): Counts => ({
  texts: 0,
  turns: 0,
  notes: 0,
  sessions: 0,
  textBytes: 0,
  deadBytes: 0,
  deletions: 0,
  orphans: 0,
  newestUse: 0,
});

interface CatalogueOptions {
  readonly counts?: Partial<Counts> | undefined;
  readonly now?: (() => number) | undefined;
}

/** Records that `freedBy` already counts as removed. */
export interface DryRun {
  readonly gone: Gone;
  /** For each text: references newer than this position are already counted as removed. */
  readonly checkedUpTo: Map<Digest, number>;
}

/** A reference to a text, and its record. */
interface FoundReference extends Spot {
  readonly about: Reference;
}

function firstOf<T>(items: Iterable<T>, isIt: (item: T) => boolean): T | undefined {
  for (const item of items) if (isIt(item)) return item;
  return undefined;
}

/** A session, or the records without one before a position. */
interface RemovalTarget {
  readonly session?: string;
  readonly before?: number;
}

const toSecond = (time: number): number => 1000 * Math.floor(time / 1000);

/** Compares in both directions: a clock may have been wrong. */
const isLongAgo = (usedAt: number, now: number): boolean => Math.abs(now - usedAt) >= USE_EVERY_MS;

const entryOf = ({ position, bytes }: Spot, isMarked = false): Entry => ({ position, bytes, isMarked });

const sessionKey = (session: string): Key => keyOf('session', session);
const turnKey = (session: string, turn: number): Key => keyOf('turn', `${session}\0${turn}`);
const noteKey = (session: string, name: string): Key => keyOf('note', `${session}\0${name}`);
const useKey = (session: string): Key => keyOf('use', session);
const deletionKey = (session: string): Key => keyOf('deletion', session);

/** The session that a record belongs to or deletes. Undefined for records without one. */
function chainOf({ type, body }: LogRecord): string | undefined {
  if (type === TEXT || type === REFERENCE || type === NOTE) return sessionIn(body) ?? NO_SESSION;
  if (type === TURN) return readTurn(body).record.session;
  if (type === EXPIRY) return NO_SESSION;
  return type === DELETION ? readDeletion(body) : undefined;
}

const isUseOf = ({ type, body }: LogRecord, session: string): boolean =>
  type === USE && readUse(body).session === session;

function turnOf({ type, body }: LogRecord, session: string, turn: number): TurnRecord | undefined {
  if (type !== TURN) return undefined;
  const { record } = readTurn(body);
  return record.session === session && record.turn === turn ? record : undefined;
}

function isNoteOf({ type, body }: LogRecord, session: string, name: string): boolean {
  if (type !== NOTE) return false;
  const found = readNoteKey(body);
  return found.session === session && found.name === name;
}

/** Compares slightly fewer bits than a handle holds. */
const isAlike = (a: Digest, b: Digest): boolean => a.slice(0, 16) === b.slice(0, 16);

const isSame = (a: Reference, b: Reference): boolean =>
  a.session === b.session && a.turn === b.turn && a.tool === b.tool;

/** Removes duplicates: a repeated put only compares the newest references, so older ones can repeat. */
function unique(references: readonly Reference[]): Reference[] {
  const seen = new Map<string, Reference>();
  for (const about of references) {
    const key = JSON.stringify([about.session, about.turn, about.tool]);
    if (!seen.has(key)) seen.set(key, about);
  }
  return [...seen.values()];
}

const clash = (): PalimpsestError =>
  new PalimpsestError(
    'HANDLE_CLASH',
    'Expected one text for each handle but found another with the same; it was not stored',
  );

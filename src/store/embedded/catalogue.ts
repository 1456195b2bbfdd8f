import { PalimpsestError } from '../../errors.ts';
import { type Digest, digestOf } from '../handle.ts';
import type { Reference, SessionNote, Stored, TurnRecord } from '../store.ts';
import type { Entry, Key, LinearHash } from './linear-hash.ts';
import { type Body, DELETION, type Glimpse, type LogRecord, MOVED, NOTE, REFERENCE, TEXT, TURN } from './log.ts';
import type { LogFile, Spot } from './log-file.ts';
import {
  beforeOf,
  beforeTurn,
  decodeText,
  deletionBody,
  digestIn,
  isNamed,
  keyOf,
  keyOfDigest,
  keyOfHandle,
  noteBody,
  readAbout,
  readDeletion,
  readNote,
  readNoteKey,
  readReference,
  readText,
  readTurn,
  referenceBody,
  referenceKey,
  sessionIn,
  type TextBody,
  textBody,
  textBytesOf,
  turnBody,
} from './records.ts';

/** What is counted as it happens. */
export interface Counts {
  texts: number;
  turns: number;
  notes: number;
  sessions: number;
  textBytes: number;
  /** In records that nothing leads to any more. */
  deadBytes: number;
  deletions: number;
  /** References whose text was lost when they were read. */
  orphans: number;
}

export interface FoundText extends TextBody {
  readonly position: number;
  readonly recordBytes: number;
}

/** The newest record of a session. */
interface Head {
  readonly key: Key;
  /** 0 where there is none. */
  position: number;
  /** The newest that the log has. */
  written: Spot | undefined;
  /** Where the index leads. */
  indexed: number;
}

/** What a log holds, by name: its records, what they mean, and the index that leads to them. */
export class Catalogue {
  readonly counts: Counts;
  /** The last record says that the store goes on elsewhere. */
  isMoved = false;
  readonly #log: LogFile;
  readonly #index: LinearHash;
  /** Of sessions that were asked for lately: their newest records, and where they were deleted last. */
  readonly #heads = new Map<string, Head>();
  readonly #deletions = new Map<string, number>();
  /** Heads that the index does not know of yet. */
  readonly #moved = new Set<Head>();
  /** The keys, by half, of what is not written yet. */
  readonly #unwritten = new Set<number>();
  #isTogether = false;

  /** Counts of a store of format 4 have no notes. */
  constructor(log: LogFile, index: LinearHash, counts: Partial<Counts> = {}) {
    this.#log = log;
    this.#index = index;
    this.counts = { ...noCounts(), ...counts };
  }

  // Writing. What is put goes into the log, and into the index once the log has it.

  /** Puts texts and what they are about, many in one write. Answers their digests. */
  putTexts(items: Iterable<{ readonly text: string; readonly about: Reference }>): Digest[] {
    return this.together(() => {
      const digests: Digest[] = [];
      for (const { text, about } of items) digests.push(this.#putText(text, about));
      return digests;
    });
  }

  /** Many in one write. */
  putTurns(records: Iterable<TurnRecord>): void {
    this.together(() => {
      for (const record of records) {
        const head = this.#headOf(record.session);
        this.#append(TURN, turnBody(head.position, record), (spot) => this.#addTurn(record, spot), head);
      }
    });
  }

  putNote(note: SessionNote): void {
    this.together(() => {
      const head = this.#headOf(note.session);
      this.#append(NOTE, noteBody(head.position, note), (spot) => this.#addNote(note, spot), head);
    });
  }

  /** Twice, so that damage to one place does not bring back what was deleted. */
  deleteSession(session: string): void {
    this.together(() => {
      for (let n = 0; n < 2; n++) {
        // What came before it stands in the index when it is taken in, and what comes behind it does not.
        this.#flush();
        this.#append(DELETION, deletionBody(session), (spot) => this.#addDeletion(session, spot));
        this.#flush();
      }
    });
  }

  /** Many changes in one write. If one fails, what was not written yet is forgotten, and what was written stays. */
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

  #putText(text: string, about: Reference): Digest {
    const digest = digestOf(text);
    const key = keyOfDigest(digest);
    // What is not written yet cannot be looked at.
    if (this.#unwritten.has(key.low)) this.#flush();
    // One that is damaged is stored once more.
    const { text: known, damagedAt } = this.#seekText(digest);
    if (known && known.digest !== digest) throw clash();
    if (known && this.#refersTo(known, about)) return digest;
    const head = about.session === undefined ? undefined : this.#headOf(about.session);
    const before = head?.position ?? 0;
    if (!known) {
      const body = textBody(text, { digest, before, about });
      // One that was stored before and lost may have references.
      const isShared = (damagedAt > 0 || this.counts.orphans > 0) && this.#referenceHead(digest) > 0;
      this.#append(TEXT, body, (spot) => this.#addText(key, body.textBytes, spot, isShared), head);
    } else {
      const older = this.#referenceHead(digest);
      const body = referenceBody({ digest, before, older, about });
      this.#append(REFERENCE, body, (spot) => this.#addReference(digest, older, spot), head);
    }
    this.#unwritten.add(key.low);
    return digest;
  }

  /** Whether one of the newest references to a text is this one already. */
  #refersTo({ digest, about, position }: FoundText, wanted: Reference): boolean {
    if (isSame(about, wanted) && !this.#isDeleted(about, position)) return true;
    let at = this.#referenceHead(digest);
    for (let looked = 0; at > 0 && looked < MOST_LOOKED; looked++) {
      const record = this.#log.read(at, SMALL);
      if (!record) return false;
      const reference = readReference(record.body);
      if (isSame(reference.about, wanted) && !this.#isDeleted(wanted, at)) return true;
      at = reference.older;
    }
    return false;
  }

  #append(type: number, body: Body, written: (spot: Spot) => void, head?: Head): void {
    const { position } = this.#log.append(type, body, (spot) => {
      written(spot);
      if (head) this.#moveHead(head, spot);
    });
    if (head) head.position = position;
  }

  // What a record means. The same for one just written and one that is read again after a crash.

  /** Takes in a record that stands in the log already. */
  apply(record: LogRecord): void {
    const { type, body } = record;
    this.isMoved = type === MOVED;
    if (type === TEXT) this.#applyText(record);
    else if (type === REFERENCE) this.#addReference(digestIn(body), readReference(body).older, record);
    else if (type === TURN) this.#addTurn(readTurn(body).record, record);
    else if (type === NOTE) this.#addNote(readNoteKey(body), record);
    else if (type === DELETION) this.#addDeletion(readDeletion(body), record);
    const session = type === DELETION ? undefined : sessionOf(record);
    if (session === undefined) return;
    this.#moveHead(this.#headOf(session), record);
    this.#indexHeads();
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
    // Where the one before was lost, the head is an older one.
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

  /** Leads to a record in place of the one before. Answers whether there was none. */
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
    for (const digest of this.#forgetAll(positions)) this.#forgetText(digest);
  }

  /** Answers the texts that were referred to, each once. */
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
    if (!text || this.referencesTo(text).length > 0) return;
    this.#index.remove(keyOfDigest(digest), text.position);
    const head = this.#referenceHead(digest);
    if (head > 0) this.#index.remove(referenceKey(digest), head);
    this.counts.texts -= 1;
    this.counts.textBytes -= text.textBytes;
    this.counts.deadBytes += text.recordBytes;
  }

  // Texts.

  /** The text of a handle, and who refers to it. Throws where it is damaged. */
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
    // Most likely it is the one that was asked for: better to say so than that there is none.
    if (!stored && damagedAt > 0) throw this.#damaged(damagedAt);
    return stored;
  }

  #stored(handle: string, record: Glimpse, entry: Entry): Stored {
    const { text, bytes } = decodeText(record.body, record.length);
    return { handle, text, bytes, refs: this.#referencesOf(record, entry) };
  }

  /** What is no text may be damage to its type. */
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
    const newestFirst = this.#referencesFrom(head, digest)
      .filter((reference) => !this.#isDeleted(reference.about, reference.position))
      .map((reference) => reference.about);
    if (isOwnAlive) newestFirst.push(about);
    return unique(newestFirst.reverse());
  }

  #referencesFrom(head: number, digest: Digest): { readonly about: Reference; readonly position: number }[] {
    const found: { about: Reference; position: number }[] = [];
    for (let at = head; at > 0; ) {
      const record = this.#log.read(at, SMALL);
      if (!record) return this.#readReferences(digest);
      const { about, older } = readReference(record.body);
      found.push({ about, position: at });
      at = older;
    }
    return found;
  }

  /** The same where the chain is broken. */
  #readReferences(digest: Digest): { readonly about: Reference; readonly position: number }[] {
    const found: { about: Reference; position: number }[] = [];
    for (const { position, type, body } of this.#log.records()) {
      if (type !== REFERENCE) continue;
      const reference = readReference(body);
      if (reference.digest === digest) found.push({ about: reference.about, position });
    }
    return found.reverse();
  }

  // A damaged record under the key that was asked for is most likely of what was asked for. It is taken for it, so that
  // the break in the chain is seen and the log is read instead.

  /** The newest reference to a text, or 0. */
  #referenceHead(digest: Digest): number {
    const isOf = ({ position }: Entry): boolean => {
      const record = this.#log.read(position, SMALL);
      return !record || (record.type === REFERENCE && digestIn(record.body) === digest);
    };
    return this.#index.find(referenceKey(digest), isOf)?.position ?? 0;
  }

  // Sessions, turns and notes.

  /** The record of a turn. Throws where it is damaged. */
  findTurn(session: string, turn: number): TurnRecord | undefined {
    return this.#findOf(session, turnKey(session, turn), (record) => turnOf(record, session, turn));
  }

  /** The text of a note. Throws where it is damaged. */
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

  /** The numbers of the turns of a session, in order. */
  turnsOf(session: string): number[] {
    const turns = new Set<number>();
    for (const position of this.positionsOf(session)) {
      const record = this.#log.read(position, SMALL);
      if (record?.type === TURN) turns.add(readTurn(record.body).record.turn);
    }
    return [...turns].sort((a, b) => a - b);
  }

  /** The records of a session that were not deleted, oldest first. */
  positionsOf(session: string): number[] {
    const positions: number[] = [];
    const deleted = this.#deletionOf(session);
    for (let at = this.#headOf(session).position; at > deleted; ) {
      const record = this.#log.read(at, SMALL);
      if (!record) return this.#readPositions(session, deleted);
      positions.push(at);
      at = record.type === TURN ? beforeTurn(record.body) : beforeOf(record.body);
    }
    return positions.reverse();
  }

  /** The same where the chain is broken. */
  #readPositions(session: string, after: number): number[] {
    const positions: number[] = [];
    for (const record of this.#log.records(after > 0 ? after : undefined))
      if (record.type !== DELETION && sessionOf(record) === session) positions.push(record.position);
    return positions;
  }

  /** The digest of the text that a record stores or refers to. */
  digestAt(position: number): Digest | undefined {
    const record = this.#log.read(position, SMALL);
    return record && (record.type === TEXT || record.type === REFERENCE) ? digestIn(record.body) : undefined;
  }

  #headOf(session: string): Head {
    const known = this.#heads.get(session);
    if (known) return known;
    if (this.#heads.size >= MOST_REMEMBERED) {
      this.#flush();
      this.#heads.clear();
    }
    const key = sessionKey(session);
    const position = this.#seekOf(key, session);
    const head: Head = { key, position, written: undefined, indexed: position };
    this.#heads.set(session, head);
    return head;
  }

  #moveHead(head: Head, { position, bytes }: Spot): void {
    head.position = Math.max(head.position, position);
    head.written = { position, bytes };
    this.#moved.add(head);
  }

  /** Once for many records of a session. */
  #indexHeads(): void {
    for (const head of this.#moved) {
      const entry = entryOf(head.written as Spot);
      if (head.indexed === 0 || !this.#index.move(head.key, head.indexed, entry)) {
        this.#index.add(head.key, entry);
        this.counts.sessions += 1;
      }
      head.indexed = entry.position;
    }
    this.#moved.clear();
  }

  /** Where a session was deleted last, or 0. */
  #deletionOf(session: string): number {
    if (this.counts.deletions === 0) return 0;
    const known = this.#deletions.get(session);
    if (known !== undefined) return known;
    const position = this.#seekOf(deletionKey(session), session);
    this.#remember(session, position);
    return position;
  }

  #remember(session: string, deletedAt: number): void {
    if (this.#deletions.size >= MOST_REMEMBERED && !this.#deletions.has(session)) this.#deletions.clear();
    this.#deletions.set(session, deletedAt);
  }

  #seekOf(key: Key, session: string): number {
    const isOf = ({ position }: Entry): boolean => {
      const record = this.#log.read(position, SMALL);
      return !record || sessionOf(record) === session;
    };
    return this.#index.find(key, isOf)?.position ?? 0;
  }

  #isDeleted({ session }: Reference, position: number): boolean {
    return session !== undefined && position < this.#deletionOf(session);
  }

  // The whole.

  /** Whether this very record still leads to its text, turn or note. */
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

  /** Whether a text is referred to, but the index does not lead to it. */
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

/** Most records are smaller; of the others a first look tells how large they are. */
const SMALL = 512;
const MOST_REMEMBERED = 4096;
/** A text that everybody stores is not compared with all its references. */
const MOST_LOOKED = 256;

const noCounts = (): Counts => ({
  texts: 0,
  turns: 0,
  notes: 0,
  sessions: 0,
  textBytes: 0,
  deadBytes: 0,
  deletions: 0,
  orphans: 0,
});

const entryOf = ({ position, bytes }: Spot, isMarked = false): Entry => ({ position, bytes, isMarked });

const sessionKey = (session: string): Key => keyOf('session', session);
const turnKey = (session: string, turn: number): Key => keyOf('turn', `${session}\0${turn}`);
const noteKey = (session: string, name: string): Key => keyOf('note', `${session}\0${name}`);
const deletionKey = (session: string): Key => keyOf('deletion', session);

/** The session that a record belongs to. */
function sessionOf({ type, body }: LogRecord): string | undefined {
  if (type === TEXT || type === REFERENCE || type === NOTE) return sessionIn(body);
  if (type === TURN) return readTurn(body).record.session;
  return type === DELETION ? readDeletion(body) : undefined;
}

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

/** As far as a handle tells them apart, or a little less. */
const isAlike = (a: Digest, b: Digest): boolean => a.slice(0, 16) === b.slice(0, 16);

const isSame = (a: Reference, b: Reference): boolean =>
  a.session === b.session && a.turn === b.turn && a.tool === b.tool;

/** More than the newest are not looked at when a reference is put again. */
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

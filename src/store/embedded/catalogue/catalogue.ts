import type { Digest } from '../../handle.ts';
import type { SessionNote, TurnRecord } from '../../store.ts';
import type { LinearHash } from '../linear-hash.ts';
import { DELETION, EXPIRY, type LogRecord, MOVED, NOTE, REFERENCE, TEXT, TURN, USE } from '../log.ts';
import type { LogFile, Spot } from '../log-file.ts';
import {
  deletionBody,
  digestIn,
  expiryBody,
  noteBody,
  readAbout,
  readDeletion,
  readExpiry,
  readNoteKey,
  readReference,
  readText,
  readTurn,
  turnBody,
} from '../records.ts';
import { Chains, type SessionTimes } from './chains.ts';
import { Deletions } from './deletions.ts';
import { type Counts, IndexedLog, NO_SESSION } from './indexed-log.ts';
import { Latest } from './latest.ts';
import { References } from './references.ts';
import { type NewReference, type NewText, Texts } from './texts.ts';

interface CatalogueOptions {
  readonly counts?: Partial<Counts> | undefined;
  readonly now?: (() => number) | undefined;
}

/** The content of a log by name: what each record means, when it is written, and when it is replayed after a crash. */
export class Catalogue {
  readonly log: IndexedLog;
  readonly deletions: Deletions;
  readonly latest: Latest;
  readonly chains: Chains;
  readonly references: References;
  readonly texts: Texts;
  /** The last record says that the store continues in another generation. */
  isMoved = false;
  readonly #now: () => number;

  constructor(file: LogFile, index: LinearHash, { counts, now = Date.now }: CatalogueOptions = {}) {
    const log = new IndexedLog(file, index, counts);
    this.log = log;
    this.deletions = new Deletions(log);
    this.latest = new Latest(log, this.deletions);
    this.chains = new Chains({ log, deletions: this.deletions, latest: this.latest });
    this.references = new References(log, this.deletions);
    this.texts = new Texts({ log, deletions: this.deletions, chains: this.chains, references: this.references });
    this.#now = now;
  }

  get counts(): Counts {
    return this.log.counts;
  }

  // Writing.

  /** Applies many changes in one write. If one fails, unwritten changes are dropped and written ones stay. */
  together<T>(write: () => T): T {
    return this.chains.together(write);
  }

  /** Stores texts and their references in one write. Returns their digests. */
  putTexts(items: Iterable<NewText>): Digest[] {
    return this.together(() => {
      const digests: Digest[] = [];
      const now = this.#now();
      for (const { text, about, time = now } of items) digests.push(this.texts.put({ text, about, time }));
      return digests;
    });
  }

  /** Adds a reference to a stored text. Returns false if the text is not stored. */
  putReference({ digest, about, time = this.#now() }: NewReference): boolean {
    return this.together(() => this.texts.putReference({ digest, about, time }));
  }

  /** Stores turns in one write. */
  putTurns(records: Iterable<TurnRecord>, time = this.#now()): void {
    this.together(() => {
      for (const record of records) {
        const head = this.chains.headOf(record.session);
        this.chains.use(head, time);
        const written = (spot: Spot): void => this.latest.addTurn(record, spot);
        this.chains.append({ type: TURN, time }, turnBody(head.position, record), written, head);
      }
    });
  }

  putNote(note: SessionNote, time = this.#now()): void {
    this.together(() => {
      const head = this.chains.headOf(note.session);
      this.chains.use(head, time);
      const written = (spot: Spot): void => this.latest.addNote(note, spot);
      this.chains.append({ type: NOTE, time }, noteBody(head.position, note), written, head);
    });
  }

  /** Records that a session is in use, unless it does not exist or that was recorded recently. */
  touch(session: string): void {
    this.together(() => this.chains.touch(session, this.#now()));
  }

  /** Whether `touch` would record something. */
  mustTouch(session: string): boolean {
    return this.chains.mustTouch(session, this.#now());
  }

  /** Records a use with known times, copied from another log. */
  putUse(times: SessionTimes): void {
    this.together(() => this.chains.putUse(times));
  }

  /** Deletes a session. */
  deleteSession(session: string): void {
    const body = deletionBody(session);
    this.#appendTwice(() =>
      this.chains.append({ type: DELETION, time: this.#now() }, body, (spot) => this.#addDeletion(session, spot)),
    );
  }

  /** Removes records without a session before a position. */
  expire(before: number): void {
    const body = expiryBody(before);
    this.#appendTwice(() =>
      this.chains.append({ type: EXPIRY, time: this.#now() }, body, (spot) => this.#addExpiry(before, spot)),
    );
  }

  /** So that one damaged place does not bring deleted data back. */
  #appendTwice(append: () => void): void {
    this.together(() => {
      for (let n = 0; n < 2; n++) {
        // When the deletion is applied, the index holds all records before it and none after it.
        this.chains.flush();
        append();
        this.chains.flush();
      }
    });
  }

  // The meaning of a record. A new record and one that is replayed after a crash are treated the same.

  /** Applies a record that is already in the log. */
  apply(record: LogRecord): void {
    const { type, body } = record;
    this.isMoved = type === MOVED;
    if (type === TEXT) this.texts.apply(record);
    else if (type === REFERENCE) this.texts.applyReference(record);
    else if (type === TURN) this.latest.addTurn(readTurn(body), record);
    else if (type === NOTE) this.latest.addNote(readNoteKey(body), record);
    else if (type === DELETION) this.#addDeletion(readDeletion(body), record);
    else if (type === EXPIRY) this.#addExpiry(readExpiry(body), record);
    else if (type === USE) this.chains.applyUse(record);
    if (type !== DELETION && type !== EXPIRY) this.chains.apply(record);
  }

  /** Removes the turns and notes of a session, and every text that no other session refers to. */
  #addDeletion(session: string, spot: Spot): void {
    const positions = this.chains.positionsOf(session);
    this.deletions.addDeletion(session, spot);
    this.chains.remove(session);
    const use = this.latest.findUse(session);
    if (use) this.latest.remove(use);
    this.#removeAll(positions);
  }

  #addExpiry(before: number, spot: Spot): void {
    const positions = this.chains.positionsOf(NO_SESSION).filter((position) => position < before);
    this.deletions.addExpiry(before, spot);
    this.#removeAll(positions);
  }

  #removeAll(positions: readonly number[]): void {
    const digests = new Set<Digest>();
    for (const position of positions) {
      const record = this.log.recordAt(position);
      if (record?.type === TURN || record?.type === NOTE) this.latest.remove(record);
      else if (record) digests.add(digestIn(record.body));
      if (record?.type === REFERENCE) this.counts.deadBytes += record.bytes;
    }
    for (const digest of digests) this.texts.removeUnreferenced(digest);
  }

  // The whole store.

  /** Whether the index still points to this record. */
  isAlive(record: LogRecord): boolean {
    const { type, body, position } = record;
    if (type === TURN || type === NOTE || type === USE) return this.latest.has(record);
    if (type === TEXT) {
      const { digest, about } = readText(body);
      return !this.deletions.has(about, position) && this.texts.of(digest)?.position === position;
    }
    if (type !== REFERENCE) return false;
    const { about, digest } = readReference(body);
    return !this.deletions.has(about, position) && this.texts.of(digest) !== undefined;
  }

  /** Whether the session of a text or reference was deleted after it was put. */
  isDeleted({ body, position }: Pick<LogRecord, 'body' | 'position'>): boolean {
    return this.deletions.has(readAbout(body), position);
  }

  /** Whether a text has references although the index does not point to it. */
  mustLeadTo({ body, position }: LogRecord): boolean {
    const { about, digest } = readText(body);
    return !this.deletions.has(about, position) && this.texts.of(digest) === undefined;
  }

  /** Throws `DamagedPage` if any page of the index is damaged. */
  checkIndex(): void {
    for (const _ of this.log.index.entries());
  }
}

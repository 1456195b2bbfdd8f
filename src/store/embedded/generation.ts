import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { PalimpsestError } from '../../errors.ts';
import type { Problem, Reference, TurnRecord } from '../store.ts';
import type { Disk, DiskFile } from './disk.ts';
import { type Journal, type Meta, readJournal, readMeta, writeJournal, writeMeta } from './journal.ts';
import { DamagedPage, type Entry, type Key, LinearHash, PAGE } from './linear-hash.ts';
import {
  aligned,
  DELETION,
  type Draft,
  draftOf,
  FORMAT,
  findId,
  type Gap,
  isGap,
  type LogRecord,
  MOVED,
  REFERENCE,
  readRecord,
  readStart,
  START,
  scanLog,
  sealRecord,
  TEXT,
  TURN,
  writeStart,
} from './log.ts';
import {
  digestOf,
  digestStart,
  keyOf,
  keyOfDigest,
  readDeletion,
  readReference,
  readText,
  readTurn,
  referenceKey,
  type TextBody,
  utf8Bytes,
  writeDeletion,
  writeReference,
  writeText,
  writeTurn,
} from './records.ts';

/** What is counted as it happens. */
export interface Counts {
  texts: number;
  turns: number;
  sessions: number;
  textBytes: number;
  /** In records that nothing leads to any more. */
  deadBytes: number;
  deletions: number;
}

/** When the index is written, and how much of it stays in memory. */
export interface Limits {
  readonly checkpointBytes?: number;
  readonly checkpointPages?: number;
  readonly cachePages?: number;
}

/** Where a generation is. */
export interface Place {
  readonly disk: Disk;
  readonly folder: string;
  readonly number: number;
  readonly limits?: Limits | undefined;
}

export interface FoundText extends TextBody {
  readonly position: number;
  readonly recordBytes: number;
}

/** One generation of a store: a log, which is the truth, and an index into it, which can be built anew. */
export class Generation {
  readonly number: number;
  readonly counts: Counts = noCounts();
  lost: Problem[] = [];
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #limits: Limits;
  readonly #mode: 'read' | 'write';
  readonly #log: DiskFile;
  /** Stands in every record of the log. */
  #id = 0;
  #indexFile: DiskFile | undefined;
  #index: LinearHash;
  #end = START;
  #checkpoint = 0;
  /** The newest records of sessions that were asked for lately, and where they were deleted last. */
  readonly #heads = new Map<string, number>();
  readonly #deletions = new Map<string, number>();
  #isMoved = false;
  #holders = 0;
  #isRetired = false;

  private constructor({ disk, folder, number, limits = {} }: Place, mode: 'read' | 'write', log: DiskFile) {
    this.#disk = disk;
    this.#folder = folder;
    this.#limits = limits;
    this.number = number;
    this.#mode = mode;
    this.#log = log;
    this.#index = this.#emptyIndex();
  }

  static async create(place: Place): Promise<Generation> {
    Generation.remove(place);
    const generation = new Generation(place, 'write', place.disk.open(pathOf(place, 'log'), 'create'));
    generation.#id = randomInt(1, 2 ** 32);
    try {
      generation.#log.write(writeStart(generation.#id), 0);
      await generation.checkpoint();
    } catch (error) {
      generation.close();
      throw error;
    }
    return generation;
  }

  static remove(place: Place): void {
    for (const kind of ['log', 'index', 'meta', 'meta.next', 'journal', 'journal.next'])
      place.disk.remove(pathOf(place, kind));
  }

  /** Opens a generation for writing and takes in what its index does not know yet. */
  static async open(place: Place): Promise<Generation> {
    const path = pathOf(place, 'log');
    const isThere = place.disk.exists(path);
    const generation = new Generation(place, 'write', place.disk.open(path, isThere ? 'write' : 'create'));
    try {
      // What the index holds must be durable before it counts on it: after a truncation old positions are used again.
      if (!generation.#load(await generation.#finishCheckpoint())) await generation.checkpoint();
    } catch (error) {
      generation.close();
      throw error;
    }
    return generation;
  }

  /** The same for reading, beside a process that writes. Throws `DamagedPage` where the index may be changing. */
  static openToRead(place: Place, { isPatient }: { readonly isPatient: boolean }): Generation {
    const generation = new Generation(place, 'read', place.disk.open(pathOf(place, 'log'), 'read'));
    try {
      // A journal is whole: what is not in it stands in the index, whether its pages were put there already or not.
      const journal = readJournal(generation.#readFile('journal'));
      const meta = journal?.meta ?? readMeta(generation.#readFile('meta'));
      generation.#load({ meta, newer: journal?.pages, isPatient });
    } catch (error) {
      generation.close();
      throw error;
    }
    return generation;
  }

  /** Tells whoever reads a log that the store goes on elsewhere, if the process that should have is gone. */
  static markMoved(place: Place): void {
    const log = place.disk.open(pathOf(place, 'log'), 'write');
    try {
      const position = aligned(log.size());
      const draft = draftOf(0);
      sealRecord(draft, { type: MOVED, position, id: readStart(log)?.id ?? findId(log) ?? 0 });
      log.write(draft.bytes, position);
    } finally {
      log.close();
    }
  }

  /** Whether a log ends with the news that the store goes on elsewhere. */
  static isMoved(place: Place): boolean {
    const log = place.disk.open(pathOf(place, 'log'), 'read');
    try {
      const id = readStart(log)?.id ?? findId(log) ?? 0;
      return readRecord(log, aligned(log.size()) - draftOf(0).bytes.length, id, 0)?.type === MOVED;
    } finally {
      log.close();
    }
  }

  /** How much of the log was taken in. */
  get end(): number {
    return this.#end;
  }

  get diskBytes(): number {
    return this.#log.size() + (this.#indexFile?.size() ?? 0);
  }

  /** Whether a checkpoint is due: after a crash only what came since must be read again. */
  get isDue(): boolean {
    const { checkpointBytes = CHECKPOINT_BYTES, checkpointPages = CHECKPOINT_PAGES } = this.#limits;
    return this.#end - this.#checkpoint > checkpointBytes || this.#index.dirtyPages > checkpointPages;
  }

  /** Whether there is anything that the next one to open it would have to read again. */
  get isChanged(): boolean {
    return this.#end !== this.#checkpoint || this.#index.dirtyPages > 0;
  }

  sync(): Promise<void> {
    return this.#log.sync();
  }

  close(): void {
    this.#log.close();
    this.#indexFile?.close();
  }

  /** Closes it when nobody reads from it any more. */
  retire(): void {
    this.#isRetired = true;
    if (this.#holders === 0) this.close();
  }

  hold(): void {
    this.#holders += 1;
  }

  release(): void {
    this.#holders -= 1;
    if (this.#isRetired && this.#holders === 0) this.close();
  }

  // Writing.

  /** Puts a text and what it is about into the log. Answers its digest. */
  putText(text: string, about: Reference): Buffer {
    const digest = digestOf(text);
    // One that is damaged is stored once more.
    const { text: known } = this.#seekText(digest);
    if (known && !known.digest.equals(digest)) throw clash();
    if (known && this.#refersTo(known, about)) return digest;
    const before = this.#sessionHead(about.session);
    if (!known) this.#append(TEXT, writeText(text, { digest, before, about }));
    else this.#append(REFERENCE, writeReference({ digest, before, older: this.#referenceHead(digest), about }));
    return digest;
  }

  /** Whether one of the newest references to a text is this one already. */
  #refersTo({ digest, about, position }: FoundText, wanted: Reference): boolean {
    if (isSame(about, wanted) && !this.#isDeleted(about, position)) return true;
    let at = this.#referenceHead(digest);
    for (let looked = 0; at > 0 && looked < MOST_LOOKED; looked++) {
      const record = this.#peek(at, SMALL);
      if (!record) return false;
      const reference = readReference(record.body);
      if (isSame(reference.about, wanted) && !this.#isDeleted(wanted, at)) return true;
      at = reference.older;
    }
    return false;
  }

  putTurn(record: TurnRecord): void {
    this.#append(TURN, writeTurn(this.#sessionHead(record.session), record));
  }

  /** Twice, so that damage to one place does not bring back what was deleted. */
  deleteSession(session: string): void {
    for (let n = 0; n < 2; n++) this.#append(DELETION, writeDeletion(session));
  }

  /** Tells readers that the store goes on elsewhere. */
  markMoved(): void {
    this.#append(MOVED, draftOf(0));
  }

  #append(type: number, draft: Draft): void {
    const position = this.#end;
    const { bytes, body } = draft;
    sealRecord(draft, { type, position, id: this.#id });
    try {
      this.#log.write(bytes, position);
    } catch (error) {
      // What was written of it must not stand behind the next record, where it would look like damage.
      this.#log.truncate(position);
      throw error;
    }
    this.#end += bytes.length;
    this.#apply({ position, type, body, bytes: bytes.length });
  }

  // Reading.

  /** The text of a handle. Throws where it is damaged. */
  findText(handle: string): FoundText | undefined {
    const { text, damagedAt } = this.#seekText(digestStart(handle));
    // Most likely it is the one that was asked for: better to say so than that there is none.
    if (!text && damagedAt > 0) throw this.#damaged(damagedAt);
    return text;
  }

  textOf(digest: Buffer): FoundText | undefined {
    return this.#seekText(digest).text;
  }

  /** The references to a text that were not deleted, oldest first. */
  referencesTo({ digest, about, position }: FoundText): Reference[] {
    const head = this.#referenceHead(digest);
    const isOwnAlive = !this.#isDeleted(about, position);
    if (head === 0) return isOwnAlive ? [about] : [];
    const newestFirst = this.#referencesFrom(head, digest)
      .filter((reference) => !this.#isDeleted(reference.about, reference.position))
      .map((reference) => reference.about);
    if (isOwnAlive) newestFirst.push(about);
    return unique(newestFirst.reverse());
  }

  #referencesFrom(head: number, digest: Buffer): { readonly about: Reference; readonly position: number }[] {
    const found: { about: Reference; position: number }[] = [];
    for (let at = head; at > 0; ) {
      const record = this.#peek(at, SMALL);
      if (!record) return this.#readReferences(digest);
      const { about, older } = readReference(record.body);
      found.push({ about, position: at });
      at = older;
    }
    return found;
  }

  /** The same where the chain is broken. */
  #readReferences(digest: Buffer): { readonly about: Reference; readonly position: number }[] {
    const found: { about: Reference; position: number }[] = [];
    for (const { position, type, body } of this.#records(START)) {
      if (type !== REFERENCE) continue;
      const reference = readReference(body);
      if (reference.digest.equals(digest)) found.push({ about: reference.about, position });
    }
    return found.reverse();
  }

  /** The record of a turn. Throws where it is damaged. */
  findTurn(session: string, turn: number): TurnRecord | undefined {
    let found: TurnRecord | undefined;
    let damagedAt = 0;
    this.#index.find(turnKey(session, turn), ({ position, size }) => {
      const record = this.#peek(position, guessOf(size));
      if (!record) damagedAt = position;
      found = record && turnOf(record, session, turn);
      return found !== undefined;
    });
    if (!found && damagedAt > 0) throw this.#damaged(damagedAt);
    return found;
  }

  /** The records of a session that were not deleted, oldest first. */
  positionsOf(session: string): number[] {
    const positions: number[] = [];
    const deleted = this.#deletionOf(session);
    for (let at = this.#sessionHead(session); at > deleted; ) {
      const record = this.#peek(at, SMALL);
      if (!record) return this.#readPositions(session, deleted);
      positions.push(at);
      at = beforeOf(record);
    }
    return positions.reverse();
  }

  /** The same where the chain is broken. */
  #readPositions(session: string, after: number): number[] {
    const positions: number[] = [];
    for (const record of this.#records(Math.max(START, after)))
      if (record.type !== DELETION && sessionOf(record) === session) positions.push(record.position);
    return positions;
  }

  /** The digest of the text that a record stores or refers to. */
  digestAt(position: number): Buffer | undefined {
    const record = this.#peek(position, SMALL);
    return record && (record.type === TEXT || record.type === REFERENCE) ? record.body.subarray(0, 32) : undefined;
  }

  scan(from = START): Generator<LogRecord | Gap> {
    return scanLog(this.#log, this.#id, from);
  }

  /** Those that were taken in. */
  *#records(from: number): Generator<LogRecord> {
    for (const found of this.scan(from)) {
      if (found.position >= this.#end) return;
      if (!isGap(found)) yield found;
    }
  }

  /** Whether this very record still leads to its text or turn. */
  isAlive(record: LogRecord): boolean {
    if (record.type === TEXT) {
      const { digest, about } = readText(record.body);
      return !this.#isDeleted(about, record.position) && this.textOf(digest)?.position === record.position;
    }
    if (record.type === TURN) {
      const { session, turn } = readTurn(record.body).record;
      return this.#index.find(turnKey(session, turn), ({ position }) => position === record.position) !== undefined;
    }
    if (record.type !== REFERENCE) return false;
    const { about, digest } = readReference(record.body);
    return !this.#isDeleted(about, record.position) && this.textOf(digest) !== undefined;
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

  #seekText(digest: Buffer): { readonly text: FoundText | undefined; readonly damagedAt: number } {
    let text: FoundText | undefined;
    let damagedAt = 0;
    this.#index.find(keyOfDigest(digest), ({ position, size }) => {
      const record = this.#peek(position, guessOf(size));
      if (!record) damagedAt = position;
      if (record?.type !== TEXT || record.body.compare(digest, 0, 16, 0, 16) !== 0) return false;
      text = { ...readText(record.body), position, recordBytes: record.bytes };
      return true;
    });
    return { text, damagedAt };
  }

  /** Undefined where the record is damaged. */
  #peek(position: number, guess: number): LogRecord | undefined {
    return readRecord(this.#log, position, this.#id, guess);
  }

  #damaged(position: number): PalimpsestError {
    return new PalimpsestError(
      'STORE_DAMAGED',
      `Expected a record at ${position} of ${this.number}.log but found damage; run palimpsest store verify`,
    );
  }

  // A damaged record under the key that was asked for is most likely of what was asked for. It is taken for it, so that
  // the break in the chain is seen and the log is read instead.

  /** The newest reference to a text, or 0. */
  #referenceHead(digest: Buffer): number {
    const isOf = ({ position }: Entry): boolean => {
      const record = this.#peek(position, SMALL);
      return !record || (record.type === REFERENCE && record.body.compare(digest, 0, 32, 0, 32) === 0);
    };
    return this.#index.find(referenceKey(digest), isOf)?.position ?? 0;
  }

  /** The newest record of a session, or 0. */
  #sessionHead(session: string | undefined): number {
    if (session === undefined) return 0;
    return remembered(this.#heads, session, () => this.#seekOf(sessionKey(session), session));
  }

  /** Where a session was deleted last, or 0. */
  #deletionOf(session: string): number {
    if (this.counts.deletions === 0) return 0;
    return remembered(this.#deletions, session, () => this.#seekOf(deletionKey(session), session));
  }

  #seekOf(key: Key, session: string): number {
    const isOf = ({ position }: Entry): boolean => {
      const record = this.#peek(position, SMALL);
      return !record || sessionOf(record) === session;
    };
    return this.#index.find(key, isOf)?.position ?? 0;
  }

  #isDeleted({ session }: Reference, position: number): boolean {
    return session !== undefined && position < this.#deletionOf(session);
  }

  // What a record means. The same for one just written and one that is read again after a crash.

  #apply(record: LogRecord): void {
    this.#isMoved = record.type === MOVED;
    if (record.type === TEXT) this.#applyText(record);
    else if (record.type === REFERENCE) this.#applyReference(record);
    else if (record.type === TURN) this.#applyTurn(record);
    else if (record.type === DELETION) this.#applyDeletion(record);
  }

  #applyText(record: LogRecord): void {
    const text = readText(record.body);
    this.#index.add(keyOfDigest(text.digest), entryOf(record));
    this.counts.texts += 1;
    this.counts.textBytes += utf8Bytes(text);
    this.#moveHead(text.about.session, record);
  }

  #applyReference(record: LogRecord): void {
    const { digest, older, about } = readReference(record.body);
    const key = referenceKey(digest);
    // Where the one before was lost, the head is an older one.
    if (older === 0 || !this.#index.move(key, older, entryOf(record))) {
      const head = older === 0 ? 0 : this.#referenceHead(digest);
      if (head === 0 || !this.#index.move(key, head, entryOf(record))) this.#index.add(key, entryOf(record));
    }
    this.#moveHead(about.session, record);
  }

  #applyTurn(record: LogRecord): void {
    const { session, turn } = readTurn(record.body).record;
    const key = turnKey(session, turn);
    const old = this.#index.find(key, ({ position, size }) => {
      const found = this.#peek(position, guessOf(size));
      return !found || turnOf(found, session, turn) !== undefined;
    });
    if (old) {
      this.counts.deadBytes += old.size * 64;
      this.#index.move(key, old.position, entryOf(record));
    } else {
      this.#index.add(key, entryOf(record));
      this.counts.turns += 1;
    }
    this.#moveHead(session, record);
  }

  #moveHead(session: string | undefined, record: LogRecord): void {
    if (session === undefined) return;
    // Not the one that the record names: that one may have been lost.
    const head = this.#sessionHead(session);
    remember(this.#heads, session, record.position);
    if (head > 0 && this.#index.move(sessionKey(session), head, entryOf(record))) return;
    this.#index.add(sessionKey(session), entryOf(record));
    this.counts.sessions += 1;
  }

  /** Removes the turns of a session, and every text that nobody else refers to. */
  #applyDeletion(record: LogRecord): void {
    const session = readDeletion(record.body);
    const positions = this.positionsOf(session);
    const head = this.#sessionHead(session);
    const earlier = this.#deletionOf(session);
    if (earlier === 0 || !this.#index.move(deletionKey(session), earlier, entryOf(record)))
      this.#index.add(deletionKey(session), entryOf(record));
    this.counts.deletions += 1;
    this.counts.deadBytes += record.bytes;
    remember(this.#deletions, session, record.position);
    if (head > 0 && this.#index.remove(sessionKey(session), head)) this.counts.sessions -= 1;
    this.#heads.delete(session);
    for (const digest of this.#forgetAll(positions)) this.#forgetText(digest);
  }

  /** Answers the texts that were referred to, each once. */
  #forgetAll(positions: readonly number[]): Iterable<Buffer> {
    const digests = new Map<string, Buffer>();
    for (const position of positions) {
      const record = this.#peek(position, SMALL);
      if (record?.type === TURN) this.#forgetTurn(record);
      else if (record) digests.set(record.body.toString('latin1', 0, 32), Buffer.from(record.body.subarray(0, 32)));
      if (record?.type === REFERENCE) this.counts.deadBytes += record.bytes;
    }
    return digests.values();
  }

  #forgetTurn({ body, position, bytes }: LogRecord): void {
    const { session, turn } = readTurn(body).record;
    if (!this.#index.remove(turnKey(session, turn), position)) return;
    this.counts.turns -= 1;
    this.counts.deadBytes += bytes;
  }

  #forgetText(digest: Buffer): void {
    const text = this.textOf(digest);
    if (!text || this.referencesTo(text).length > 0) return;
    this.#index.remove(keyOfDigest(digest), text.position);
    const head = this.#referenceHead(digest);
    if (head > 0) this.#index.remove(referenceKey(digest), head);
    this.counts.texts -= 1;
    this.counts.textBytes -= utf8Bytes(text);
    this.counts.deadBytes += text.recordBytes;
  }

  // The index and its checkpoints.

  /** Makes the index durable: first a copy of its changed pages in a journal, then the pages in their places. */
  async checkpoint(): Promise<void> {
    this.#indexFile ??= this.#createIndex();
    const pages = this.#index.takeDirty(this.#indexFile);
    const checkpoint = this.#end;
    const meta: Meta = {
      version: FORMAT,
      log: this.#id,
      checkpoint,
      counts: { ...this.counts },
      shape: this.#index.shape,
      lost: this.lost,
    };
    await this.#log.sync();
    await this.#replaceFile('journal', writeJournal(meta, pages));
    await this.#place(meta, pages);
    this.#index.release();
    this.#checkpoint = checkpoint;
  }

  #createIndex(): DiskFile {
    this.#disk.remove(this.#path('index'));
    return this.#disk.open(this.#path('index'), 'create');
  }

  async #place(meta: Meta, pages: Journal['list']): Promise<void> {
    const index = this.#indexFile as DiskFile;
    for (const { id, bytes } of pages) index.write(bytes, id * PAGE);
    await index.sync();
    await this.#replaceFile('meta', writeMeta(meta));
    this.#disk.remove(this.#path('journal'));
  }

  /** All of it or nothing, and durable when it resolves. */
  async #replaceFile(kind: string, bytes: Buffer): Promise<void> {
    const next = this.#path(`${kind}.next`);
    this.#disk.remove(next);
    const file = this.#disk.open(next, 'create');
    try {
      file.write(bytes, 0);
      await file.sync();
    } finally {
      file.close();
    }
    await this.#disk.rename(next, this.#path(kind));
  }

  /**
   * A checkpoint that was cut off in the middle is done again. A journal gets its name when it is whole: where it is not,
   * it was damaged, and the index may be half of this checkpoint and half of the last.
   */
  async #finishCheckpoint(): Promise<Found> {
    if (!this.#disk.exists(this.#path('journal'))) return { meta: readMeta(this.#readFile('meta')) };
    const journal = readJournal(this.#readFile('journal'));
    if (!journal) {
      this.lose(`${this.number}.journal was damaged; the index was built anew`);
      this.#disk.remove(this.#path('index'));
      this.#disk.remove(this.#path('journal'));
      return { meta: readMeta(this.#readFile('meta')) };
    }
    try {
      this.#indexFile = this.#disk.open(
        this.#path('index'),
        this.#disk.exists(this.#path('index')) ? 'write' : 'create',
      );
      await this.#place(journal.meta, journal.list);
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#disk.remove(this.#path('index'));
    }
    return { meta: journal.meta };
  }

  /** Answers whether the index could be used. */
  #load({ meta, newer, isPatient = false }: Found): boolean {
    this.#checkStart(meta);
    this.#note(meta?.lost ?? []);
    const problem = this.#problemWith(meta);
    if (problem && isPatient) throw new DamagedPage(problem);
    if (meta && !problem) {
      try {
        this.#start(meta, newer);
        this.#replay(meta.checkpoint);
        return true;
      } catch (error) {
        if (!isDamage(error)) throw error;
        if (isPatient) throw new DamagedPage(`${this.number}.index`);
      }
    }
    this.#rebuild(problem ?? `${this.number}.index was damaged; it was built anew`);
    return false;
  }

  /** The log's own id, wherever it can be had. */
  #checkStart(meta: Meta | undefined): void {
    const start = readStart(this.#log);
    if (start && start.format !== FORMAT)
      throw new PalimpsestError(
        'BAD_INPUT',
        `Expected a store of format ${FORMAT} but found ${start.format}; open it with the version that made it`,
      );
    this.#id = start?.id ?? meta?.log ?? findId(this.#log) ?? randomInt(1, 2 ** 32);
    if (!start) this.lose(`the first ${START} bytes of ${this.number}.log are unreadable`);
  }

  /** Why the index cannot be used. */
  #problemWith(meta: Meta | undefined): string | undefined {
    const size = this.#log.size();
    if (!meta) return `${this.number}.meta was missing or damaged; the index was built anew`;
    if (meta.log !== this.#id) return `${this.number}.log is not the one that ${this.number}.meta was written for`;
    if (size < meta.checkpoint) return `${this.number}.log ends at ${size} but had ${meta.checkpoint} bytes at least`;
    if (!this.#disk.exists(this.#path('index'))) return `${this.number}.index was missing; it was built anew`;
    return undefined;
  }

  #start(meta: Meta, newer: Found['newer']): void {
    this.#indexFile ??= this.#disk.open(this.#path('index'), this.#mode);
    const { cachePages } = this.#limits;
    this.#index = new LinearHash({ file: this.#indexFile, shape: meta.shape, cachePages, ...(newer ? { newer } : {}) });
    Object.assign(this.counts, meta.counts);
    this.#checkpoint = meta.checkpoint;
  }

  /** From the log alone: the index is missing or damaged. */
  #rebuild(why: string): void {
    this.#indexFile?.close();
    this.#indexFile = undefined;
    this.#index = this.#emptyIndex();
    this.#heads.clear();
    this.#deletions.clear();
    Object.assign(this.counts, noCounts());
    this.lose(why);
    this.#checkpoint = 0;
    this.#replay(START);
  }

  #emptyIndex(): LinearHash {
    return new LinearHash({ cachePages: this.#limits.cachePages });
  }

  /** Has `verify` report something until it is repaired. */
  lose(what: string): void {
    this.#note([{ what, remedy: SAVED }]);
  }

  #note(problems: readonly Problem[]): void {
    const known = new Set(this.lost.map(({ what }) => what));
    this.lost = [...this.lost, ...problems.filter(({ what }) => !known.has(what))];
  }

  #path(kind: string): string {
    return pathOf({ folder: this.#folder, number: this.number }, kind);
  }

  /** Undefined for a file that cannot be read: what stands in it can be had from the log. */
  #readFile(kind: string): Buffer | undefined {
    let file: DiskFile | undefined;
    try {
      file = this.#disk.open(this.#path(kind), 'read');
      const bytes = Buffer.alloc(file.size());
      return bytes.subarray(0, file.read(bytes, 0));
    } catch {
      return undefined;
    } finally {
      file?.close();
    }
  }

  /** Takes in the log from a position on. What a killed process left unfinished at its end was never acknowledged. */
  #replay(from: number): void {
    const size = this.#log.size();
    this.#end = from;
    for (const found of this.scan(from)) {
      if (isGap(found)) {
        // Another process may be writing there at this moment.
        const isUnfinished = this.#mode === 'read' && found.position + found.bytes >= size;
        if (found.isCutOff || isUnfinished) break;
        this.#note([gapProblem(this.number, found)]);
      } else this.#apply(found);
      this.#end = aligned(found.position + found.bytes);
    }
    if (this.#mode === 'write' && size > this.#end) this.#log.truncate(this.#end);
  }

  /** Builds the index anew, after one of its pages was found damaged. */
  rebuild(): void {
    this.#rebuild(`${this.number}.index was damaged; it was built anew`);
  }

  /** Takes in what another process wrote since. Answers false where the store goes on in another generation. */
  follow(): boolean {
    if (this.#log.size() > this.#end) this.#replay(this.#end);
    return !this.#isMoved;
  }
}

interface Found {
  readonly meta: Meta | undefined;
  readonly newer?: ReadonlyMap<number, Buffer> | undefined;
  readonly isPatient?: boolean;
}

/** Most records are smaller; of the others a first look tells how large they are. */
const SMALL = 512;
const MOST_REMEMBERED = 4096;
/** A text that everybody stores is not compared with all its references. */
const MOST_LOOKED = 256;
const CHECKPOINT_BYTES = 1 << 26;
const CHECKPOINT_PAGES = 6000;
const SAVED = 'all that could be read was saved; palimpsest store gc --repair gives up the rest';

const noCounts = (): Counts => ({ texts: 0, turns: 0, sessions: 0, textBytes: 0, deadBytes: 0, deletions: 0 });

const pathOf = ({ folder, number }: Pick<Place, 'folder' | 'number'>, kind: string): string =>
  join(folder, `${number}.${kind}`);

/** Damage of the index, which can be built anew. */
const isDamage = (error: unknown): boolean =>
  error instanceof DamagedPage ||
  (error instanceof PalimpsestError && error.code === 'STORE_DAMAGED') ||
  (error as NodeJS.ErrnoException).code === 'ENOENT';

export const gapProblem = (number: number, { bytes, position }: Gap): Problem => ({
  what: `${bytes} unreadable bytes at ${position} of ${number}.log`,
  remedy: SAVED,
  at: position,
});

const entryOf = ({ position, bytes }: LogRecord): Entry => ({
  position,
  size: Math.min(65_535, Math.ceil(bytes / 64)),
});
const guessOf = (size: number): number => size * 64;

const sessionKey = (session: string): Key => keyOf('session', session);
const turnKey = (session: string, turn: number): Key => keyOf('turn', `${session}\0${turn}`);
const deletionKey = (session: string): Key => keyOf('deletion', session);

function remembered(known: Map<string, number>, session: string, seek: () => number): number {
  const position = known.get(session) ?? seek();
  remember(known, session, position);
  return position;
}

function remember(known: Map<string, number>, session: string, position: number): void {
  if (known.size >= MOST_REMEMBERED && !known.has(session)) known.clear();
  known.set(session, position);
}

function beforeOf({ type, body }: LogRecord): number {
  return type === TURN ? body.readDoubleLE(0) : body.readDoubleLE(32);
}

/** The session that a record belongs to. */
function sessionOf({ type, body }: LogRecord): string | undefined {
  if (type === TEXT) return readText(body).about.session;
  if (type === REFERENCE) return readReference(body).about.session;
  if (type === TURN) return readTurn(body).record.session;
  return type === DELETION ? readDeletion(body) : undefined;
}

function turnOf({ type, body }: LogRecord, session: string, turn: number): TurnRecord | undefined {
  if (type !== TURN) return undefined;
  const { record } = readTurn(body);
  return record.session === session && record.turn === turn ? record : undefined;
}

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

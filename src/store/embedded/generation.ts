import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { PalimpsestError } from '../../errors.ts';
import type { Problem, Reference, TurnRecord } from '../store.ts';
import type { Disk, DiskFile } from './disk.ts';
import { DamagedPage, type Entry, type HashShape, type Key, LinearHash, PAGE } from './linear-hash.ts';
import {
  DELETION,
  type Gap,
  isGap,
  type LogRecord,
  MOVED,
  REFERENCE,
  readRecord,
  recordBytes,
  scanLog,
  TEXT,
  TURN,
  writeRecord,
} from './log.ts';
import {
  digestOf,
  digestStart,
  encode,
  keyOf,
  keyOfDigest,
  readReference,
  readText,
  readTurn,
  type TextBody,
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

interface Meta {
  readonly version: 1;
  /** Everything before it stands in the index. */
  readonly checkpoint: number;
  readonly counts: Counts;
  readonly shape: HashShape;
  /** What was lost, until it is repaired. */
  readonly lost: readonly Problem[];
}

export interface FoundText extends TextBody {
  readonly position: number;
  readonly recordBytes: number;
}

/**
 * One generation of a store: a log, which is the truth, and an index into it, which can be built anew.
 * The log begins with 16 empty bytes, so that no record stands at position 0.
 */
export class Generation {
  readonly number: number;
  readonly counts: Counts = { texts: 0, turns: 0, sessions: 0, textBytes: 0, deadBytes: 0, deletions: 0 };
  lost: Problem[] = [];
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #mode: 'read' | 'write';
  #log: DiskFile;
  #indexFile: DiskFile | undefined;
  #index: LinearHash;
  #end = START;
  #checkpoint = 0;
  /** The newest records of sessions that were asked for lately. */
  readonly #heads = new Map<string, number>();
  #isMoved = false;

  private constructor(disk: Disk, folder: string, number: number, mode: 'read' | 'write', log: DiskFile) {
    this.#disk = disk;
    this.#folder = folder;
    this.number = number;
    this.#mode = mode;
    this.#log = log;
    this.#index = new LinearHash(undefined);
  }

  static async create(disk: Disk, folder: string, number: number): Promise<Generation> {
    const log = disk.open(join(folder, `${number}.log`), 'create');
    log.write(Buffer.alloc(START), 0);
    await log.sync();
    const generation = new Generation(disk, folder, number, 'write', log);
    await generation.checkpoint();
    return generation;
  }

  /** Opens a generation for writing and takes in what its index does not know yet. */
  static async open(disk: Disk, folder: string, number: number): Promise<Generation> {
    const generation = new Generation(disk, folder, number, 'write', disk.open(join(folder, `${number}.log`), 'write'));
    await generation.#finishCheckpoint();
    generation.#load();
    return generation;
  }

  /** The same for reading, beside a process that writes. */
  static openToRead(disk: Disk, folder: string, number: number): Generation {
    const generation = new Generation(disk, folder, number, 'read', disk.open(join(folder, `${number}.log`), 'read'));
    generation.#load();
    return generation;
  }

  /** Whether the writer has changed the index since it was opened, or is about to. */
  get isOutdated(): boolean {
    const isChanging = this.#disk.exists(join(this.#folder, `${this.number}.journal`));
    return isChanging || this.#readMeta()?.checkpoint !== this.#checkpoint;
  }

  /** How much of the log was taken in. */
  get end(): number {
    return this.#end;
  }

  get checkpointAt(): number {
    return this.#checkpoint;
  }

  get diskBytes(): number {
    return this.#log.size() + (this.#indexFile?.size() ?? 0);
  }

  /** Whether a checkpoint is due: after a crash only what came since must be read again. */
  get isDue(): boolean {
    return this.#end - this.#checkpoint > CHECKPOINT_BYTES || this.#index.dirtyPages > CHECKPOINT_PAGES;
  }

  sync(): Promise<void> {
    return this.#log.sync();
  }

  close(): void {
    this.#log.close();
    this.#indexFile?.close();
  }

  // Writing.

  /** Puts a text and what it is about into the log. Answers its digest. */
  putText(text: string, about: Reference): Buffer {
    const { bytes, isUtf16 } = encode(text);
    const digest = digestOf(bytes, isUtf16);
    const known = this.#textAt(digest);
    if (known && !known.digest.equals(digest)) throw clash();
    if (!known) {
      this.#append(TEXT, writeText({ digest, before: this.#sessionHead(about.session), about, isUtf16, bytes }));
      return digest;
    }
    if (this.#refersTo(known, about)) return digest;
    const older = this.#referenceHead(digest);
    const before = this.#sessionHead(about.session);
    this.#append(REFERENCE, writeReference({ digest, before, older: older ?? 0, about }));
    return digest;
  }

  /** Whether one of the newest references to a text is this one already. */
  #refersTo({ digest, about, position }: FoundText, wanted: Reference): boolean {
    if (isSame(about, wanted) && !this.#isDeleted(about, position)) return true;
    let at = this.#referenceHead(digest) ?? 0;
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

  deleteSession(session: string): void {
    this.#append(DELETION, Buffer.from(JSON.stringify({ session })));
  }

  /** Tells readers that the store goes on elsewhere. */
  markMoved(): void {
    this.#append(MOVED, Buffer.alloc(0));
    this.#log.close();
  }

  #append(type: number, body: Buffer): void {
    const position = this.#end;
    const bytes = Buffer.allocUnsafe(recordBytes(body.length));
    writeRecord(bytes, 0, { type, body, position, generation: this.number });
    this.#log.write(bytes, position);
    this.#end += bytes.length;
    this.#apply({ position, type, body, bytes: bytes.length });
  }

  // Reading.

  textOf(digest: Buffer): FoundText | undefined {
    return this.#textAt(digest);
  }

  findText(handle: string): FoundText | undefined {
    const start = digestStart(handle);
    const found = this.#textAt(start);
    return found?.digest.subarray(0, 16).equals(start) ? found : undefined;
  }

  /** The references to a text that were not deleted, oldest first. */
  referencesTo({ digest, about, position }: FoundText): Reference[] {
    const found: Reference[] = [];
    for (let at = this.#referenceHead(digest) ?? 0; at > 0; ) {
      const record = this.#peek(at, SMALL);
      if (!record) break;
      const { about: more, older } = readReference(record.body);
      if (!this.#isDeleted(more, at)) found.unshift(more);
      at = older;
    }
    if (!this.#isDeleted(about, position)) found.unshift(about);
    return found;
  }

  findTurn(session: string, turn: number): TurnRecord | undefined {
    const isIt = ({ position, size }: Entry): boolean => this.#isTurn(position, size, session, turn);
    const entry = this.#index.find(turnKey(session, turn), isIt);
    return entry && readTurn(this.#record(entry.position, guessOf(entry.size)).body).record;
  }

  #isTurn(position: number, size: number, session: string, turn: number): boolean {
    const found = this.#peek(position, guessOf(size));
    if (found?.type !== TURN) return false;
    const { record } = readTurn(found.body);
    return record.session === session && record.turn === turn;
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
    for (const found of this.scan(Math.max(START, after))) {
      if (isGap(found) || found.type === DELETION || found.position <= after) continue;
      if (found.position < this.#end && sessionOf(found) === session) positions.push(found.position);
    }
    return positions;
  }

  record(position: number): LogRecord {
    return this.#record(position, SMALL);
  }

  *scan(from = START): Generator<LogRecord | Gap> {
    yield* scanLog(this.#log, this.number, from);
  }

  /** Whether this very record still leads to its text or turn. */
  isAlive(record: LogRecord): boolean {
    if (record.type === TEXT) {
      const { digest, about } = readText(record.body);
      return !this.#isDeleted(about, record.position) && this.#textAt(digest)?.position === record.position;
    }
    if (record.type === TURN) {
      const { session, turn } = readTurn(record.body).record;
      return this.#index.find(turnKey(session, turn), ({ position }) => position === record.position) !== undefined;
    }
    if (record.type !== REFERENCE) return false;
    const { about, digest } = readReference(record.body);
    return !this.#isDeleted(about, record.position) && this.#textAt(digest) !== undefined;
  }

  /** Whether a text is referred to, but the index does not lead to it. */
  mustLeadTo(record: LogRecord): boolean {
    const { about, digest } = readText(record.body);
    return !this.#isDeleted(about, record.position) && this.#textAt(digest) === undefined;
  }

  #textAt(digest: Buffer): FoundText | undefined {
    let found: FoundText | undefined;
    let damaged = 0;
    this.#index.find(keyOfDigest(digest), ({ position, size }) => {
      const record = this.#peek(position, guessOf(size));
      if (!record) damaged = position;
      if (record?.type !== TEXT || record.body.compare(digest, 0, 16, 0, 16) !== 0) return false;
      found = { ...readText(record.body), position, recordBytes: record.bytes };
      return true;
    });
    // Most likely it is the one that was asked for: better to say so than that there is none.
    if (!found && damaged > 0) this.#record(damaged, SMALL);
    return found;
  }

  /** Undefined where the record is damaged. */
  #peek(position: number, guess: number): LogRecord | undefined {
    return readRecord(this.#log, position, this.number, guess);
  }

  #record(position: number, guess: number): LogRecord {
    const record = this.#peek(position, guess);
    if (record) return record;
    throw new PalimpsestError(
      'STORE_DAMAGED',
      `Expected a record at ${position} of ${this.number}.log but found damage; run palimpsest store verify`,
    );
  }

  #referenceHead(digest: Buffer): number | undefined {
    const isOf = ({ position }: Entry): boolean => {
      const record = this.#peek(position, SMALL);
      return record?.type === REFERENCE && readReference(record.body).digest.equals(digest);
    };
    return this.#index.find(referenceKey(digest), isOf)?.position;
  }

  /** The newest record of a session, or 0. */
  #sessionHead(session: string | undefined): number {
    if (session === undefined) return 0;
    const known = this.#heads.get(session);
    if (known !== undefined) return known;
    // A damaged head may be of this session: its chain is then found by reading the whole log.
    const isOf = ({ position }: Entry): boolean => {
      const record = this.#peek(position, SMALL);
      return record === undefined || sessionOf(record) === session;
    };
    const head = this.#index.find(sessionKey(session), isOf)?.position ?? 0;
    this.#setHead(session, head);
    return head;
  }

  #setHead(session: string, position: number): void {
    if (this.#heads.size >= MOST_HEADS) this.#heads.clear();
    this.#heads.set(session, position);
  }

  /** Where a session was deleted last, or 0. */
  #deletionOf(session: string): number {
    if (this.counts.deletions === 0) return 0;
    const isOf = ({ position }: Entry): boolean => {
      const record = this.#peek(position, SMALL);
      return record?.type === DELETION && sessionOf(record) === session;
    };
    return this.#index.find(deletionKey(session), isOf)?.position ?? 0;
  }

  #isDeleted({ session }: Reference, position: number): boolean {
    return session !== undefined && position < this.#deletionOf(session);
  }

  // What a record means. The same for one just written and one that is read again after a crash.

  #apply(record: LogRecord): void {
    if (record.type === TEXT) this.#applyText(record);
    else if (record.type === REFERENCE) this.#applyReference(record);
    else if (record.type === TURN) this.#applyTurn(record);
    else if (record.type === DELETION) this.#applyDeletion(record);
    else if (record.type === MOVED) this.#isMoved = true;
  }

  #applyText(record: LogRecord): void {
    const { digest, about, bytes } = readText(record.body);
    this.#index.add(keyOfDigest(digest), entryOf(record));
    this.counts.texts += 1;
    this.counts.textBytes += bytes.length;
    this.#moveHead(about.session, record);
  }

  #applyReference(record: LogRecord): void {
    const { digest, older, about } = readReference(record.body);
    if (older === 0 || !this.#index.move(referenceKey(digest), older, entryOf(record)))
      this.#index.add(referenceKey(digest), entryOf(record));
    this.#moveHead(about.session, record);
  }

  #applyTurn(record: LogRecord): void {
    const { session, turn } = readTurn(record.body).record;
    const key = turnKey(session, turn);
    const old = this.#index.find(key, ({ position, size }) => this.#isTurn(position, size, session, turn));
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
    const before = beforeOf(record);
    this.#setHead(session, record.position);
    if (before > 0 && this.#index.move(sessionKey(session), before, entryOf(record))) return;
    this.#index.add(sessionKey(session), entryOf(record));
    this.counts.sessions += 1;
  }

  /** Removes the turns of a session, and every text that nobody else refers to. */
  #applyDeletion(record: LogRecord): void {
    const { session } = JSON.parse(record.body.toString()) as { session: string };
    const positions = this.positionsOf(session);
    const head = this.#sessionHead(session);
    const earlier = this.#deletionOf(session);
    if (earlier === 0 || !this.#index.move(deletionKey(session), earlier, entryOf(record)))
      this.#index.add(deletionKey(session), entryOf(record));
    this.counts.deletions += 1;
    if (head > 0 && this.#index.remove(sessionKey(session), head)) this.counts.sessions -= 1;
    this.#heads.delete(session);
    this.counts.deadBytes += record.bytes;
    for (const position of positions) {
      const old = this.#peek(position, SMALL);
      if (old) this.#forget(old);
    }
  }

  #forget(record: LogRecord): void {
    if (record.type === TURN) {
      const { session, turn } = readTurn(record.body).record;
      if (!this.#index.remove(turnKey(session, turn), record.position)) return;
      this.counts.turns -= 1;
      this.counts.deadBytes += record.bytes;
      return;
    }
    const digest = record.body.subarray(0, 32);
    if (record.type === REFERENCE) this.counts.deadBytes += record.bytes;
    const text = this.#textAt(digest);
    if (!text || this.referencesTo(text).length > 0) return;
    this.#index.remove(keyOfDigest(text.digest), text.position);
    const head = this.#referenceHead(text.digest);
    if (head !== undefined) this.#index.remove(referenceKey(text.digest), head);
    this.counts.texts -= 1;
    this.counts.textBytes -= text.bytes.length;
    this.counts.deadBytes += text.recordBytes;
  }

  // The index and its checkpoints.

  /** Makes the index durable: first a copy of its changed pages in a journal, then the pages in their places. */
  async checkpoint(): Promise<void> {
    if (!this.#indexFile) {
      const path = join(this.#folder, `${this.number}.index`);
      this.#disk.remove(path);
      this.#indexFile = this.#disk.open(path, 'create');
    }
    await this.#log.sync();
    const checkpoint = this.#end;
    const { counts, lost } = this;
    const meta: Meta = { version: 1, checkpoint, counts: { ...counts }, shape: this.#index.shape, lost };
    const sealed = seal(Buffer.from(JSON.stringify(meta)));
    const pages = this.#index.takeDirty();
    const journal = join(this.#folder, `${this.number}.journal`);
    this.#disk.remove(journal);
    const file = this.#disk.open(journal, 'create');
    file.write(writeJournal(sealed, pages), 0);
    await file.sync();
    file.close();
    await this.#disk.syncFolder(this.#folder);
    await this.#place(sealed, pages);
    this.#index.release();
    this.#checkpoint = checkpoint;
  }

  async #place(meta: Buffer, pages: readonly { readonly id: number; readonly bytes: Buffer }[]): Promise<void> {
    const index = this.#indexFile as DiskFile;
    for (const { id, bytes } of pages) index.write(bytes, id * PAGE);
    await index.sync();
    const next = join(this.#folder, `${this.number}.meta.next`);
    this.#disk.remove(next);
    const file = this.#disk.open(next, 'create');
    file.write(meta, 0);
    await file.sync();
    file.close();
    await this.#disk.rename(next, join(this.#folder, `${this.number}.meta`));
    this.#disk.remove(join(this.#folder, `${this.number}.journal`));
  }

  /** A checkpoint that was cut off in the middle is done again, if its journal is whole. */
  async #finishCheckpoint(): Promise<void> {
    const journal = join(this.#folder, `${this.number}.journal`);
    const found = this.#disk.exists(journal) ? readJournal(readAll(this.#disk, journal)) : undefined;
    if (!found) {
      this.#disk.remove(journal);
      return;
    }
    const path = join(this.#folder, `${this.number}.index`);
    this.#indexFile = this.#disk.open(path, this.#disk.exists(path) ? 'write' : 'create');
    await this.#place(found.meta, found.pages);
  }

  #load(): void {
    const meta = this.#readMeta();
    if (meta && meta.checkpoint <= this.#log.size() && this.#disk.exists(join(this.#folder, `${this.number}.index`))) {
      try {
        this.#start(meta);
        this.#replay(meta.checkpoint);
        return;
      } catch (error) {
        if (!(error instanceof DamagedPage)) throw error;
      }
    }
    this.#rebuild(meta);
  }

  #start(meta: Meta): void {
    const path = join(this.#folder, `${this.number}.index`);
    this.#indexFile ??= this.#disk.open(path, this.#mode);
    this.#index = new LinearHash(this.#indexFile, meta.shape);
    Object.assign(this.counts, meta.counts);
    this.lost = [...meta.lost];
    this.#checkpoint = meta.checkpoint;
  }

  /** From the log alone: the index is missing or damaged. */
  #rebuild(meta: Meta | undefined): void {
    this.#indexFile?.close();
    this.#indexFile = undefined;
    this.#index = new LinearHash(undefined);
    this.#heads.clear();
    Object.assign(this.counts, { texts: 0, turns: 0, sessions: 0, textBytes: 0, deadBytes: 0, deletions: 0 });
    this.lost = [...(meta?.lost ?? [])];
    this.#checkpoint = 0;
    const size = this.#log.size();
    if (meta && size < meta.checkpoint)
      this.#lose(`${this.number}.log ends at ${size}, before ${meta.checkpoint}`, size);
    this.#replay(START);
  }

  #lose(what: string, at: number): void {
    const remedy = 'what could be read was saved; palimpsest store gc --repair gives up the rest';
    if (!this.lost.some((problem) => problem.at === at)) this.lost.push({ what, remedy, at });
  }

  #readMeta(): Meta | undefined {
    const path = join(this.#folder, `${this.number}.meta`);
    const bytes = this.#disk.exists(path) ? unseal(readAll(this.#disk, path)) : undefined;
    return bytes && (JSON.parse(bytes.toString()) as Meta);
  }

  /** Takes in the log from a position on. What is cut off at its end was never acknowledged. */
  #replay(from: number): void {
    this.#end = from;
    for (const found of this.scan(from)) {
      const isEnd = found.position + found.bytes >= this.#log.size();
      if (isGap(found)) {
        if (isEnd) break;
        this.#lose(`${found.bytes} unreadable bytes at ${found.position} of ${this.number}.log`, found.position);
      } else this.#apply(found);
      this.#end = found.position + found.bytes;
    }
    if (this.#mode === 'write' && this.#log.size() > this.#end) this.#log.truncate(this.#end);
  }

  /** Builds the index anew, after one of its pages was found damaged. */
  rebuild(): void {
    this.#rebuild(undefined);
  }

  /** Takes in what another process wrote since. Answers false where the store goes on in another generation. */
  follow(): boolean {
    if (this.#log.size() > this.#end) this.#replay(this.#end);
    return !this.#isMoved;
  }
}

const START = 16;
/** Most records are smaller; of the others a first look tells how large they are. */
const SMALL = 512;
const MOST_HEADS = 4096;
/** A text that everybody stores is not compared with all its references. */
const MOST_LOOKED = 256;
const CHECKPOINT_BYTES = 1 << 26;
const CHECKPOINT_PAGES = 6000;

const entryOf = ({ position, bytes }: LogRecord): Entry => ({
  position,
  size: Math.min(65_535, Math.ceil(bytes / 64)),
});
const guessOf = (size: number): number => size * 64;

const referenceKey = (digest: Buffer): Key => keyOf('reference', digest);
const sessionKey = (session: string): Key => keyOf('session', session);
const turnKey = (session: string, turn: number): Key => keyOf('turn', `${session}\0${turn}`);
const deletionKey = (session: string): Key => keyOf('deletion', session);

function beforeOf({ type, body }: LogRecord): number {
  return type === TURN ? body.readDoubleLE(0) : body.readDoubleLE(32);
}

/** The session that a record belongs to. */
function sessionOf({ type, body }: LogRecord): string | undefined {
  if (type === TEXT) return readText(body).about.session;
  if (type === REFERENCE) return readReference(body).about.session;
  if (type === TURN) return readTurn(body).record.session;
  return type === DELETION ? JSON.parse(body.toString()).session : undefined;
}

const isSame = (a: Reference, b: Reference): boolean =>
  a.session === b.session && a.turn === b.turn && a.tool === b.tool;

const clash = (): PalimpsestError =>
  new PalimpsestError(
    'HANDLE_CLASH',
    'Expected one text for each handle but found another with the same; it was not stored',
  );

function readAll(disk: Disk, path: string): Buffer {
  const file = disk.open(path, 'read');
  try {
    const bytes = Buffer.alloc(file.size());
    return bytes.subarray(0, file.read(bytes, 0));
  } finally {
    file.close();
  }
}

/** Bytes and their checksum. */
function seal(bytes: Buffer): Buffer {
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32LE(crc32(bytes));
  return Buffer.concat([checksum, bytes]);
}

function unseal(sealed: Buffer): Buffer | undefined {
  if (sealed.length < 4) return undefined;
  const bytes = sealed.subarray(4);
  return sealed.readUInt32LE(0) === crc32(bytes) ? bytes : undefined;
}

function writeJournal(meta: Buffer, pages: readonly { readonly id: number; readonly bytes: Buffer }[]): Buffer {
  const parts: Buffer[] = [];
  const head = Buffer.alloc(8);
  head.writeUInt32LE(meta.length, 0);
  head.writeUInt32LE(pages.length, 4);
  parts.push(head, meta);
  for (const { id, bytes } of pages) {
    const number = Buffer.alloc(4);
    number.writeUInt32LE(id);
    parts.push(number, bytes);
  }
  return seal(Buffer.concat(parts));
}

function readJournal(sealed: Buffer): { meta: Buffer; pages: { id: number; bytes: Buffer }[] } | undefined {
  const bytes = unseal(sealed);
  if (!bytes || bytes.length < 8) return undefined;
  const metaLength = bytes.readUInt32LE(0);
  const pages: { id: number; bytes: Buffer }[] = [];
  let at = 8 + metaLength;
  for (let n = bytes.readUInt32LE(4); n > 0; n--) {
    pages.push({ id: bytes.readUInt32LE(at), bytes: bytes.subarray(at + 4, at + 4 + PAGE) });
    at += 4 + PAGE;
  }
  return { meta: bytes.subarray(8, 8 + metaLength), pages };
}

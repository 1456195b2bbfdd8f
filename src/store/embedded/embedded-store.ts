import { dirname } from 'node:path';
import { PalimpsestError } from '../../errors.ts';
import { checkItem, checkRecord, checkTurn, closedError, toReference } from '../check-input.ts';
import { handleOfDigest } from '../handle.ts';
import { searchTexts } from '../search-texts.ts';
import {
  checkSession,
  type GcOptions,
  type GcReport,
  type Handle,
  isHandle,
  type Match,
  type Problem,
  type Reference,
  type SearchOptions,
  type Store,
  type Stored,
  type StoreStats,
  type TurnRecord,
} from '../store.ts';
import { chooseCurrent, removeOthers, writeCurrent } from './current.ts';
import type { Disk } from './disk.ts';
import { type FoundText, Generation, gapProblem, type Limits } from './generation.ts';
import { DamagedPage } from './linear-hash.ts';
import { isGap, type LogRecord, REFERENCE, TEXT, TURN } from './log.ts';
import { decode, digestOfBytes, readReference, readText, readTurn, utf8Bytes } from './records.ts';

export interface EmbeddedOptions {
  readonly disk: Disk;
  readonly folder: string;
  readonly mode: 'read' | 'write';
  readonly limits?: StoreLimits;
  /** Throws if another process has taken over. */
  mayWrite?(): void;
  /** Called once it is closed. */
  onClose?(): void;
}

/** So that tests see checkpoints and compactions often. */
export interface StoreLimits extends Limits {
  /** Less than this is not worth a compaction. */
  readonly leastDead?: number;
}

/** A quarter of the disk, and not for a few kilobytes. */
const DEAD_SHARE = 0.25;
const LEAST_DEAD = 1 << 20;

/**
 * A store in one folder: a log and an index, in generations. One process writes, any number read. What is put is written at
 * once and acknowledged when the disk has it; all who wait while it syncs share the next sync.
 */
export class EmbeddedStore implements Store {
  readonly #options: EmbeddedOptions;
  #generation: Generation;
  #syncing: Promise<void> | undefined;
  #nextSync: Promise<void> | undefined;
  /** The checkpoint or compaction that runs or waits last: nothing is written before it is done. */
  #work: Promise<unknown> | undefined;
  #isCheckpointWaiting = false;
  #inFlight = 0;
  #onIdle: (() => void) | undefined;
  #failed: Error | undefined;
  #closing: Promise<void> | undefined;

  private constructor(options: EmbeddedOptions, generation: Generation) {
    this.#options = options;
    this.#generation = generation;
  }

  static async open(options: EmbeddedOptions): Promise<EmbeddedStore> {
    if (options.mode === 'read') return new EmbeddedStore(options, openToRead(options));
    return new EmbeddedStore(options, await openToWrite(options));
  }

  async put(text: string, about: Reference): Promise<Handle> {
    const [handle] = await this.putMany([{ text, about }]);
    return handle as Handle;
  }

  async putMany(items: readonly { readonly text: string; readonly about: Reference }[]): Promise<Handle[]> {
    this.#check();
    for (const item of items) checkItem(item);
    return this.#write((generation) =>
      items.map(({ text, about }) => handleOfDigest(generation.putText(text, toReference(about)))),
    );
  }

  async putTurn(record: TurnRecord): Promise<void> {
    this.#check();
    checkRecord(record);
    await this.#write((generation) => generation.putTurn(record));
  }

  async delete(session: string, { purge = false } = {}): Promise<void> {
    this.#check();
    checkSession(session);
    await this.#during(async () => {
      await this.#write((generation) => generation.deleteSession(session));
      const { leastDead = LEAST_DEAD } = this.#options.limits ?? {};
      const { deadBytes } = this.#generation.counts;
      const isWorthIt = deadBytes > leastDead && deadBytes > DEAD_SHARE * this.#generation.end;
      if (purge || isWorthIt) await this.#alone(() => this.#compact({ force: true }));
    });
  }

  async get(handle: string): Promise<Stored | undefined> {
    this.#check();
    return isHandle(handle) ? this.#read((generation) => storedOf(generation, handle)) : undefined;
  }

  async getMany(handles: readonly string[]): Promise<(Stored | undefined)[]> {
    this.#check();
    return this.#read((generation) =>
      handles.map((handle) => (isHandle(handle) ? storedOf(generation, handle) : undefined)),
    );
  }

  async turn(session: string, turn: number): Promise<TurnRecord | undefined> {
    this.#check();
    checkSession(session);
    checkTurn(turn);
    return this.#read((generation) => generation.findTurn(session, turn));
  }

  async *list(session: string): AsyncGenerator<Stored> {
    this.#check();
    checkSession(session);
    for (const handle of this.#read((generation) => handlesOf(generation, session))) {
      this.#check();
      const stored = this.#read((generation) => soundOf(generation, handle));
      if (stored) yield stored;
    }
  }

  async *search(query: string, options: SearchOptions = {}): AsyncGenerator<Match> {
    yield* searchTexts(options.session === undefined ? this.#texts() : this.list(options.session), query, options);
  }

  async stats(): Promise<StoreStats> {
    this.#check();
    return this.#read((generation): StoreStats => {
      const { texts, turns, sessions, textBytes, deadBytes } = generation.counts;
      return { kind: 'embedded', texts, turns, sessions, textBytes, deadBytes, diskBytes: generation.diskBytes };
    });
  }

  async verify(): Promise<Problem[]> {
    this.#check();
    return this.#read(problemsOf);
  }

  /** Writes what is alive into a new generation, and lets the old one go. */
  async gc({ repair = false, force = false }: GcOptions = {}): Promise<GcReport> {
    this.#check();
    return this.#during(() => this.#alone(() => this.#compact({ repair, force })));
  }

  async #compact({ repair = false, force = false }: GcOptions): Promise<GcReport> {
    const { disk, folder } = this.#options;
    const old = this.#generation;
    const damage = repair ? this.#read(problemsOf).length : 0;
    if (!force && damage === 0 && old.counts.deadBytes <= DEAD_SHARE * old.end)
      return { freedBytes: 0, removedTexts: 0, repaired: 0 };
    const number = old.number + 1;
    const { next, texts } = await this.#copy(number, { repair });
    await writeCurrent({ disk, folder }, number);
    this.#generation = next;
    const freedBytes = Math.max(0, old.diskBytes - next.diskBytes);
    old.markMoved();
    old.retire();
    removeOthers({ disk, folder }, number);
    await disk.syncFolder(folder);
    return { freedBytes, removedTexts: Math.max(0, texts - this.#generation.counts.texts), repaired: damage };
  }

  /** What is alive, in a new generation that nobody knows of yet. If that fails, the store is as it was. */
  async #copy(number: number, { repair }: GcOptions): Promise<{ next: Generation; texts: number }> {
    const { disk, folder, limits } = this.#options;
    let next: Generation | undefined;
    try {
      const made = await Generation.create({ disk, folder, number, limits });
      next = made;
      const { problems, texts } = this.#read((generation) => copyAlive(generation, made));
      // What is damaged is reported until somebody gives it up.
      made.lost = repair ? [] : problems;
      await made.checkpoint();
      return { next: made, texts };
    } catch (error) {
      next?.close();
      Generation.remove({ disk, folder, number });
      throw isFull(error) ? failedBy(error) : error;
    }
  }

  async *export(): AsyncGenerator<object> {
    this.#check();
    // What it reads from stays open, whatever happens to the store in between.
    const generation = this.#read((current) => current);
    generation.hold();
    try {
      for (const found of generation.scan()) {
        this.#check();
        if (found.position >= generation.end) return;
        const line = isGap(found) ? undefined : rebuilding(generation, () => exportOf(generation, found));
        if (line) yield line;
      }
    } finally {
      generation.release();
    }
  }

  async *#texts(): AsyncGenerator<Stored> {
    for await (const found of this.export()) {
      const { type, ...stored } = found as Stored & { readonly type: string };
      if (type === 'text') yield stored;
    }
  }

  /** What was begun is finished first; nothing new begins. */
  close(): Promise<void> {
    this.#closing ??= this.#finish();
    return this.#closing;
  }

  async #finish(): Promise<void> {
    if (this.#inFlight > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
    await this.#quiet();
    try {
      const isWriting = this.#options.mode === 'write' && !this.#failed;
      if (isWriting && this.#generation.isChanged) await this.#generation.checkpoint();
    } finally {
      this.#generation.close();
      this.#options.onClose?.();
    }
  }

  /** Resolves when nothing is synced, checkpointed or compacted. */
  async #quiet(): Promise<void> {
    while (this.#work ?? this.#syncing) await (this.#work ?? this.#syncing)?.catch(() => {});
  }

  /** Work that `close` waits for. */
  async #during<T>(work: () => Promise<T>): Promise<T> {
    if (this.#options.mode === 'read')
      throw new PalimpsestError('BAD_OPTION', "Expected a store opened for writing but this one has mode 'read'");
    this.#inFlight += 1;
    try {
      return await work();
    } finally {
      this.#inFlight -= 1;
      if (this.#inFlight === 0) this.#onIdle?.();
    }
  }

  /** Writes at once, answers when it is durable. */
  #write<T>(change: (generation: Generation) => T): Promise<T> {
    return this.#during(async () => {
      // Another may have begun by the time that one is done.
      while (this.#work) await this.#work.catch(() => {});
      if (this.#failed) throw this.#failed;
      this.#options.mayWrite?.();
      const answer = this.#changed(change);
      await this.#commit();
      this.#checkpointIfDue();
      return answer;
    });
  }

  #changed<T>(change: (generation: Generation) => T): T {
    try {
      return rebuilding(this.#generation, change);
    } catch (error) {
      if (error instanceof PalimpsestError) throw error;
      // A full disk may have room again; what it did not take was not acknowledged.
      if (isFull(error)) throw failedBy(error);
      this.#failed = failedBy(error);
      throw this.#failed;
    }
  }

  /** Not waited for: if it fails, the store has failed, and the next who writes is told. */
  #checkpointIfDue(): void {
    if (this.#isCheckpointWaiting || !this.#generation.isDue) return;
    this.#isCheckpointWaiting = true;
    const run = this.#alone(() => this.#generation.checkpoint());
    run.catch(() => {}).finally(() => (this.#isCheckpointWaiting = false));
  }

  /** Resolves after a sync that began after this call. Those who come while one runs share the next. */
  #commit(): Promise<void> {
    if (!this.#syncing) {
      this.#syncing = this.#sync();
      return this.#syncing;
    }
    this.#nextSync ??= this.#syncing.then(
      () => this.#startNext(),
      () => this.#startNext(),
    );
    return this.#nextSync;
  }

  #startNext(): Promise<void> {
    this.#nextSync = undefined;
    // What the disk has of a sync that failed nobody knows: it is never tried again.
    this.#syncing = this.#failed ? undefined : this.#sync();
    return this.#syncing ?? Promise.reject(this.#failed);
  }

  async #sync(): Promise<void> {
    try {
      await this.#generation.sync();
    } catch (cause) {
      this.#failed = failedBy(cause);
      throw this.#failed;
    } finally {
      if (!this.#nextSync) this.#syncing = undefined;
    }
  }

  /** Work during which nothing is written: a checkpoint may go on beside reads, a compaction replaces what is read. */
  async #alone<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#work;
    const run = (async () => {
      await before?.catch(() => {});
      while (this.#syncing) await this.#syncing.catch(() => {});
      if (this.#failed) throw this.#failed;
      this.#options.mayWrite?.();
      return work();
    })();
    this.#work = run;
    try {
      return await run;
    } catch (error) {
      if (error instanceof PalimpsestError) throw error;
      this.#failed ??= failedBy(error);
      throw this.#failed;
    } finally {
      if (this.#work === run) this.#work = undefined;
    }
  }

  #read<T>(look: (generation: Generation) => T): T {
    return this.#options.mode === 'write' ? rebuilding(this.#generation, look) : this.#readBeside(look);
  }

  /**
   * Beside a process that writes. First what it wrote since is taken in: a text that it acknowledged is found, one that it
   * deleted is not. A page that it replaced since does not fit to the others any more: then the index is read again.
   */
  #readBeside<T>(look: (generation: Generation) => T): T {
    for (let attempt = 0; ; attempt++) {
      try {
        while (!this.#generation.follow()) this.#reload();
        return look(this.#generation);
      } catch (error) {
        if (!(error instanceof DamagedPage)) throw error;
        if (attempt >= PATIENCE) return rebuilding(this.#generation, look);
        this.#reload();
      }
    }
  }

  #reload(): void {
    const next = openToRead(this.#options);
    this.#generation.retire();
    this.#generation = next;
  }

  #check(): void {
    if (this.#failed) throw this.#failed;
    if (this.#closing) throw closedError();
  }
}

/** So often a reader looks again before it reads the whole log. */
const PATIENCE = 20;
const NAP_MS = 2;
const NAP = new Int32Array(new SharedArrayBuffer(4));
const REPAIR = 'palimpsest store gc --repair gives it up; all else is saved';

async function openToWrite({ disk, folder, limits }: EmbeddedOptions): Promise<Generation> {
  const { number, problem } = chooseCurrent({ disk, folder });
  if (number === undefined) {
    // Whoever made the folder may have been killed before it was durable.
    await disk.syncFolder(dirname(folder));
    const generation = await Generation.create({ disk, folder, number: 1, limits });
    await writeCurrent({ disk, folder }, 1);
    return generation;
  }
  const generation = await Generation.open({ disk, folder, number, limits });
  if (problem) {
    generation.lose(problem);
    await generation.checkpoint();
    await writeCurrent({ disk, folder }, number);
  }
  if (removeOthers({ disk, folder }, number)) await disk.syncFolder(folder);
  return generation;
}

/** The generation may be replaced while it is opened, and its index changed. */
function openToRead({ disk, folder, limits }: EmbeddedOptions): Generation {
  for (let attempt = 0; ; attempt++) {
    const isPatient = attempt < PATIENCE;
    const { number, problem } = chooseCurrent({ disk, folder });
    if (number === undefined) throw missing(folder);
    if (attempt > 2) Atomics.wait(NAP, 0, 0, NAP_MS);
    // Between two looks a compaction may have changed what the file names.
    if (problem && isPatient) continue;
    try {
      const generation = Generation.openToRead({ disk, folder, number, limits }, { isPatient });
      if (problem) generation.lose(problem);
      return generation;
    } catch (error) {
      const isChanging = error instanceof DamagedPage || (error as NodeJS.ErrnoException).code === 'ENOENT';
      if (!isChanging) throw error;
      if (!isPatient) throw lostLog(folder, number);
    }
  }
}

/** A damaged page of the index is no loss: the log has everything. */
function rebuilding<T>(generation: Generation, use: (generation: Generation) => T): T {
  try {
    return use(generation);
  } catch (error) {
    if (!(error instanceof DamagedPage)) throw error;
    generation.rebuild();
    return use(generation);
  }
}

const isFull = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT', 'EFBIG'].includes((error as NodeJS.ErrnoException).code ?? '');

const failedBy = (cause: unknown): PalimpsestError =>
  new PalimpsestError(
    'STORE_FAILED',
    `Expected the disk to keep what is written but it failed: ${(cause as Error).message}; see to it, then open the store anew`,
    { cause },
  );

const missing = (folder: string): PalimpsestError =>
  new PalimpsestError(
    'BAD_INPUT',
    `Expected a store in ${folder} but found none; it is made when it is opened for writing`,
  );

const lostLog = (folder: string, number: number): PalimpsestError =>
  new PalimpsestError(
    'STORE_DAMAGED',
    `Expected ${number}.log in ${folder} but it is missing; put it back, or open the store for writing to go on without`,
  );

function storedOf(generation: Generation, handle: string): Stored | undefined {
  const text = generation.findText(handle);
  const stored = text && toStored(generation, text);
  // The index knows 128 of its 130 bits.
  return stored?.handle === handle ? stored : undefined;
}

/** The same, and undefined for what is damaged: `verify` tells of it, and the others must come back. */
function soundOf(generation: Generation, handle: string): Stored | undefined {
  try {
    return storedOf(generation, handle);
  } catch (error) {
    if (error instanceof PalimpsestError && error.code === 'STORE_DAMAGED') return undefined;
    throw error;
  }
}

function toStored(generation: Generation, text: FoundText): Stored {
  return {
    handle: handleOfDigest(text.digest),
    text: decode(text),
    bytes: utf8Bytes(text),
    refs: generation.referencesTo(text),
  };
}

/** The handles of a session, oldest first, each once. */
function handlesOf(generation: Generation, session: string): Set<string> {
  const handles = new Set<string>();
  for (const position of generation.positionsOf(session)) {
    const digest = generation.digestAt(position);
    if (digest) handles.add(handleOfDigest(digest));
  }
  return handles;
}

function exportOf(generation: Generation, record: LogRecord): object | undefined {
  if (record.type === TURN)
    return generation.isAlive(record) ? { type: 'turn', ...readTurn(record.body).record } : undefined;
  if (record.type !== TEXT) return undefined;
  const text = generation.textOf(readText(record.body).digest);
  return text?.position === record.position ? { type: 'text', ...toStored(generation, text) } : undefined;
}

function problemsOf(generation: Generation): Problem[] {
  generation.checkIndex();
  const problems = new Map(generation.lost.map((problem) => [problem.what, problem]));
  for (const found of generation.scan()) {
    // What another process writes at this moment is none of ours.
    if (found.position >= generation.end && !(isGap(found) && !found.isCutOff)) break;
    const problem = isGap(found) ? gapProblem(generation.number, found) : problemOf(generation, found);
    if (problem) problems.set(problem.what, problem);
  }
  return [...problems.values()];
}

function problemOf(generation: Generation, record: LogRecord): Problem | undefined {
  if (record.type !== TEXT) return undefined;
  const { digest, bytes, isUtf16 } = readText(record.body);
  const handle = handleOfDigest(digest);
  const at = record.position;
  if (!digestOfBytes(bytes, isUtf16).equals(digest))
    return { what: `${handle} holds another text`, remedy: REPAIR, handle, at };
  if (!generation.mustLeadTo(record)) return undefined;
  return { what: `the index does not lead to ${handle}`, remedy: REPAIR, handle, at };
}

/** Writes all that is alive, in its order. Answers what could not be read, and how many texts there were. */
function copyAlive(from: Generation, to: Generation): { readonly problems: Problem[]; readonly texts: number } {
  const problems = new Map(from.lost.map((problem) => [problem.what, problem]));
  let texts = 0;
  for (const found of from.scan()) {
    if (found.type === TEXT) texts += 1;
    if (isGap(found)) {
      const problem = gapProblem(from.number, found);
      problems.set(problem.what, problem);
    } else if (from.isAlive(found)) copyRecord(found, from, to);
  }
  return { problems: [...problems.values()], texts };
}

function copyRecord({ type, body }: LogRecord, from: Generation, to: Generation): void {
  if (type === TURN) to.putTurn(readTurn(body).record);
  else if (type === TEXT) {
    const text = readText(body);
    to.putText(decode(text), text.about);
  } else if (type === REFERENCE) {
    const { digest, about } = readReference(body);
    const text = from.textOf(digest);
    if (text) to.putText(decode(text), about);
  }
}

import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { PalimpsestError } from '../../errors.ts';
import type { RequestRecord } from '../../report/request-record.ts';
import { checkGc, checkItem, checkNote, checkNoteName, checkRecord, checkTurn, closedError } from '../check-input.ts';
import { handleOfDigest } from '../handle.ts';
import { STEP_MS } from '../paced.ts';
import {
  NOTHING_REMOVED,
  type Prunable,
  prune,
  type Removable,
  slicesOf,
  USE_EVERY_MS,
  WEEK_MS,
  withRecords,
} from '../prune.ts';
import {
  checkRange,
  checkRecords,
  isOfSession,
  NO_RECORDS,
  type RemovedRecords,
  removableDays,
} from '../request-records.ts';
import { searchTexts } from '../search-texts.ts';
import {
  checkSession,
  type DeleteOptions,
  type GcOptions,
  type GcReport,
  type Handle,
  isHandle,
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
} from '../store.ts';
import { BROKEN_CHAIN, type Catalogue, type DryRun, type SessionTimes } from './catalogue.ts';
import { AliveCopy } from './copy-alive.ts';
import { nextNumber, prepareCurrent, removeOthers, switchCurrent } from './current.ts';
import type { Disk } from './disk.ts';
import { Generation, type Limits } from './generation.ts';
import { isGap, type LogRecord, NOTE, REFERENCE, START, TEXT, TURN } from './log.ts';
import { openToRead, openToWrite, PATIENCE, rebuilding } from './open-generation.ts';
import { DamagedPage } from './pages.ts';
import { problemsOf } from './problems-of.ts';
import { RecordFiles } from './record-files.ts';
import { decodeText, digestIn, readNote, readTurn } from './records.ts';
import { keepSecret, readSecret } from './secret.ts';

export interface EmbeddedOptions {
  readonly disk: Disk;
  readonly folder: string;
  readonly mode: 'read' | 'write';
  readonly limits?: StoreLimits;
  /** Throws STORE_LOCKED if another process has taken over. Called after each sync, before anything is acknowledged. */
  mayWrite?(): void;
  /** The previous writer may still run and write to the files that it has open. */
  readonly isContested?: boolean;
  /** Takes a lock that was lost again. Throws STORE_LOCKED while another process has it. */
  takeLockAgain?(): void;
  /** Called once all files in use belong to this writer alone. */
  onOpen?(): void;
  /** Called after the store is closed. */
  onClose?(): void;
}

/** Limits that tests lower to see checkpoints and compactions often. */
export interface StoreLimits extends Limits {
  /** Fewer dead bytes are not worth a compaction. */
  readonly leastDead?: number;
  /** Bytes that a compaction copies per step. */
  readonly copyStepBytes?: number;
  /** The delay before a failed task is retried. It doubles after each failure. */
  readonly retryMs?: number;
}

interface NewText {
  readonly text: string;
  readonly about: Reference;
}

/** A compaction starts when a quarter of the log and at least `LEAST_DEAD` bytes are dead. */
const DEAD_SHARE = 0.25;
const LEAST_DEAD = 1 << 20;
/** Bytes of the old log that a compaction copies per step. Other work runs between steps. */
const COPY_STEP_BYTES = 1 << 20;
/** `close` does not wait for a background compaction that has more bytes than this to copy. */
const QUICK_BYTES = 1 << 26;

/**
 * A store in one folder: a log and an index, in generations. One process writes, any number read. A put is
 * acknowledged when the disk has it. Puts that arrive while the disk is busy share the next write and sync.
 */
export class EmbeddedStore implements Store {
  readonly kind = 'embedded';
  readonly #options: EmbeddedOptions;
  #generation: Generation;
  readonly #records: RecordFiles;
  /** Changes that arrived while the disk was busy. */
  readonly #waiting: Waiting[] = [];
  #committing: Promise<void> | undefined;
  /** The group that is being written and synced. */
  #syncing: Promise<void> | undefined;
  /** The last step of a compaction. Writes wait for it. */
  #work: Promise<unknown> | undefined;
  /** The last compaction or removal that runs or waits. They run one at a time, while writes continue. */
  #upkeep: Promise<unknown> | undefined;
  #deletions = 0;
  #checkpointing: Promise<void> | undefined;
  /** A failed compaction is retried at this many dead bytes. */
  #compactAgainAt = 0;
  #inFlight = 0;
  #onIdle: (() => void) | undefined;
  /** The disk failed, or another process took over. Nothing is written until `#recover` succeeds. */
  #failed: Error | undefined;
  #isLost = false;
  readonly #recovery: Backoff;
  readonly #checkpoints: Backoff;
  /** Why the last checkpoint failed. */
  #uncheckpointed: Error | undefined;
  /** The number of texts that a reader may read before it looks for new records. */
  #trusted = 0;
  #closing: Promise<void> | undefined;

  private constructor(options: EmbeddedOptions, generation: Generation) {
    this.#options = options;
    this.#generation = generation;
    this.#records = new RecordFiles(join(options.folder, 'records'));
    this.#recovery = new Backoff(options.limits?.retryMs);
    this.#checkpoints = new Backoff(options.limits?.retryMs);
    options.onOpen?.();
  }

  static async open(options: EmbeddedOptions): Promise<EmbeddedStore> {
    if (options.mode === 'read') return new EmbeddedStore(options, openToRead(options));
    return new EmbeddedStore(options, await openToWrite(options));
  }

  async put(text: string, about: Reference): Promise<Handle> {
    const [handle] = await this.putMany([{ text, about }]);
    return handle as Handle;
  }

  async putMany(items: readonly NewText[]): Promise<Handle[]> {
    this.#check();
    for (const item of items) checkItem(item);
    return this.#write(({ catalogue }) => catalogue.putTexts(items).map(handleOfDigest));
  }

  async putTurn(record: TurnRecord): Promise<void> {
    await this.putTurns([record]);
  }

  async putTurns(records: readonly TurnRecord[]): Promise<void> {
    this.#check();
    for (const record of records) checkRecord(record);
    // The caller may change the list before it is written.
    const own = [...records];
    await this.#replace(({ catalogue }) => catalogue.putTurns(own));
  }

  async putNote(note: SessionNote): Promise<void> {
    this.#check();
    checkNote(note);
    const own = { ...note };
    await this.#replace(({ catalogue }) => catalogue.putNote(own));
  }

  async putRecords(records: readonly RequestRecord[]): Promise<void> {
    this.#check();
    checkRecords(records);
    await this.#changeRecords(() => this.#records.append(records));
  }

  /** Request records are in separate files, so they and texts never wait for each other. */
  #changeRecords<T>(change: () => Promise<T>): Promise<T> {
    return this.#during(async () => {
      try {
        this.#options.mayWrite?.();
        const done = await change();
        this.#options.mayWrite?.();
        return done;
      } catch (error) {
        throw error instanceof PalimpsestError ? error : failedBy(error);
      }
    });
  }

  async *records(range: RecordRange = {}): AsyncGenerator<RequestRecord> {
    this.#check();
    checkRange(range);
    for await (const record of this.#records.read(range)) {
      this.#check();
      yield record;
    }
  }

  /** A replaced turn or note leaves dead bytes, so a compaction may be due. */
  async #replace(change: Change<void>): Promise<void> {
    await this.#write(change);
    this.#compactIfWorth();
  }

  async *sessions(): AsyncGenerator<SessionInfo> {
    this.#check();
    const newestFirst = this.#read(({ catalogue }) => catalogue.sessionTimes());
    const timed = newestFirst.reverse().map((times) => ({ ...times, ...knownTimes(times, this.#now()) }));
    for (const times of timed.sort((a, b) => a.lastAt - b.lastAt)) {
      this.#check();
      yield { ...times, ...this.#read(({ catalogue }) => catalogue.sizeOf(times.session)) };
      await setImmediate();
    }
  }

  async touch(session: string): Promise<void> {
    this.#check();
    checkSession(session);
    if (this.#options.mode === 'read' || !this.#read(({ catalogue }) => catalogue.mustTouch(session))) return;
    await this.#write(({ catalogue }) => catalogue.touch(session));
  }

  async delete(session: string, options: DeleteOptions = {}): Promise<Removed> {
    this.#check();
    checkSession(session);
    const { purge = false, dryRun = false, keepRecords = false } = options;
    const removeRecords = (): Promise<RemovedRecords> =>
      this.#records.removeWhere((record) => isOfSession(record, session), { dryRun });
    if (dryRun) {
      const freed = this.#read(({ catalogue }) => catalogue.freedBy({ session }, nothingGone()));
      return withRecords(freed, keepRecords ? NO_RECORDS : await removeRecords());
    }
    return this.#during(async () => {
      // Runs first, so that texts put after this call stay.
      const removed = await this.#remove({ session, usedAt: Number.POSITIVE_INFINITY });
      const records = keepRecords ? NO_RECORDS : await this.#changeRecords(removeRecords);
      if (purge) await this.#alone(() => this.#compact({ force: true }));
      else this.#compactIfWorth();
      return withRecords(removed, records);
    });
  }

  /** Removes items one by one, so that puts continue in between. Compacts the log at the end if it is worth it. */
  async prune(options: PruneOptions = {}): Promise<PruneReport> {
    this.#check();
    if (options.dryRun) return prune(this.#prunable(), options, () => this.#now());
    return this.#during(async () => {
      if (this.#hasUntimed()) await this.#alone(() => this.#compact({ force: true }));
      const report = await this.#alone(() => prune(this.#prunable(), options, () => this.#now()));
      const isOver = this.#generation.diskBytes > (options.maxBytes ?? Number.POSITIVE_INFINITY);
      const { deadBytes } = this.#generation.catalogue.counts;
      if (this.#isWorthCompacting() || (isOver && deadBytes > 0))
        await this.#alone(() => this.#compact({ force: true, isBackground: true }));
      return report;
    });
  }

  async deletions(): Promise<number> {
    this.#check();
    return this.#deletions;
  }

  /** Records of an older version have no times. A compaction adds them. */
  #hasUntimed(): boolean {
    const { catalogue, end } = this.#generation;
    return end > START && catalogue.ages(0).oldestAt === 0;
  }

  #prunable(): Prunable {
    const chosenIn = this.#generation;
    // Kept per generation, because positions are valid in one log only.
    const checked = new WeakMap<Generation, DryRun['checkedUpTo']>();
    return {
      removables: async (now) => [...(await this.#removables(now)), ...removableDays(await this.#records.days(), now)],
      usedBytes: async () => this.#read(usedBytesOf) + (await this.#records.bytes()),
      remove: async (what, { dryRun, gone }) => {
        await setImmediate();
        this.#check();
        const { day } = what;
        if (day !== undefined) {
          const remove = () => this.#records.removeDay(day, { dryRun });
          return withRecords(NOTHING_REMOVED, await (dryRun ? remove() : this.#changeRecords(remove)));
        }
        if (!dryRun) return this.#remove(what, chosenIn);
        return this.#read((generation) => {
          const checkedUpTo = checked.get(generation) ?? new Map();
          checked.set(generation, checkedUpTo);
          return generation.catalogue.freedBy(what, { gone, checkedUpTo });
        });
      },
    };
  }

  async #removables(now: number): Promise<Removable[]> {
    const newestFirst = this.#read(({ catalogue }) => catalogue.sessionTimes());
    const sessions: Removable[] = [];
    for (const times of newestFirst.reverse()) {
      const { session } = times;
      // The clock was wrong. Without a new time the session would stay the newest for ever.
      const isInFuture = times.lastAt > now + USE_EVERY_MS;
      if (isInFuture && this.#options.mode === 'write') await this.#write(({ catalogue }) => catalogue.touch(session));
      sessions.push({ session, usedAt: isInFuture ? now : knownTimes(times, now).lastAt });
    }
    const loose = this.#read(({ catalogue }) => catalogue.looseTexts());
    return [...sessions, ...slicesOf(loose.map(({ point, usedAt }) => ({ point, usedAt: usedAt || now })))];
  }

  async #remove(what: Removable, chosenIn?: Generation): Promise<Removed> {
    const { session, before = 0, usedAt } = what;
    const removed = await this.#write(
      (generation) => {
        // A position is only valid in the log in which it was chosen.
        if (session === undefined && generation !== chosenIn) return NOTHING_REMOVED;
        // The session was used after it was chosen.
        if (session !== undefined && generation.catalogue.usedAt(session) > usedAt) return NOTHING_REMOVED;
        const freed = generation.catalogue.freedBy(what, nothingGone());
        if (session === undefined) generation.catalogue.expire(before);
        else generation.catalogue.deleteSession(session);
        return freed;
      },
      { isDeletion: true },
    );
    this.#deletions += 1;
    return removed;
  }

  #now(): number {
    return (this.#options.limits?.now ?? Date.now)();
  }

  #isWorthCompacting(): boolean {
    const { leastDead = LEAST_DEAD } = this.#options.limits ?? {};
    const { deadBytes } = this.#generation.catalogue.counts;
    return deadBytes > leastDead && deadBytes > DEAD_SHARE * this.#generation.end;
  }

  /** Starts a compaction after a write, without delaying it. After a failure, the next one waits until twice as much is dead. */
  #compactIfWorth(): void {
    const { deadBytes } = this.#generation.catalogue.counts;
    if (this.#closing || this.#upkeep || deadBytes < this.#compactAgainAt || !this.#isWorthCompacting()) return;
    void this.#during(async () => {
      try {
        await this.#alone(() => this.#compact({ isBackground: true }));
        this.#compactAgainAt = 0;
      } catch {
        this.#compactAgainAt = 2 * deadBytes;
      }
      // More records may have died during the copy.
      this.#compactIfWorth();
    });
  }

  async get(handle: string): Promise<Stored | undefined> {
    this.#check();
    const found = this.#find(handle);
    if (!found && isHandle(handle)) this.#read(({ unreadable }) => checkMissing(handle, unreadable));
    return found;
  }

  async getMany(handles: readonly string[]): Promise<(Stored | undefined)[]> {
    this.#check();
    return handles.map((handle) => this.#find(handle));
  }

  async turn(session: string, turn: number): Promise<TurnRecord | undefined> {
    this.#check();
    checkSession(session);
    checkTurn(turn);
    return this.#read(({ catalogue }) => catalogue.findTurn(session, turn));
  }

  async *turns(session: string): AsyncGenerator<TurnRecord> {
    this.#check();
    checkSession(session);
    const numbers = await this.#collect(session, turnIn);
    for (const turn of [...new Set(numbers)].sort((a, b) => a - b)) {
      this.#check();
      const record = this.#read(({ catalogue }) => soundOf(() => catalogue.findTurn(session, turn)));
      if (record) yield record;
    }
  }

  async note(session: string, name: string): Promise<string | undefined> {
    this.#check();
    checkSession(session);
    checkNoteName(name);
    return this.#read(({ catalogue }) => catalogue.findNote(session, name));
  }

  async *list(session: string): AsyncGenerator<Stored> {
    this.#check();
    checkSession(session);
    for (const handle of new Set(await this.#collect(session, handleIn))) {
      this.#check();
      const stored = this.#read(({ catalogue }) => soundOf(() => catalogue.find(handle)));
      if (stored) yield stored;
    }
  }

  /** The results of `pick` for the records of a session, oldest first. Other events are handled every 10 ms. */
  async #collect<T>(session: string, pick: (record: LogRecord) => T | undefined): Promise<T[]> {
    const found: T[] = [];
    let at: number | undefined;
    let generation: number | undefined;
    for (;;) {
      const endMs = performance.now() + STEP_MS;
      const next = this.#read(({ catalogue, number }) => {
        // A compaction has moved the records: positions of the other generation are invalid here.
        if (number !== generation) [found.length, at, generation] = [0, undefined, number];
        return catalogue.walk(session, at, (record) => {
          const picked = pick(record);
          if (picked !== undefined) found.push(picked);
          return performance.now() < endMs;
        });
      });
      if (next === BROKEN_CHAIN) return this.#read(({ catalogue }) => pickAll(catalogue, session, pick));
      if (next === undefined) return found.reverse();
      at = next;
      await setImmediate();
      this.#check();
    }
  }

  async *search(query: string, options: SearchOptions = {}): AsyncGenerator<Match> {
    yield* searchTexts(options.session === undefined ? this.#texts() : this.list(options.session), query, options);
  }

  async stats(): Promise<StoreStats> {
    this.#check();
    const records = await this.#records.count();
    const bytes = await this.#records.bytes();
    return this.#read((generation): StoreStats => {
      const { texts, turns, notes, sessions, textBytes, deadBytes } = generation.catalogue.counts;
      const { oldestAt, newestAt, bytesSince } = generation.catalogue.ages(this.#now() - WEEK_MS);
      return {
        kind: this.kind,
        ...{ texts, turns, notes, records, sessions, textBytes, deadBytes },
        diskBytes: generation.diskBytes + bytes,
        usedBytes: usedBytesOf(generation) + bytes,
        ...(oldestAt > 0 ? { oldestAt } : {}),
        ...(newestAt > 0 ? { newestAt, weekBytes: bytesSince } : {}),
      };
    });
  }

  async verify(): Promise<Problem[]> {
    this.#check();
    const problems = [...this.#read(problemsOf), ...(await this.#records.problems())];
    return this.#uncheckpointed ? [...problems, unindexed(this.#uncheckpointed)] : problems;
  }

  /** Copies live records into a new generation and removes the old one. */
  async gc(options: GcOptions = {}): Promise<GcReport> {
    this.#check();
    checkGc(options);
    const { repair = false, force = false } = options;
    return this.#during(async () => {
      const given = repair ? await this.#changeRecords(() => this.#records.repair()) : 0;
      const report = await this.#alone(() => this.#compact({ repair, force }));
      return { ...report, repaired: report.repaired + given };
    });
  }

  async #compact({ repair = false, force = false, isBackground = false }: CompactOptions): Promise<GcReport> {
    const old = this.#generation;
    const damage = repair ? this.#read(problemsOf).length : 0;
    if (!force && damage === 0 && old.catalogue.counts.deadBytes <= DEAD_SHARE * old.end)
      return { freedBytes: 0, removedTexts: 0, repaired: 0 };
    const copying = await this.#copyMost(old, { isBackground });
    await this.#exclusively(() => this.#copyRest(copying, { repair }));
    const { copy, next } = copying;
    if (damage > 0) this.#deletions += 1;
    const { texts } = this.#generation.catalogue.counts;
    const freedBytes = Math.max(0, old.diskBytes - next.diskBytes);
    old.retire();
    return { freedBytes, removedTexts: Math.max(0, copy.texts - texts), repaired: damage };
  }

  /**
   * Copies the live records into a new generation, which is not in use yet. Writes to the old generation continue and are copied
   * too. Resolves when little is left. If it fails, the store is unchanged.
   */
  async #copyMost(old: Generation, { isBackground }: { readonly isBackground: boolean }): Promise<Copying> {
    const { disk, folder, limits, mayWrite } = this.#options;
    const number = nextNumber({ disk, folder });
    const next = await Generation.create({ disk, folder, number, limits }).catch((error) => {
      throw this.#whyFailed(error);
    });
    return this.#filling(next, async () => {
      this.#checkGeneration(old);
      const copy = new AliveCopy({ to: next, look: (use) => this.#read(use) });
      const { copyStepBytes: step = COPY_STEP_BYTES } = limits ?? {};
      // If writers outpace the copy, stop here. The rest is copied while they wait.
      const most = 2 * old.end;
      while (copy.left > step && copy.position < most && copy.step(step)) {
        if (next.isDue) await next.checkpoint();
        await setImmediate();
        this.#checkGeneration(old);
        mayWrite?.();
        if (isBackground && this.#closing && copy.left > QUICK_BYTES) throw closedError();
      }
      await next.checkpoint();
      return { copy, next, old };
    });
  }

  /** Does everything that needs disk space before the store switches to the new generation. */
  async #copyRest({ copy, next, old }: Copying, { repair }: { readonly repair: boolean }): Promise<void> {
    const { disk, folder } = this.#options;
    await this.#filling(next, async () => {
      this.#checkGeneration(old);
      this.#options.mayWrite?.();
      await copy.finish();
      // Damage is reported until a repair removes it.
      next.lost = repair ? [] : copy.problems;
      await next.checkpoint();
      this.#generation.reserve();
      await prepareCurrent({ disk, folder }, next.number);
    });
    await switchCurrent(this.#options, next.number).catch((error) => {
      next.close();
      throw error;
    });
    this.#generation = next;
    removeOthers(this.#options, next.number);
    await disk.syncFolder(folder);
  }

  /** Throws if the store continued in other files after a failure: the copy of the old ones is then useless. */
  #checkGeneration(old: Generation): void {
    this.#prepareToWrite();
    if (this.#generation === old) return;
    throw new PalimpsestError(
      'STORE_FAILED',
      'Expected to compact the store but it was opened again meanwhile, after the disk had failed; compact it again',
    );
  }

  /** Removes the new generation if the work on it fails. */
  async #filling<T>(next: Generation, work: () => Promise<T>): Promise<T> {
    const { disk, folder } = this.#options;
    try {
      return await work();
    } catch (error) {
      next.close();
      Generation.remove({ disk, folder, number: next.number });
      throw this.#whyFailed(error);
    }
  }

  async secret(): Promise<string | undefined> {
    this.#check();
    try {
      return readSecret(this.#options) ?? (this.#options.mode === 'read' ? undefined : await this.#makeSecret());
    } catch (error) {
      throw error instanceof PalimpsestError ? error : failedBy(error);
    }
  }

  #makeSecret(): Promise<string> {
    return this.#during(async () => {
      this.#options.mayWrite?.();
      return keepSecret(this.#options);
    });
  }

  async *export(): AsyncGenerator<object> {
    yield* this.#exported();
    for await (const record of this.records()) yield { type: 'record', ...record };
  }

  /** Everything in the log. */
  async *#exported(): AsyncGenerator<object> {
    this.#check();
    // The generation stays open while it is read, also if a compaction replaces it.
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
    for await (const found of this.#exported()) {
      const { type, ...stored } = found as Stored & { readonly type: string };
      if (type === 'text') yield stored;
    }
  }

  /** Finishes work that has begun. No new work begins. */
  close(): Promise<void> {
    this.#closing ??= this.#finish();
    return this.#closing;
  }

  async #finish(): Promise<void> {
    if (this.#inFlight > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
    await this.#quiet();
    try {
      if (this.#canWrite()) {
        this.#generation.cut();
        if (this.#generation.isChanged) await this.#generation.checkpoint();
      }
    } catch (error) {
      throw this.#whyFailed(error);
    } finally {
      this.#generation.close();
      this.#options.onClose?.();
    }
  }

  /** Resolves when nothing is synced, checkpointed or compacted. */
  async #quiet(): Promise<void> {
    for (let busy = this.#busy; busy; busy = this.#busy) await busy.catch(() => {});
  }

  get #busy(): Promise<unknown> | undefined {
    return this.#work ?? this.#syncing ?? this.#checkpointing;
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

  /** Resolves when the change is durable. Changes that arrive while the disk is busy share the next write and sync. */
  #write<T>(change: Change<T>, { isDeletion = false } = {}): Promise<T> {
    return this.#during(
      () =>
        new Promise<T>((resolve, reject) => {
          this.#waiting.push(waitingFor({ change, isDeletion, resolve, reject }));
          this.#committing ??= this.#commitAll();
        }),
    );
  }

  async #commitAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Another task may have started while this one was awaited.
      while (this.#work) await this.#work.catch(() => {});
      if (this.#failed && this.#recovery.isOver) await this.#recover();
      this.#syncing = this.#commit(this.#nextGroup());
      await this.#syncing;
      this.#syncing = undefined;
    }
    this.#committing = undefined;
  }

  /**
   * All waiting changes, up to the first change after a deletion. After a power failure the disk may hold a later write without
   * an earlier one. So a change after a deletion is written only once the deletion is durable.
   */
  #nextGroup(): Waiting[] {
    const isBehind = ({ isDeletion }: Waiting, n: number): boolean => !isDeletion && !!this.#waiting[n - 1]?.isDeletion;
    const end = this.#waiting.findIndex(isBehind);
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    const written = this.#written(group);
    try {
      if (written.length > 0) await this.#generation.sync();
    } catch (cause) {
      // After a failed sync, the disk's content is unknown. The sync is not retried.
      const failure = this.#fail(cause);
      for (const { fail } of written) fail(failure);
      return;
    }
    this.#acknowledge(written);
    this.#checkpointIfDue();
  }

  /**
   * Acknowledges writes if the lock is still held. A writer that takes over reads the log after taking the lock, so it finds them
   * all.
   */
  #acknowledge(written: readonly Waiting[]): void {
    try {
      if (written.length > 0) this.#options.mayWrite?.();
      for (const { succeed } of written) succeed();
    } catch (lost) {
      this.#fail(lost);
      for (const { fail } of written) fail(lost);
    }
  }

  /** Writes the group at once. If that fails, writes one by one. Returns the changes that were written. */
  #written(group: readonly Waiting[]): readonly Waiting[] {
    if (group.length > 1 && this.#isWritten(allOf(group))) return group;
    return group.filter((one) => this.#isWritten(one));
  }

  #isWritten({ apply, fail }: Pick<Waiting, 'apply' | 'fail'>): boolean {
    try {
      this.#prepareToWrite();
      this.#changed(apply);
      return true;
    } catch (error) {
      fail(error);
      return false;
    }
  }

  #prepareToWrite(): void {
    if (this.#failed) throw this.#failed;
  }

  /** False if another process has taken over: the store must not be changed then. */
  #canWrite(): boolean {
    try {
      this.#prepareToWrite();
      this.#options.mayWrite?.();
      return this.#options.mode === 'write';
    } catch {
      return false;
    }
  }

  /** Stops all writes until the store has recovered. */
  #fail(cause: unknown): Error {
    this.#recovery.failed();
    this.#failed = this.#whyFailed(cause);
    return this.#failed;
  }

  /** The error to report. A writer that takes over removes the old files, so a lost lock counts more than a disk error. */
  #whyFailed(cause: unknown): Error {
    try {
      this.#options.mayWrite?.();
    } catch (lost) {
      this.#isLost = true;
      return lost as Error;
    }
    return cause instanceof PalimpsestError ? cause : failedBy(cause);
  }

  /**
   * Reads the store from disk again and continues in new files. After a failed sync, the content of the old files is unknown.
   * After a lost lock, other processes may have them open.
   */
  async #recover(): Promise<void> {
    this.#work = this.#reopen();
    try {
      await this.#work;
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#work = undefined;
    }
  }

  async #reopen(): Promise<void> {
    await this.#checkpointing;
    if (this.#isLost) this.#options.takeLockAgain?.();
    this.#options.mayWrite?.();
    this.#isLost = false;
    const next = await openToWrite({ ...this.#options, isContested: true });
    this.#generation.retire();
    this.#generation = next;
    this.#options.onOpen?.();
    this.#recovery.succeeded();
    this.#failed = undefined;
  }

  #changed<T>(change: Change<T>): T {
    try {
      return rebuilding(this.#generation, change);
    } catch (error) {
      if (error instanceof PalimpsestError) throw error;
      // A full disk may have space later. Writes that it refused were not acknowledged.
      if (isFull(error)) throw this.#whyFailed(error);
      throw this.#fail(error);
    }
  }

  /**
   * Starts a checkpoint without waiting for it. A failed one is retried later and reported by `verify`; the log has everything.
   */
  #checkpointIfDue(): void {
    if (this.#checkpointing || this.#work || !this.#generation.isDue) return;
    if (!this.#checkpoints.isOver || !this.#canWrite()) return;
    this.#checkpointing = this.#checkpoint().finally(() => {
      this.#checkpointing = undefined;
    });
  }

  async #checkpoint(): Promise<void> {
    try {
      await this.#generation.checkpoint();
      this.#uncheckpointed = undefined;
      this.#checkpoints.succeeded();
    } catch (error) {
      this.#uncheckpointed = error as Error;
      this.#checkpoints.failed();
    }
  }

  /** Runs upkeep tasks one at a time, while writes continue. */
  async #alone<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#upkeep;
    const run = (async () => {
      await before?.catch(() => {});
      this.#prepareToWrite();
      this.#options.mayWrite?.();
      return work();
    })();
    this.#upkeep = run;
    try {
      return await run;
    } catch (error) {
      if (error instanceof PalimpsestError) throw error;
      throw this.#fail(error);
    } finally {
      if (this.#upkeep === run) this.#upkeep = undefined;
    }
  }

  /** Runs a task that replaces the files being read. Nothing is written meanwhile. */
  async #exclusively(work: () => Promise<void>): Promise<void> {
    while (this.#work) await this.#work.catch(() => {});
    const run = (async () => {
      while (this.#syncing ?? this.#checkpointing) await (this.#syncing ?? this.#checkpointing)?.catch(() => {});
      await work();
    })();
    this.#work = run;
    try {
      await run;
    } finally {
      this.#work = undefined;
    }
  }

  #read<T>(look: (generation: Generation) => T): T {
    return this.#options.mode === 'write' ? rebuilding(this.#generation, look) : this.#readWhileWritten(look);
  }

  /**
   * Reads while another process writes. It first applies the writer's new records, so acknowledged texts are found and deleted
   * ones are not. If the writer has replaced a page since, the index is read again.
   */
  #readWhileWritten<T>(look: (generation: Generation) => T): T {
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

  /**
   * Finds a text. Checking for new records costs nearly as much as reading a text. So the check is skipped for the next few reads
   * in the same turn of the event loop, unless a text is not found.
   */
  #find(handle: string): Stored | undefined {
    const mayLookAtOnce = this.#options.mode === 'write' || this.#trusted > 0;
    const found = mayLookAtOnce ? this.#findNow(handle) : undefined;
    if (found) return found;
    if (!mayLookAtOnce) this.#trust();
    return this.#read(({ catalogue }) => catalogue.find(handle));
  }

  #findNow(handle: string): Stored | undefined {
    this.#trusted -= 1;
    try {
      return this.#generation.catalogue.find(handle);
    } catch {
      // The error may come from outdated data. The caller checks for new records and tries again.
      return undefined;
    }
  }

  #trust(): void {
    this.#trusted = MOST_TRUSTED;
    process.nextTick(() => (this.#trusted = 0));
  }

  #reload(): void {
    const next = openToRead(this.#options);
    this.#generation.retire();
    this.#generation = next;
  }

  /** A store that failed can still be read. */
  #check(): void {
    if (this.#closing) throw closedError();
  }
}

const MOST_TRUSTED = 256;

interface CompactOptions extends GcOptions {
  /** The compaction is abandoned when the store is closed. */
  readonly isBackground?: boolean;
}

/** A compaction that is nearly done. */
interface Copying {
  readonly copy: AliveCopy;
  readonly next: Generation;
  /** The generation that is copied. */
  readonly old: Generation;
}

const nothingGone = (): DryRun => ({ gone: { sessions: new Set(), before: 0 }, checkedUpTo: new Map() });

const usedBytesOf = ({ end, catalogue }: Generation): number => Math.max(0, end - START - catalogue.counts.deadBytes);

/** Sessions of an older version have no times. They count as used now. */
const knownTimes = ({ firstAt, lastAt }: SessionTimes, now: number): Pick<SessionTimes, 'firstAt' | 'lastAt'> => ({
  firstAt: firstAt || now,
  lastAt: lastAt || now,
});

/** The delay before a retry. */
class Backoff {
  readonly #firstMs: number;
  #ms = 0;
  #until = 0;

  constructor(firstMs = 1000) {
    this.#firstMs = firstMs;
  }

  get isOver(): boolean {
    return performance.now() >= this.#until;
  }

  failed(): void {
    this.#ms = Math.min(this.#ms * 2 || this.#firstMs, MOST_WAITS * this.#firstMs);
    this.#until = performance.now() + this.#ms;
  }

  succeeded(): void {
    this.#ms = 0;
    this.#until = 0;
  }
}

const MOST_WAITS = 60;

/** A change to be written, and its caller. */
interface Waiting {
  readonly isDeletion: boolean;
  apply(generation: Generation): void;
  /** Resolves with the last answer of the change. */
  succeed(): void;
  fail(error: unknown): void;
}

type Change<T> = (generation: Generation) => T;

interface Asked<T> {
  readonly change: Change<T>;
  readonly isDeletion: boolean;
  resolve(answer: T): void;
  reject(error: unknown): void;
}

function waitingFor<T>({ change, isDeletion, resolve, reject }: Asked<T>): Waiting {
  let answer: T;
  return {
    isDeletion,
    apply: (generation) => {
      answer = change(generation);
    },
    succeed: () => resolve(answer),
    fail: reject,
  };
}

/** A group as one change. Its failure is not reported: each change is then tried alone. */
const allOf = (group: readonly Waiting[]): Pick<Waiting, 'apply' | 'fail'> => ({
  apply: (generation) =>
    generation.catalogue.together(() => {
      for (const { apply } of group) apply(generation);
    }),
  fail: () => {},
});

const isFull = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT', 'EFBIG'].includes((error as NodeJS.ErrnoException).code ?? '');

const failedBy = (cause: unknown): PalimpsestError =>
  new PalimpsestError(
    'STORE_FAILED',
    `Expected the disk to keep what is written but it failed: ${(cause as Error).message}; see to the disk and write it again`,
    { cause },
  );

const unindexed = ({ message }: Error): Problem => ({
  what: `the last checkpoint failed: ${message}`,
  remedy: 'nothing is lost; see to the disk, it is tried again',
});

/** Throws if unreadable bytes of the log may have held this text. No index points to records in them. */
function checkMissing(handle: string, unreadable: Problem | undefined): void {
  if (!unreadable) return;
  const text = `Expected the text of ${handle} but did not find it, and there are ${unreadable.what} that may have held it`;
  throw new PalimpsestError('STORE_DAMAGED', `${text}; palimpsest store gc --repair gives them up`);
}

/** Undefined for damaged items too: `verify` reports them, and sound items must still be listed. */
function soundOf<T>(find: () => T | undefined): T | undefined {
  try {
    return find();
  } catch (error) {
    if (error instanceof PalimpsestError && error.code === 'STORE_DAMAGED') return undefined;
    throw error;
  }
}

const turnIn = ({ type, body }: LogRecord): number | undefined =>
  type === TURN ? readTurn(body).record.turn : undefined;

/** The handle of the text that a record stores or refers to. */
const handleIn = ({ type, body }: LogRecord): string | undefined =>
  type === TEXT || type === REFERENCE ? handleOfDigest(digestIn(body)) : undefined;

/** Like `#collect`, but in one pass: for a session whose chain of records is broken. */
function pickAll<T>(catalogue: Catalogue, session: string, pick: (record: LogRecord) => T | undefined): T[] {
  return catalogue.positionsOf(session).flatMap((position) => {
    const record = catalogue.recordAt(position);
    const picked = record && pick(record);
    return picked === undefined ? [] : [picked];
  });
}

function exportOf({ catalogue }: Generation, record: LogRecord): object | undefined {
  if (record.type === TURN)
    return catalogue.isAlive(record) ? { type: 'turn', ...readTurn(record.body).record } : undefined;
  if (record.type === NOTE) return catalogue.isAlive(record) ? { type: 'note', ...readNote(record.body) } : undefined;
  if (record.type !== TEXT) return undefined;
  const found = catalogue.textOf(digestIn(record.body));
  if (found?.position !== record.position) return undefined;
  const handle = handleOfDigest(found.digest);
  return { type: 'text', handle, ...decodeText(record.body, record.body.length), refs: catalogue.referencesTo(found) };
}

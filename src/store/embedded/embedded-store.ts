import { join } from 'node:path';
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
import type { Disk } from './disk.ts';
import { type FoundText, Generation } from './generation.ts';
import { DamagedPage } from './linear-hash.ts';
import { isGap, type LogRecord, REFERENCE, TEXT, TURN } from './log.ts';
import { decode, digestOf, readReference, readText, readTurn } from './records.ts';

export interface EmbeddedOptions {
  readonly disk: Disk;
  readonly folder: string;
  readonly mode: 'read' | 'write';
  /** Called once it is closed. */
  onClose?(): void;
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
  #work: Promise<unknown> = Promise.resolve();
  #failed: Error | undefined;
  #isClosed = false;
  #followedAt = 0;

  private constructor(options: EmbeddedOptions, generation: Generation) {
    this.#options = options;
    this.#generation = generation;
  }

  static async open(options: EmbeddedOptions): Promise<EmbeddedStore> {
    const { disk, folder, mode } = options;
    const current = readCurrent(disk, folder);
    if (mode === 'read') {
      if (current === undefined) throw missing(folder);
      return new EmbeddedStore(options, Generation.openToRead(disk, folder, current));
    }
    removeOthers(disk, folder, current);
    if (current !== undefined) return new EmbeddedStore(options, await Generation.open(disk, folder, current));
    const generation = await Generation.create(disk, folder, 1);
    await writeCurrent(disk, folder, 1);
    return new EmbeddedStore(options, generation);
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
    checkSession(session);
    await this.#write((generation) => generation.deleteSession(session));
    const { deadBytes } = this.#generation.counts;
    if (purge || (deadBytes > LEAST_DEAD && deadBytes > DEAD_SHARE * this.#generation.end))
      await this.gc({ force: true });
  }

  async get(handle: string): Promise<Stored | undefined> {
    return this.#read((generation) => storedOf(generation, handle));
  }

  async getMany(handles: readonly string[]): Promise<(Stored | undefined)[]> {
    return handles.map((handle) => this.#read((generation) => storedOf(generation, handle)));
  }

  async turn(session: string, turn: number): Promise<TurnRecord | undefined> {
    this.#check();
    checkSession(session);
    checkTurn(turn);
    return this.#read((generation) => generation.findTurn(session, turn));
  }

  async *list(session: string): AsyncGenerator<Stored> {
    const seen = new Set<string>();
    checkSession(session);
    for (const handle of this.#read((generation) => handlesOf(generation, session))) {
      if (seen.has(handle)) continue;
      seen.add(handle);
      const stored = await this.get(handle);
      if (stored) yield stored;
    }
  }

  async *search(query: string, options: SearchOptions = {}): AsyncGenerator<Match> {
    yield* searchTexts(options.session === undefined ? this.#texts() : this.list(options.session), query, options);
  }

  async stats(): Promise<StoreStats> {
    return this.#read((generation): StoreStats => {
      const { texts, turns, sessions, textBytes, deadBytes } = generation.counts;
      return { kind: 'embedded', texts, turns, sessions, textBytes, deadBytes, diskBytes: generation.diskBytes };
    });
  }

  async verify(): Promise<Problem[]> {
    this.#check();
    this.#follow({ now: true });
    const generation = this.#generation;
    const problems = [...generation.lost];
    for (const found of generation.scan()) {
      // What another process writes at this moment is none of ours.
      if (found.position >= generation.end) break;
      const problem = isGap(found)
        ? {
            what: `${found.bytes} unreadable bytes at ${found.position} of ${generation.number}.log`,
            remedy: REPAIR,
            at: found.position,
          }
        : problemOf(generation, found);
      if (problem && !problems.some(({ at }) => at === problem.at)) problems.push(problem);
    }
    return problems;
  }

  /** Writes what is alive into a new generation, and lets the old one go. */
  async gc({ repair = false, force = false }: GcOptions = {}): Promise<GcReport> {
    return this.#alone(async () => {
      const old = this.#generation;
      const { deadBytes, texts } = old.counts;
      const damage = repair ? (await this.verify()).length : 0;
      if (!force && damage === 0 && deadBytes <= DEAD_SHARE * old.end)
        return { freedBytes: 0, removedTexts: 0, repaired: 0 };
      const { disk, folder } = this.#options;
      const next = await Generation.create(disk, folder, old.number + 1);
      const lost = copyAlive(old, next);
      // What is damaged is reported until somebody gives it up.
      next.lost = repair ? [] : [...old.lost, ...lost];
      await next.checkpoint();
      const before = old.diskBytes;
      await writeCurrent(disk, folder, next.number);
      this.#generation = next;
      old.markMoved();
      removeOthers(disk, folder, next.number);
      return {
        freedBytes: Math.max(0, before - next.diskBytes),
        removedTexts: Math.max(0, texts - next.counts.texts),
        repaired: damage,
      };
    });
  }

  async *export(): AsyncGenerator<object> {
    this.#check();
    this.#follow({ now: true });
    const generation = this.#generation;
    for (const found of generation.scan()) {
      if (isGap(found) || found.position >= generation.end) continue;
      if (found.type === TEXT) {
        const text = generation.textOf(readText(found.body).digest);
        if (text?.position === found.position) yield { type: 'text', ...toStored(generation, text) };
      } else if (found.type === TURN && generation.isAlive(found))
        yield { type: 'turn', ...readTurn(found.body).record };
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    await this.#work.catch(() => {});
    this.#isClosed = true;
    try {
      if (this.#options.mode === 'write' && !this.#failed) await this.#generation.checkpoint();
    } finally {
      this.#generation.close();
      this.#options.onClose?.();
    }
  }

  /** Writes at once, answers when it is durable. */
  async #write<T>(change: (generation: Generation) => T): Promise<T> {
    this.#check();
    if (this.#options.mode === 'read')
      throw new PalimpsestError('BAD_OPTION', "Expected a store opened for writing but this one has mode 'read'");
    await this.#pause;
    this.#check();
    const answer = this.#withIndex(change);
    await this.#commit();
    if (this.#generation.isDue) void this.#alone(() => this.#generation.checkpoint()).catch(() => {});
    return answer;
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
    this.#syncing = this.#sync();
    return this.#syncing;
  }

  async #sync(): Promise<void> {
    try {
      await this.#generation.sync();
    } catch (cause) {
      // What the disk has of it nobody knows: it is never tried again.
      this.#failed = new PalimpsestError(
        'STORE_FAILED',
        'Expected the disk to sync but it failed; open the store anew',
        { cause },
      );
      throw this.#failed;
    } finally {
      if (!this.#nextSync) this.#syncing = undefined;
    }
    this.#check();
  }

  #pause: Promise<unknown> | undefined;

  /** Work during which nothing is written: a checkpoint may go on beside reads, a compaction replaces what is read. */
  async #alone<T>(work: () => Promise<T>): Promise<T> {
    this.#check();
    if (this.#options.mode === 'read')
      throw new PalimpsestError('BAD_OPTION', "Expected a store opened for writing but this one has mode 'read'");
    const before = this.#work;
    const run = (async () => {
      await before.catch(() => {});
      await this.#syncing?.catch(() => {});
      return work();
    })();
    this.#work = run;
    this.#pause = run.catch(() => {});
    try {
      return await run;
    } catch (error) {
      if (!(error instanceof PalimpsestError)) this.#failed = failedBy(error);
      throw error;
    } finally {
      if (this.#work === run) this.#pause = undefined;
    }
  }

  #read<T>(look: (generation: Generation) => T): T {
    this.#check();
    return this.#options.mode === 'write' ? this.#withIndex(look) : this.#readBeside(look);
  }

  /**
   * Beside a process that writes. What is found is checked against the log, so it is right. What is not found may stand in
   * a page that was being replaced: then the index is read again, and in the end the log itself.
   */
  #readBeside<T>(look: (generation: Generation) => T): T {
    this.#follow({ now: false });
    for (let attempt = 0; ; attempt++) {
      let problem: unknown;
      try {
        const answer = look(this.#generation);
        if (answer !== undefined || (attempt > 0 && !this.#generation.isOutdated)) return answer;
      } catch (error) {
        problem = error;
        const isDamage =
          error instanceof DamagedPage || (error instanceof PalimpsestError && error.code === 'STORE_DAMAGED');
        if (!isDamage || attempt >= PATIENCE) throw error;
      }
      if (attempt >= PATIENCE) {
        this.#generation.rebuild();
        return look(this.#generation);
      }
      if (attempt > 1) Atomics.wait(NAP, 0, 0, 2);
      if (problem || this.#generation.isOutdated) this.#reload();
      else this.#follow({ now: true });
    }
  }

  #reload(): void {
    const { disk, folder } = this.#options;
    const next = Generation.openToRead(disk, folder, readCurrent(disk, folder) ?? this.#generation.number);
    this.#generation.close();
    this.#generation = next;
  }

  /** A damaged page of the index is no loss: the log has everything. */
  #withIndex<T>(use: (generation: Generation) => T): T {
    try {
      return use(this.#generation);
    } catch (error) {
      if (!(error instanceof DamagedPage)) throw error;
      this.#generation.rebuild();
      return use(this.#generation);
    }
  }

  /** A reader takes in what was written since it looked last: a deletion must be seen, too. */
  #follow({ now }: { readonly now: boolean }): void {
    if (this.#options.mode === 'write') return;
    const time = performance.now();
    if (!now && time - this.#followedAt < FOLLOW_MS) return;
    this.#followedAt = time;
    if (!this.#generation.follow()) this.#reload();
  }

  async *#texts(): AsyncGenerator<Stored> {
    for await (const found of this.export()) if ((found as { type: string }).type === 'text') yield found as Stored;
  }

  #check(): void {
    if (this.#failed) throw this.#failed;
    if (this.#isClosed) throw closedError();
  }
}

const FOLLOW_MS = 1;
/** So often a reader looks again before it reads the whole log. */
const PATIENCE = 20;
const NAP = new Int32Array(new SharedArrayBuffer(4));
const REPAIR = 'palimpsest store gc --repair gives it up; all else is saved';

const failedBy = (cause: unknown): PalimpsestError =>
  new PalimpsestError('STORE_FAILED', `Expected the disk to work but it failed: ${(cause as Error).message}`, {
    cause,
  });

const missing = (folder: string): PalimpsestError =>
  new PalimpsestError(
    'BAD_INPUT',
    `Expected a store in ${folder} but found none; it is made when it is opened for writing`,
  );

function storedOf(generation: Generation, handle: string): Stored | undefined {
  const text = isHandle(handle) ? generation.findText(handle) : undefined;
  return text && toStored(generation, text);
}

function toStored(generation: Generation, text: FoundText): Stored {
  const decoded = decode(text);
  const bytes = text.isUtf16 ? Buffer.byteLength(decoded) : text.bytes.length;
  return { handle: handleOfDigest(text.digest), text: decoded, bytes, refs: generation.referencesTo(text) };
}

/** The handles of a session, oldest first. */
function handlesOf(generation: Generation, session: string): string[] {
  return generation.positionsOf(session).flatMap((position) => {
    const { type, body } = generation.record(position);
    return type === TEXT || type === REFERENCE ? [handleOfDigest(body.subarray(0, 32))] : [];
  });
}

function problemOf(generation: Generation, record: LogRecord): Problem | undefined {
  if (record.type !== TEXT) return undefined;
  const { digest, bytes, isUtf16 } = readText(record.body);
  const handle = handleOfDigest(digest);
  const at = record.position;
  if (!digestOf(bytes, isUtf16).equals(digest))
    return { what: `${handle} holds another text`, remedy: REPAIR, handle, at };
  if (!generation.mustLeadTo(record)) return undefined;
  return {
    what: `the index does not lead to ${handle}`,
    remedy: 'it is built anew when the store is opened',
    handle,
    at,
  };
}

/** Writes all that is alive, in its order. Answers what could not be read. */
function copyAlive(from: Generation, to: Generation): Problem[] {
  const lost: Problem[] = [];
  for (const found of from.scan()) {
    if (isGap(found)) {
      const what = `${found.bytes} bytes of ${from.number}.log were unreadable when it was compacted`;
      lost.push({ what, remedy: REPAIR, at: found.position });
    } else if (from.isAlive(found)) copyRecord(found, from, to);
  }
  return lost;
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

const CURRENT = 'current';

/** The number of the generation in use. */
function readCurrent(disk: Disk, folder: string): number | undefined {
  const path = join(folder, CURRENT);
  if (!disk.exists(path)) return undefined;
  const file = disk.open(path, 'read');
  try {
    const bytes = Buffer.alloc(16);
    const number = Number(bytes.toString('latin1', 0, file.read(bytes, 0)));
    if (Number.isSafeInteger(number) && number > 0) return number;
  } finally {
    file.close();
  }
  throw new PalimpsestError('STORE_DAMAGED', `Expected the number of a generation in ${path} but found none`);
}

async function writeCurrent(disk: Disk, folder: string, number: number): Promise<void> {
  const next = join(folder, `${CURRENT}.next`);
  disk.remove(next);
  const file = disk.open(next, 'create');
  file.write(Buffer.from(String(number)), 0);
  await file.sync();
  file.close();
  await disk.rename(next, join(folder, CURRENT));
}

/** What a compaction left behind that was cut off, or that is done with. */
function removeOthers(disk: Disk, folder: string, number: number | undefined): void {
  for (const name of disk.list(folder)) {
    const found = /^(\d+)\.(?:log|index|journal|meta|meta\.next)$/.exec(name)?.[1];
    if (found !== undefined && Number(found) !== number) disk.remove(join(folder, name));
  }
}

import { join } from 'node:path';
import type { RequestRecord } from '../../report/request-record.ts';
import { checkGc, checkItem, checkNote, checkNoteName, checkRecord, checkTurn } from '../check-input.ts';
import { handleOfDigest } from '../handle.ts';
import { WEEK_MS } from '../prune.ts';
import { checkRecords } from '../request-records.ts';
import {
  checkSession,
  type DeleteOptions,
  type GcOptions,
  type GcReport,
  type Handle,
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
import { Calls } from './calls.ts';
import { agesOf } from './catalogue/session-times.ts';
import type { EmbeddedOptions } from './embedded-options.ts';
import type { Generation } from './generation.ts';
import { openToRead, openToWrite } from './open-generation.ts';
import { problemsOf } from './problems-of.ts';
import { GenerationInUse } from './reading/generation-in-use.ts';
import { Walks } from './reading/walks.ts';
import { RecordFiles } from './record-files.ts';
import { keepSecret, readSecret } from './secret.ts';
import { Retention } from './upkeep/retention.ts';
import { Upkeep } from './upkeep/upkeep.ts';
import { Checkpoints } from './writing/checkpoints.ts';
import { Fence, reportingFailure } from './writing/fence.ts';
import { type Change, WriteQueue } from './writing/write-queue.ts';

interface NewText {
  readonly text: string;
  readonly about: Reference;
}

/**
 * A store in one folder: a log and an index, in generations. One process writes, any number read. A put is
 * acknowledged when the disk has it. Puts that arrive while the disk is busy share the next write and sync.
 */
export class EmbeddedStore implements Store {
  readonly kind = 'embedded';
  readonly #options: EmbeddedOptions;
  readonly #calls: Calls;
  readonly #inUse: GenerationInUse;
  readonly #fence: Fence;
  readonly #checkpoints: Checkpoints;
  readonly #queue: WriteQueue;
  readonly #records: RecordFiles;
  readonly #walks: Walks;
  readonly #upkeep: Upkeep;
  readonly #retention: Retention;

  private constructor(options: EmbeddedOptions, generation: Generation) {
    const calls = new Calls(options.mode);
    const inUse = new GenerationInUse(options, generation);
    const fence = new Fence(options, inUse);
    const checkpoints = new Checkpoints({ inUse, fence, retryMs: options.limits?.retryMs });
    const queue = new WriteQueue({ calls, inUse, fence, checkpoints });
    const records = new RecordFiles(join(options.folder, 'records'), (change) =>
      calls.during(() => fence.guard(change)),
    );
    const upkeep = new Upkeep({ options, calls, inUse, fence, queue });
    this.#options = options;
    this.#calls = calls;
    this.#inUse = inUse;
    this.#fence = fence;
    this.#checkpoints = checkpoints;
    this.#queue = queue;
    this.#records = records;
    this.#walks = new Walks({ calls, inUse, records });
    this.#upkeep = upkeep;
    this.#retention = new Retention({ calls, inUse, queue, records, upkeep });
    options.onOpen?.();
  }

  static async open(options: EmbeddedOptions): Promise<EmbeddedStore> {
    if (options.mode === 'read') return new EmbeddedStore(options, openToRead(options));
    return new EmbeddedStore(options, await openToWrite(options));
  }

  // Writing.

  async put(text: string, about: Reference): Promise<Handle> {
    const [handle] = await this.putMany([{ text, about }]);
    return handle as Handle;
  }

  async putMany(items: readonly NewText[]): Promise<Handle[]> {
    this.#calls.check();
    for (const item of items) checkItem(item);
    return this.#queue.write(({ catalogue }) => catalogue.putTexts(items).map(handleOfDigest));
  }

  async putTurn(record: TurnRecord): Promise<void> {
    await this.putTurns([record]);
  }

  async putTurns(records: readonly TurnRecord[]): Promise<void> {
    this.#calls.check();
    for (const record of records) checkRecord(record);
    // The caller may change the list before it is written.
    const own = [...records];
    await this.#replace(({ catalogue }) => catalogue.putTurns(own));
  }

  async putNote(note: SessionNote): Promise<void> {
    this.#calls.check();
    checkNote(note);
    const own = { ...note };
    await this.#replace(({ catalogue }) => catalogue.putNote(own));
  }

  /** A replaced turn or note leaves dead bytes, so a compaction may be due. */
  async #replace(change: Change<void>): Promise<void> {
    await this.#queue.write(change);
    this.#upkeep.compactIfWorth();
  }

  /** Request records are in separate files, so they and texts never wait for each other. */
  async putRecords(records: readonly RequestRecord[]): Promise<void> {
    this.#calls.check();
    checkRecords(records);
    await this.#records.append(records);
  }

  async touch(session: string): Promise<void> {
    this.#calls.check();
    checkSession(session);
    if (this.#options.mode === 'read' || !this.#inUse.read(({ catalogue }) => catalogue.mustTouch(session))) return;
    await this.#queue.write(({ catalogue }) => catalogue.touch(session));
  }

  async secret(): Promise<string | undefined> {
    this.#calls.check();
    return reportingFailure(
      async () => readSecret(this.#options) ?? (this.#options.mode === 'read' ? undefined : await this.#makeSecret()),
    );
  }

  #makeSecret(): Promise<string> {
    return this.#calls.during(async () => {
      this.#fence.checkLock();
      return keepSecret(this.#options);
    });
  }

  // Reading.

  async get(handle: string): Promise<Stored | undefined> {
    this.#calls.check();
    return this.#inUse.get(handle);
  }

  async getMany(handles: readonly string[]): Promise<(Stored | undefined)[]> {
    this.#calls.check();
    return handles.map((handle) => this.#inUse.find(handle));
  }

  async turn(session: string, turn: number): Promise<TurnRecord | undefined> {
    this.#calls.check();
    checkSession(session);
    checkTurn(turn);
    return this.#inUse.read(({ catalogue }) => catalogue.latest.findTurn(session, turn));
  }

  async note(session: string, name: string): Promise<string | undefined> {
    this.#calls.check();
    checkSession(session);
    checkNoteName(name);
    return this.#inUse.read(({ catalogue }) => catalogue.latest.findNote(session, name));
  }

  turns(session: string): AsyncGenerator<TurnRecord> {
    return this.#walks.turns(session);
  }

  list(session: string): AsyncGenerator<Stored> {
    return this.#walks.list(session);
  }

  search(query: string, options: SearchOptions = {}): AsyncGenerator<Match> {
    return this.#walks.search(query, options);
  }

  records(range: RecordRange = {}): AsyncGenerator<RequestRecord> {
    return this.#walks.records(range);
  }

  sessions(): AsyncGenerator<SessionInfo> {
    return this.#walks.sessions();
  }

  export(): AsyncGenerator<object> {
    return this.#walks.export();
  }

  async stats(): Promise<StoreStats> {
    this.#calls.check();
    const records = await this.#records.count();
    const bytes = await this.#records.bytes();
    return this.#inUse.read((generation): StoreStats => {
      const { texts, turns, notes, sessions, textBytes, deadBytes } = generation.catalogue.counts;
      const { oldestAt, newestAt, bytesSince } = agesOf(generation.catalogue, this.#inUse.now() - WEEK_MS);
      return {
        kind: this.kind,
        ...{ texts, turns, notes, records, sessions, textBytes, deadBytes },
        diskBytes: generation.diskBytes + bytes,
        usedBytes: generation.usedBytes + bytes,
        ...(oldestAt > 0 ? { oldestAt } : {}),
        ...(newestAt > 0 ? { newestAt, weekBytes: bytesSince } : {}),
      };
    });
  }

  // Upkeep.

  async delete(session: string, options: DeleteOptions = {}): Promise<Removed> {
    this.#calls.check();
    checkSession(session);
    return this.#retention.delete(session, options);
  }

  async prune(options: PruneOptions = {}): Promise<PruneReport> {
    this.#calls.check();
    return this.#retention.prune(options);
  }

  async deletions(): Promise<number> {
    this.#calls.check();
    return this.#inUse.deletions;
  }

  async verify(): Promise<Problem[]> {
    this.#calls.check();
    const problems = [...this.#inUse.read(problemsOf), ...(await this.#records.problems())];
    return [...problems, ...this.#checkpoints.problems];
  }

  async gc(options: GcOptions = {}): Promise<GcReport> {
    this.#calls.check();
    checkGc(options);
    const { repair = false, force = false } = options;
    return this.#calls.during(async () => {
      const given = repair ? await this.#records.repair() : 0;
      const report = await this.#upkeep.compact({ repair, force });
      return { ...report, repaired: report.repaired + given };
    });
  }

  /** Finishes work that has begun. No new work begins. */
  close(): Promise<void> {
    return this.#calls.close(() => this.#finish());
  }

  async #finish(): Promise<void> {
    await this.#queue.quiet();
    const { generation } = this.#inUse;
    try {
      if (this.#fence.mayWrite) {
        generation.cut();
        if (generation.isChanged) await generation.checkpoint();
      }
    } catch (error) {
      throw this.#fence.whyFailed(error);
    } finally {
      generation.close();
      this.#options.onClose?.();
    }
  }
}

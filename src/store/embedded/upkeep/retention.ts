import { setImmediate } from 'node:timers/promises';
import {
  NOTHING_REMOVED,
  type Prunable,
  prune,
  type Removable,
  slicesOf,
  USE_EVERY_MS,
  withRecords,
} from '../../prune.ts';
import { isOfSession, NO_RECORDS, type RemovedRecords, removableDays } from '../../request-records.ts';
import type { DeleteOptions, PruneOptions, PruneReport, Removed } from '../../store.ts';
import type { Calls } from '../calls.ts';
import { agesOf, sessionTimes } from '../catalogue/session-times.ts';
import { type DryRun, freedBy, looseTexts } from '../catalogue/sizes.ts';
import type { Generation } from '../generation.ts';
import type { GenerationInUse } from '../reading/generation-in-use.ts';
import type { RecordFiles } from '../record-files.ts';
import type { WriteQueue } from '../writing/write-queue.ts';
import type { Upkeep } from './upkeep.ts';

interface RetentionParts {
  readonly calls: Calls;
  readonly inUse: GenerationInUse;
  readonly queue: WriteQueue;
  readonly records: RecordFiles;
  readonly upkeep: Upkeep;
}

/** Removes sessions, texts without one and days of records, one by one, so that puts continue in between. */
export class Retention {
  readonly #calls: Calls;
  readonly #inUse: GenerationInUse;
  readonly #queue: WriteQueue;
  readonly #records: RecordFiles;
  readonly #upkeep: Upkeep;

  constructor({ calls, inUse, queue, records, upkeep }: RetentionParts) {
    this.#calls = calls;
    this.#inUse = inUse;
    this.#queue = queue;
    this.#records = records;
    this.#upkeep = upkeep;
  }

  async delete(session: string, options: DeleteOptions): Promise<Removed> {
    const { purge = false, dryRun = false, keepRecords = false } = options;
    const removeRecords = async (): Promise<RemovedRecords> =>
      keepRecords ? NO_RECORDS : this.#records.removeWhere((record) => isOfSession(record, session), { dryRun });
    if (dryRun) {
      const freed = this.#inUse.read(({ catalogue }) => freedBy(catalogue, { session }, nothingGone()));
      return withRecords(freed, await removeRecords());
    }
    return this.#calls.during(async () => {
      // Runs first, so that texts put after this call stay.
      const removed = await this.#remove({ session, usedAt: Number.POSITIVE_INFINITY });
      const records = await removeRecords();
      if (purge) await this.#upkeep.compact({ force: true });
      else this.#upkeep.compactIfWorth();
      return withRecords(removed, records);
    });
  }

  /** Compacts the log at the end if it is worth it. */
  async prune(options: PruneOptions): Promise<PruneReport> {
    const run = (): Promise<PruneReport> => prune(this.#prunable(), options, () => this.#inUse.now());
    if (options.dryRun) return run();
    return this.#calls.during(async () => {
      if (this.#hasUntimed()) await this.#upkeep.compact({ force: true });
      const report = await this.#upkeep.alone(run);
      const { catalogue, diskBytes } = this.#inUse.generation;
      const isOver = diskBytes > (options.maxBytes ?? Number.POSITIVE_INFINITY);
      if (this.#upkeep.isWorthCompacting || (isOver && catalogue.counts.deadBytes > 0))
        await this.#upkeep.compact({ force: true, isBackground: true });
      return report;
    });
  }

  /** Records of an older version have no times. A compaction adds them. */
  #hasUntimed(): boolean {
    const { catalogue, isEmpty } = this.#inUse.generation;
    return !isEmpty && agesOf(catalogue, 0).oldestAt === 0;
  }

  #prunable(): Prunable {
    const chosenIn = this.#inUse.generation;
    // Kept per generation, because positions are valid in one log only.
    const checked = new WeakMap<Generation, DryRun['checkedUpTo']>();
    return {
      removables: async (now) => [...(await this.#removables(now)), ...removableDays(await this.#records.days(), now)],
      usedBytes: async () => this.#inUse.read(({ usedBytes }) => usedBytes) + (await this.#records.bytes()),
      remove: async (what, { dryRun, gone }) => {
        await setImmediate();
        this.#calls.check();
        if (what.day !== undefined)
          return withRecords(NOTHING_REMOVED, await this.#records.removeDay(what.day, { dryRun }));
        if (!dryRun) return this.#remove(what, chosenIn);
        return this.#inUse.read((generation) => {
          const checkedUpTo = checked.get(generation) ?? new Map();
          checked.set(generation, checkedUpTo);
          return freedBy(generation.catalogue, what, { gone, checkedUpTo });
        });
      },
    };
  }

  async #removables(now: number): Promise<Removable[]> {
    const newestFirst = this.#inUse.read(({ catalogue }) => sessionTimes(catalogue, now));
    const sessions: Removable[] = [];
    for (const { session, lastAt } of newestFirst.reverse()) {
      // The clock was wrong. Without a new time the session would stay the newest for ever.
      const isInFuture = lastAt > now + USE_EVERY_MS;
      if (isInFuture && this.#inUse.mode === 'write')
        await this.#queue.write(({ catalogue }) => catalogue.touch(session));
      sessions.push({ session, usedAt: isInFuture ? now : lastAt });
    }
    const loose = this.#inUse.read(({ catalogue }) => looseTexts(catalogue));
    return [...sessions, ...slicesOf(loose.map(({ point, usedAt }) => ({ point, usedAt: usedAt || now })))];
  }

  async #remove(what: Removable, chosenIn?: Generation): Promise<Removed> {
    const { session, before = 0, usedAt } = what;
    const removed = await this.#queue.write(
      (generation) => {
        const { catalogue } = generation;
        // A position is only valid in the log in which it was chosen.
        if (session === undefined && generation !== chosenIn) return NOTHING_REMOVED;
        // The session was used after it was chosen.
        if (session !== undefined && catalogue.chains.headOf(session).usedAt > usedAt) return NOTHING_REMOVED;
        const freed = freedBy(catalogue, what, nothingGone());
        if (session === undefined) catalogue.expire(before);
        else catalogue.deleteSession(session);
        return freed;
      },
      { isDeletion: true },
    );
    this.#inUse.deletions += 1;
    return removed;
  }
}

const nothingGone = (): DryRun => ({ gone: { sessions: new Set(), before: 0 }, checkedUpTo: new Map() });

import { setImmediate } from 'node:timers/promises';
import { PalimpsestError } from '../../../errors.ts';
import { closedError } from '../../check-input.ts';
import type { GcOptions, GcReport } from '../../store.ts';
import type { Calls } from '../calls.ts';
import { AliveCopy } from '../copy-alive.ts';
import { nextNumber, prepareCurrent, removeOthers, switchCurrent } from '../current.ts';
import type { EmbeddedOptions } from '../embedded-options.ts';
import { Generation } from '../generation.ts';
import { problemsOf } from '../problems-of.ts';
import type { GenerationInUse } from '../reading/generation-in-use.ts';
import type { Fence } from '../writing/fence.ts';
import type { WriteQueue } from '../writing/write-queue.ts';

interface UpkeepParts {
  readonly options: EmbeddedOptions;
  readonly calls: Calls;
  readonly inUse: GenerationInUse;
  readonly fence: Fence;
  readonly queue: WriteQueue;
}

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

/** A compaction starts when a quarter of the log and at least `LEAST_DEAD` bytes are dead. */
const DEAD_SHARE = 0.25;
const LEAST_DEAD = 1 << 20;
/** Bytes of the old log that a compaction copies per step. Other work runs between steps. */
const COPY_STEP_BYTES = 1 << 20;
/** `close` does not wait for a background compaction that has more bytes than this to copy. */
const QUICK_BYTES = 1 << 26;

/** Compactions and removals run one at a time, while writes continue. */
export class Upkeep {
  readonly #options: EmbeddedOptions;
  readonly #calls: Calls;
  readonly #inUse: GenerationInUse;
  readonly #fence: Fence;
  readonly #queue: WriteQueue;
  /** The last task that runs or waits. */
  #last: Promise<unknown> | undefined;
  /** A failed compaction is retried at this many dead bytes. */
  #compactAgainAt = 0;

  constructor({ options, calls, inUse, fence, queue }: UpkeepParts) {
    this.#options = options;
    this.#calls = calls;
    this.#inUse = inUse;
    this.#fence = fence;
    this.#queue = queue;
  }

  async alone<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#last;
    const run = (async () => {
      await before?.catch(() => {});
      // Writes recover a store that failed. An empty one does it here, where nothing else may be written.
      if (this.#fence.isRecoveryDue) await this.#queue.write(() => {});
      this.#fence.checkFailed();
      this.#fence.checkLock();
      return work();
    })();
    this.#last = run;
    try {
      return await run;
    } catch (error) {
      if (error instanceof PalimpsestError) throw error;
      throw this.#fence.fail(error);
    } finally {
      if (this.#last === run) this.#last = undefined;
    }
  }

  get isWorthCompacting(): boolean {
    const { leastDead = LEAST_DEAD } = this.#options.limits ?? {};
    const { catalogue, end } = this.#inUse.generation;
    const { deadBytes } = catalogue.counts;
    return deadBytes > leastDead && deadBytes > DEAD_SHARE * end;
  }

  /** Starts a compaction after a write, without delaying it. After a failure, the next one waits until twice as much is dead. */
  compactIfWorth(): void {
    const { deadBytes } = this.#inUse.generation.catalogue.counts;
    if (this.#calls.isClosing || this.#last || deadBytes < this.#compactAgainAt || !this.isWorthCompacting) return;
    void this.#calls.during(async () => {
      try {
        await this.compact({ isBackground: true });
        this.#compactAgainAt = 0;
      } catch {
        this.#compactAgainAt = 2 * deadBytes;
      }
      // More records may have died during the copy.
      this.compactIfWorth();
    });
  }

  /** Copies live records into a new generation and removes the old one. */
  compact(options: CompactOptions): Promise<GcReport> {
    return this.alone(() => this.#compact(options));
  }

  async #compact({ repair = false, force = false, isBackground = false }: CompactOptions): Promise<GcReport> {
    const old = this.#inUse.generation;
    const damage = repair ? this.#inUse.read(problemsOf).length : 0;
    if (!force && damage === 0 && old.catalogue.counts.deadBytes <= DEAD_SHARE * old.end)
      return { freedBytes: 0, removedTexts: 0, repaired: 0 };
    const copying = await this.#copyMost(old, { isBackground });
    await this.#queue.exclusively(() => this.#copyRest(copying, { repair }));
    const { copy, next } = copying;
    if (damage > 0) this.#inUse.deletions += 1;
    const { texts } = this.#inUse.generation.catalogue.counts;
    const freedBytes = Math.max(0, old.diskBytes - next.diskBytes);
    old.retire();
    return { freedBytes, removedTexts: Math.max(0, copy.texts - texts), repaired: damage };
  }

  /**
   * Copies the live records into a new generation, which is not in use yet. Writes to the old generation continue and are copied
   * too. Resolves when little is left. If it fails, the store is unchanged.
   */
  async #copyMost(old: Generation, { isBackground }: { readonly isBackground: boolean }): Promise<Copying> {
    const { disk, folder, limits } = this.#options;
    const number = nextNumber({ disk, folder });
    const next = await Generation.create({ disk, folder, number, limits }).catch((error) => {
      throw this.#fence.whyFailed(error);
    });
    return this.#filling(next, async () => {
      this.#checkGeneration(old);
      const copy = new AliveCopy({ to: next, look: (use) => this.#inUse.read(use) });
      const { copyStepBytes: step = COPY_STEP_BYTES } = limits ?? {};
      // If writers outpace the copy, stop here. The rest is copied while they wait.
      const most = 2 * old.end;
      while (copy.left > step && copy.position < most && copy.step(step)) {
        if (next.isDue) await next.checkpoint();
        await setImmediate();
        this.#checkGeneration(old);
        this.#fence.checkLock();
        if (isBackground && this.#calls.isClosing && copy.left > QUICK_BYTES) throw closedError();
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
      this.#fence.checkLock();
      await copy.finish();
      // Damage is reported until a repair removes it.
      next.lost = repair ? [] : copy.problems;
      await next.checkpoint();
      this.#inUse.generation.reserve();
      await prepareCurrent({ disk, folder }, next.number);
    });
    await switchCurrent(this.#options, next.number).catch((error) => {
      next.close();
      throw error;
    });
    this.#inUse.generation = next;
    removeOthers(this.#options, next.number);
    await disk.syncFolder(folder);
  }

  /** Throws if the store continued in other files after a failure: the copy of the old ones is then useless. */
  #checkGeneration(old: Generation): void {
    this.#fence.checkFailed();
    if (this.#inUse.generation === old) return;
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
      throw this.#fence.whyFailed(error);
    }
  }
}

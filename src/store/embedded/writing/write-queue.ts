import { PalimpsestError } from '../../../errors.ts';
import type { Calls } from '../calls.ts';
import type { Generation } from '../generation.ts';
import { rebuilding } from '../open-generation.ts';
import type { GenerationInUse } from '../reading/generation-in-use.ts';
import type { Checkpoints } from './checkpoints.ts';
import type { Fence } from './fence.ts';

export type Change<T> = (generation: Generation) => T;

interface WriteQueueParts {
  readonly calls: Calls;
  readonly inUse: GenerationInUse;
  readonly fence: Fence;
  readonly checkpoints: Checkpoints;
}

/** Changes wait here for the disk. Those that arrive while it is busy share the next write and sync. */
export class WriteQueue {
  readonly #calls: Calls;
  readonly #inUse: GenerationInUse;
  readonly #fence: Fence;
  readonly #checkpoints: Checkpoints;
  readonly #waiting: Waiting[] = [];
  #committing: Promise<void> | undefined;
  /** The group that is being written and synced. */
  #syncing: Promise<void> | undefined;
  /** A task that replaces the generation. Writes wait for it. */
  #work: Promise<void> | undefined;

  constructor({ calls, inUse, fence, checkpoints }: WriteQueueParts) {
    this.#calls = calls;
    this.#inUse = inUse;
    this.#fence = fence;
    this.#checkpoints = checkpoints;
  }

  /** Resolves when the change is durable. */
  write<T>(change: Change<T>, { isDeletion = false } = {}): Promise<T> {
    return this.#calls.during(
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
      if (this.#fence.isRecoveryDue) await this.#recover();
      this.#syncing = this.#commit(this.#nextGroup());
      await this.#syncing;
      this.#syncing = undefined;
    }
    this.#committing = undefined;
  }

  async #recover(): Promise<void> {
    this.#work = this.#recoverOnceChecked();
    try {
      await this.#work;
    } catch (error) {
      this.#fence.fail(error);
    } finally {
      this.#work = undefined;
    }
  }

  async #recoverOnceChecked(): Promise<void> {
    await this.#checkpoints.running;
    await this.#fence.recover();
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
      if (written.length > 0) await this.#inUse.generation.sync();
    } catch (cause) {
      // After a failed sync, the disk's content is unknown. The sync is not retried.
      const failure = this.#fence.fail(cause);
      for (const { fail } of written) fail(failure);
      return;
    }
    this.#acknowledge(written);
    if (!this.#work) this.#checkpoints.startIfDue();
  }

  /**
   * Acknowledges writes if the lock is still held. A writer that takes over reads the log after taking the lock, so it finds them
   * all.
   */
  #acknowledge(written: readonly Waiting[]): void {
    try {
      if (written.length > 0) this.#fence.checkLock();
      for (const { succeed } of written) succeed();
    } catch (lost) {
      this.#fence.fail(lost);
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
      this.#fence.checkFailed();
      this.#apply(apply);
      return true;
    } catch (error) {
      fail(error);
      return false;
    }
  }

  #apply(change: Change<void>): void {
    try {
      rebuilding(this.#inUse.generation, change);
    } catch (error) {
      if (error instanceof PalimpsestError) throw error;
      // A full disk may have space later. Writes that it refused were not acknowledged.
      throw isFull(error) ? this.#fence.whyFailed(error) : this.#fence.fail(error);
    }
  }

  /** Runs a task that replaces the files being read. Nothing is written meanwhile. */
  async exclusively(work: () => Promise<void>): Promise<void> {
    while (this.#work) await this.#work.catch(() => {});
    const run = (async () => {
      while (this.#syncing ?? this.#checkpoints.running)
        await (this.#syncing ?? this.#checkpoints.running)?.catch(() => {});
      await work();
    })();
    this.#work = run;
    try {
      await run;
    } finally {
      this.#work = undefined;
    }
  }

  /** Resolves when nothing is synced, checkpointed or replaced. */
  async quiet(): Promise<void> {
    for (let busy = this.#busy; busy; busy = this.#busy) await busy.catch(() => {});
  }

  get #busy(): Promise<void> | undefined {
    return this.#work ?? this.#syncing ?? this.#checkpoints.running;
  }
}

/** A change to be written, and its caller. */
interface Waiting {
  readonly isDeletion: boolean;
  apply(generation: Generation): void;
  /** Resolves with the last answer of the change. */
  succeed(): void;
  fail(error: unknown): void;
}

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

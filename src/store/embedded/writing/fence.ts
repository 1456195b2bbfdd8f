import { PalimpsestError } from '../../../errors.ts';
import type { EmbeddedOptions } from '../embedded-options.ts';
import { openToWrite } from '../open-generation.ts';
import type { GenerationInUse } from '../reading/generation-in-use.ts';
import { Backoff } from './backoff.ts';

/** Stops all writes after the disk failed, or another process took over, until `recover` succeeds. */
export class Fence {
  readonly #options: EmbeddedOptions;
  readonly #inUse: GenerationInUse;
  #failed: Error | undefined;
  #isLost = false;
  /** The lock was lost since the store was read: others may have deleted texts. */
  #isOutdated = false;
  readonly #recovery: Backoff;

  constructor(options: EmbeddedOptions, inUse: GenerationInUse) {
    this.#options = options;
    this.#inUse = inUse;
    this.#recovery = new Backoff(options.limits?.retryMs);
  }

  /** Throws while writes are stopped. */
  checkFailed(): void {
    if (this.#failed) throw this.#failed;
  }

  /** Throws STORE_LOCKED if another process has taken over. */
  checkLock(): void {
    this.#options.mayWrite?.();
  }

  /** False if another process has taken over: the store must not be changed then. */
  get mayWrite(): boolean {
    try {
      this.checkFailed();
      this.checkLock();
      return this.#options.mode === 'write';
    } catch {
      return false;
    }
  }

  /** Stops all writes until the store has recovered. */
  fail(cause: unknown): Error {
    this.#recovery.failed();
    this.#failed = this.whyFailed(cause);
    return this.#failed;
  }

  /** The error to report. A writer that takes over removes the old files, so a lost lock counts more than a disk error. */
  whyFailed(cause: unknown): Error {
    try {
      this.checkLock();
    } catch (lost) {
      this.#isLost = true;
      return lost as Error;
    }
    return asFailure(cause);
  }

  get isRecoveryDue(): boolean {
    return this.#failed !== undefined && this.#recovery.isOver;
  }

  /**
   * Reads the store from disk again and continues in new files. After a failed sync, the content of the old files is unknown.
   * After a lost lock, other processes may have them open.
   */
  async recover(): Promise<void> {
    if (this.#isLost) await this.#options.takeLockAgain?.();
    this.#isOutdated ||= this.#isLost;
    this.checkLock();
    this.#isLost = false;
    this.#inUse.replace(await openToWrite({ ...this.#options, isContested: true }));
    if (this.#isOutdated) this.#inUse.deletions += 1;
    this.#isOutdated = false;
    this.#options.onOpen?.();
    this.#recovery.succeeded();
    this.#failed = undefined;
  }

  /** Changes files that are written and synced apart from the log. */
  guard<T>(change: () => Promise<T>): Promise<T> {
    return reportingFailure(async () => {
      this.checkLock();
      const done = await change();
      this.checkLock();
      return done;
    });
  }
}

/** Reports errors of the disk as STORE_FAILED. */
export async function reportingFailure<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asFailure(error);
  }
}

const asFailure = (cause: unknown): Error => (cause instanceof PalimpsestError ? cause : failedBy(cause));

const failedBy = (cause: unknown): PalimpsestError =>
  new PalimpsestError(
    'STORE_FAILED',
    `Expected the disk to keep what is written but it failed: ${(cause as Error).message}; see to the disk and write it again`,
    { cause },
  );

import type { Problem } from '../../store.ts';
import type { GenerationInUse } from '../reading/generation-in-use.ts';
import { Backoff } from './backoff.ts';
import type { Fence } from './fence.ts';

interface CheckpointsOptions {
  readonly inUse: GenerationInUse;
  readonly fence: Fence;
  readonly retryMs: number | undefined;
}

/** Checkpoints in the background. A failed one is retried later and reported by `verify`; the log has everything. */
export class Checkpoints {
  readonly #inUse: GenerationInUse;
  readonly #fence: Fence;
  readonly #retry: Backoff;
  #running: Promise<void> | undefined;
  /** Why the last checkpoint failed. */
  #failed: Error | undefined;

  constructor({ inUse, fence, retryMs }: CheckpointsOptions) {
    this.#inUse = inUse;
    this.#fence = fence;
    this.#retry = new Backoff(retryMs);
  }

  get running(): Promise<void> | undefined {
    return this.#running;
  }

  /** Starts a checkpoint without waiting for it. */
  startIfDue(): void {
    if (this.#running || !this.#inUse.generation.isDue) return;
    if (!this.#retry.isOver || !this.#fence.mayWrite) return;
    this.#running = this.#checkpoint().finally(() => {
      this.#running = undefined;
    });
  }

  async #checkpoint(): Promise<void> {
    try {
      await this.#inUse.generation.checkpoint();
      this.#failed = undefined;
      this.#retry.succeeded();
    } catch (error) {
      this.#failed = error as Error;
      this.#retry.failed();
    }
  }

  get problems(): Problem[] {
    return this.#failed ? [unindexed(this.#failed)] : [];
  }
}

const unindexed = ({ message }: Error): Problem => ({
  what: `the last checkpoint failed: ${message}`,
  remedy: 'nothing is lost; see to the disk, it is tried again',
});

import type { Policy } from '../../plan/policy.ts';
import type { Conversation } from './conversation.ts';
import type { ColdEpoch } from './session-event.ts';

export interface ColdEpochsOptions {
  readonly policy: Policy;
  readonly now: () => number;
  readonly record: (event: ColdEpoch) => Promise<void> | void;
}

/** Masks everything that the policy allows before a request that finds the provider's cache expired. This rewrites no cache. */
export class ColdEpochs<M> {
  readonly #conversation: Conversation<M>;
  readonly #options: ColdEpochsOptions;
  #sentAt: number | undefined;

  constructor(conversation: Conversation<M>, options: ColdEpochsOptions) {
    this.#conversation = conversation;
    this.#options = options;
  }

  async beforeRequest(): Promise<void> {
    const { policy, now, record } = this.#options;
    const { view, replied = '' } = this.#conversation;
    // After a restart of the process, the time of the last reply replaces the time of the last request.
    const idle_ms = now() - (this.#sentAt ?? Date.parse(replied));
    if (!(idle_ms > (policy.cacheLifeMs ?? Number.POSITIVE_INFINITY))) return;
    const masks = view.coldMasks();
    if (masks.length > 0) await record({ type: 'cold_epoch', idle_ms, masks });
  }

  /** Call this right before a request is sent. */
  noteRequest(): void {
    this.#sentAt = this.#options.now();
  }
}

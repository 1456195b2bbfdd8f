import { memoryLimits } from '../../limits.ts';
import { Calibration } from '../../manager/context/calibration.ts';
import { OverheadCache } from '../decide/overhead.ts';
import type { CachedHistory } from './cached-history.ts';
import { Conversation } from './conversation.ts';
import type { GatewayEvent } from './events.ts';

/** The conversations that a gateway keeps in memory. The least recently used are forgotten first. One for each tenant and upstream. */
export class ConversationMemory {
  readonly overhead: OverheadCache;
  readonly #conversations = new Map<string, Conversation>();
  /** Every history with its conversation, the least recently used first. */
  readonly #histories = new Map<CachedHistory, Conversation>();
  readonly #calibration = new Calibration();
  readonly #maxBytes: number;
  #bytes = 0;

  /** Keeps at most so many bytes of requests. */
  constructor(maxBytes: number = memoryLimits.requestBytes) {
    this.#maxBytes = maxBytes;
    this.overhead = new OverheadCache(Math.ceil(maxBytes / 16));
  }

  /** Whether the recorded events of a conversation were loaded. */
  hasEvents(conversation: string): boolean {
    return this.#conversations.get(conversation)?.hasEvents === true;
  }

  /** Adds recorded events; known ones make no difference. */
  learnEvents(conversation: string, events: readonly GatewayEvent[]): void {
    const known = this.conversation(conversation);
    known.hasEvents = true;
    known.learn(events);
  }

  /** A conversation; an empty one at first. */
  conversation(id: string): Conversation {
    const known = this.#conversations.get(id) ?? new Conversation();
    this.#conversations.delete(id);
    this.#conversations.set(id, known);
    this.#forgetOldest();
    return known;
  }

  /** The same, but nothing is kept. */
  peek(id: string): Conversation {
    return this.#conversations.get(id) ?? new Conversation();
  }

  /** The histories of a conversation, the most recently used first. */
  histories(id: string): readonly CachedHistory[] {
    return this.#conversations.get(id)?.histories ?? [];
  }

  /** Keeps a history, in place of its earlier state. */
  keep(id: string, history: CachedHistory): void {
    const conversation = this.conversation(id);
    conversation.histories.unshift(history);
    this.#histories.set(history, conversation);
    this.#bytes += history.size;
    for (const old of conversation.histories.slice(memoryLimits.branchesPerConversation)) this.forget(old);
    for (const old of this.#histories.keys()) {
      if (this.#bytes <= this.#maxBytes) break;
      this.forget(old);
    }
  }

  /** Removes a history until it is kept again: planning may fail in the middle. */
  forget(history: CachedHistory): void {
    const histories = this.#histories.get(history)?.histories;
    histories?.splice(histories.indexOf(history), 1);
    this.#drop(history);
  }

  /** False if another request extended it, or it was evicted, since it was found. */
  holds(history: CachedHistory): boolean {
    return this.#histories.has(history);
  }

  /** Runs not only when a history is kept: a count, or a request whose policy throws, keeps none. */
  #forgetOldest(): void {
    for (const [id, { histories }] of this.#conversations) {
      if (this.#conversations.size <= memoryLimits.conversations) return;
      for (const history of histories) this.#drop(history);
      this.#conversations.delete(id);
    }
  }

  #drop(history: CachedHistory): void {
    if (this.#histories.delete(history)) this.#bytes -= history.size;
  }

  /** The provider's tokens for one of ours. */
  ratio(model = ''): number {
    return this.#calibration.ratio(model);
  }

  /** Learns from the count of a provider. */
  calibrate(model = '', { counted, estimated }: { counted: number; estimated: number }): void {
    if (estimated > LEAST_ESTIMATE) this.#calibration.learn(model, { estimated, real: counted });
  }
}

/** In a smaller request, framing that we do not count would matter too much. */
const LEAST_ESTIMATE = 500;

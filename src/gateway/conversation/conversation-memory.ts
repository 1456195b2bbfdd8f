import { memoryLimits } from '../../limits.ts';
import { Calibration } from '../../manager/calibration.ts';
import { checkOptions, positive } from '../../options.ts';
import { OverheadCache } from '../decide/overhead.ts';
import type { CachedHistory } from './cached-history.ts';
import { Conversation } from './conversation.ts';
import type { GatewayEvent } from './events.ts';

/** Options of `ConversationMemory`. */
export interface MemoryOptions {
  /** How many bytes of requests are remembered. */
  readonly maxBytes?: number;
}

/** The conversations that a gateway remembers. The least recently used are forgotten first. One for each tenant and upstream. */
export class ConversationMemory {
  /** @internal */
  readonly overhead: OverheadCache;
  readonly #conversations = new Map<string, Conversation>();
  /** Every history and whose it is, the least recently used first. */
  readonly #histories = new Map<CachedHistory, Conversation>();
  readonly #calibration = new Calibration();
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(options: MemoryOptions = {}) {
    checkOptions('ConversationMemory', options, { maxBytes: positive });
    this.#maxBytes = options.maxBytes ?? memoryLimits.requestBytes;
    this.overhead = new OverheadCache(Math.ceil(this.#maxBytes / 16));
  }

  /** Whether the recorded events of a conversation were learnt. */
  hasEvents(conversation: string): boolean {
    return this.#conversations.get(conversation)?.hasEvents === true;
  }

  /** Takes in recorded events; those it knows already make no difference. */
  learnEvents(conversation: string, events: readonly GatewayEvent[]): void {
    const known = this.conversation(conversation);
    known.hasEvents = true;
    known.learn(events);
  }

  /** A conversation; an empty one at first. @internal */
  conversation(id: string): Conversation {
    const known = this.#conversations.get(id) ?? new Conversation();
    this.#conversations.delete(id);
    this.#conversations.set(id, known);
    this.#forgetOldest();
    return known;
  }

  /** The same, and nothing is remembered. @internal */
  peek(id: string): Conversation {
    return this.#conversations.get(id) ?? new Conversation();
  }

  /** The histories of a conversation, the one used last first. @internal */
  histories(id: string): readonly CachedHistory[] {
    return this.#conversations.get(id)?.histories ?? [];
  }

  /** Remembers a history, in the place of what was known of it. @internal */
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

  /** Until it is kept again: planning may fail in the middle. @internal */
  forget(history: CachedHistory): void {
    const histories = this.#histories.get(history)?.histories;
    histories?.splice(histories.indexOf(history), 1);
    this.#drop(history);
  }

  /** False where another request went on with it, or it was forgotten, since it was found. @internal */
  holds(history: CachedHistory): boolean {
    return this.#histories.has(history);
  }

  /** Not only where a history is kept: a count, or a request whose policy throws, keeps none. */
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

  /** How many of the provider's tokens there are to one of ours. @internal */
  ratio(model = ''): number {
    return this.#calibration.ratio(model);
  }

  /** Learns from what a provider counted. @internal */
  calibrate(model = '', { counted, estimated }: { counted: number; estimated: number }): void {
    if (estimated > LEAST_ESTIMATE) this.#calibration.learn(model, { estimated, real: counted });
  }
}

/** Framing that we do not count would weigh too much in a small request. */
const LEAST_ESTIMATE = 500;

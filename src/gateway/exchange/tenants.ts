import { recordLimits } from '../../limits.ts';
import { createMemoryStore } from '../../store/memory-store.ts';
import type { Store } from '../../store/store.ts';
import { ConversationMemory } from '../conversation/conversation-memory.ts';
import { LruMap } from '../conversation/lru-map.ts';
import type { GatewayOptions } from '../gateway-options.ts';
import type { Status } from '../receipts/receipt.ts';
import type { Counted } from '../receipts/write-receipt.ts';
import type { Provider } from './route.ts';
import { inTime, StoreGate, TOO_SLOW, wordsOf } from './store-gate.ts';

/** What one tenant has for itself: a store, and what is remembered of conversations at each provider. */
export class Tenants {
  readonly #open: (tenant: string) => Store | Promise<Store>;
  readonly #gates = new Map<string, Promise<StoreGate>>();
  readonly #opened = new Map<string, StoreGate>();
  readonly #memories = new Map<string, ConversationMemory>();
  readonly #counted = new Map<string, LruMap<string, Counted>>();

  constructor(store: GatewayOptions['store']) {
    if (typeof store === 'function') this.#open = store;
    // A store is opened for one tenant: another's texts must not come near it.
    else this.#open = (tenant) => (tenant === DEFAULT_TENANT && store ? store : createMemoryStore());
  }

  /** The store if it is open already. */
  opened(tenant: string): StoreGate | undefined {
    return this.#opened.get(tenant);
  }

  /** Rejects where the store cannot be opened; the next request tries again. */
  gate(tenant: string): Promise<StoreGate> {
    const gate = this.#gates.get(tenant) ?? this.#openGate(tenant);
    this.#gates.set(tenant, gate);
    return gate;
  }

  async #openGate(tenant: string): Promise<StoreGate> {
    try {
      const gate = new StoreGate(await Promise.resolve(tenant).then(this.#open));
      this.#opened.set(tenant, gate);
      return gate;
    } catch (error) {
      this.#gates.delete(tenant);
      throw error;
    }
  }

  memory(tenant: string, provider: Provider): ConversationMemory {
    const key = `${provider} ${tenant}`;
    const memory = this.#memories.get(key) ?? new ConversationMemory();
    this.#memories.set(key, memory);
    return memory;
  }

  /** The last request of each conversation, as the provider counted it. */
  counted(tenant: string): LruMap<string, Counted> {
    const counted = this.#counted.get(tenant) ?? new LruMap(recordLimits.conversations);
    this.#counted.set(tenant, counted);
    return counted;
  }

  /** Of its store, which is opened for that if it is not. */
  async health(tenant: string): Promise<Status['store']> {
    const gate = await inTime(this.gate(tenant).catch(wordsOf));
    if (typeof gate !== 'string') return gate.health();
    return { kind: 'unknown', ok: false, because: gate === 'late' ? TOO_SLOW : gate };
  }
}

export const DEFAULT_TENANT = 'default';

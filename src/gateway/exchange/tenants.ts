import { memoryLimits, recordLimits, requestLimits } from '../../limits.ts';
import { inTime } from '../../store/in-time.ts';
import { ConversationMemory } from '../conversation/conversation-memory.ts';
import { LruMap } from '../conversation/lru-map.ts';
import type { GatewayOptions } from '../gateway-options.ts';
import type { Status } from '../receipts/receipt.ts';
import type { Counted } from '../receipts/write-receipt.ts';
import { type ArmCache, createArmCache } from './arms.ts';
import { createBoundedStore } from './bounded-store.ts';
import type { Provider } from './route.ts';
import { StoreGate, tooSlow, wordsOf } from './store-gate.ts';

/** The stores of the tenants, and their conversations at each provider. */
export class Tenants {
  readonly #open: (tenant: string) => StoreGate | Promise<StoreGate>;
  readonly #gates = new Map<string, Opening>();
  readonly #opened = new Map<string, StoreGate>();
  readonly #memories = new Map<string, ConversationMemory>();
  readonly #arms = new Map<string, ArmCache>();
  readonly #counted = new Map<string, LruMap<string, Counted>>();

  constructor(store: GatewayOptions['store'], memoryStoreBytes: number = memoryLimits.storeBytes) {
    if (typeof store === 'function') this.#open = async (tenant) => new StoreGate(await store(tenant));
    // A store belongs to one tenant: texts of another one must not be put into it.
    else
      this.#open = (tenant) =>
        tenant === DEFAULT_TENANT && store ? new StoreGate(store) : boundedGate(memoryStoreBytes);
  }

  /** The store if it is already open. */
  opened(tenant: string): StoreGate | undefined {
    return this.#opened.get(tenant);
  }

  /** Rejects if the store cannot be opened; the next request tries again. */
  gate(tenant: string): Promise<StoreGate> {
    const opening = this.#gates.get(tenant) ?? { gate: this.#openGate(tenant), since: performance.now() };
    this.#gates.set(tenant, opening);
    return opening.gate;
  }

  /** How long the store has been opening, in milliseconds. */
  openingMs(tenant: string): number {
    const { since = performance.now() } = this.#gates.get(tenant) ?? {};
    return performance.now() - since;
  }

  async #openGate(tenant: string): Promise<StoreGate> {
    try {
      const gate = await Promise.resolve(tenant).then(this.#open);
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

  /** The arms of the sessions that this process has seen. */
  arms(tenant: string): ArmCache {
    const arms = this.#arms.get(tenant) ?? createArmCache();
    this.#arms.set(tenant, arms);
    return arms;
  }

  /** The last request of each conversation, as the provider counted it. */
  counted(tenant: string): LruMap<string, Counted> {
    const counted = this.#counted.get(tenant) ?? new LruMap(recordLimits.conversations);
    this.#counted.set(tenant, counted);
    return counted;
  }

  /** Whether a tenant's store has answered since the start. It is asked as long as it has not. */
  async hasAnswered(tenant: string): Promise<boolean> {
    const gate = await inTime(
      this.gate(tenant).catch(() => undefined),
      requestLimits.storeWaitMs,
      () => undefined,
    );
    return gate !== undefined && (await gate.learnSecret()) === undefined;
  }

  /** The health of a tenant's store, which is opened if it is not open yet. */
  async health(tenant: string): Promise<Status['store']> {
    const { storeWaitMs } = requestLimits;
    const gate = await inTime(this.gate(tenant).catch(wordsOf), storeWaitMs, () => tooSlow(storeWaitMs));
    return typeof gate === 'string' ? { kind: 'unknown', ok: false, because: gate } : gate.health();
  }
}

interface Opening {
  readonly gate: Promise<StoreGate>;
  /** The start, by the clock of `performance`. */
  readonly since: number;
}

function boundedGate(maxBytes: number): StoreGate {
  const store = createBoundedStore(maxBytes);
  return new StoreGate(store, { use: store.use });
}

export const DEFAULT_TENANT = 'default';

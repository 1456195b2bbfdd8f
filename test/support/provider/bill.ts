import { type Prices, priceLists } from '../../../src/plan/prices.ts';
import type { Split } from './prompt-cache.ts';

/** What one request was billed for, in tokens. */
export interface Charge {
  readonly model: string;
  readonly prompt: number;
  readonly split: Split;
  readonly completion: number;
  /** What reading and writing cost at this provider. */
  readonly prices: Prices;
}

/** Everything a provider bills for, in tokens and in tokens at the base price for input. */
export class Bill {
  readonly charges: Charge[] = [];

  add(charge: Charge): void {
    this.charges.push(charge);
  }

  get requests(): number {
    return this.charges.length;
  }

  /** Prompt tokens of all requests. */
  get prompt(): number {
    return this.#sum(({ prompt }) => prompt);
  }

  get read(): number {
    return this.#sum(({ split }) => split.read);
  }

  /** All that was not read from the cache, whether it was written there or not. */
  get written(): number {
    return this.prompt - this.read;
  }

  get completion(): number {
    return this.#sum(({ completion }) => completion);
  }

  /** What the provider asks for: reads at r, writes at w by their lifetime, all other input at 1. */
  get cost(): number {
    return this.#sum(({ split, prices }) => {
      const writes = split.written.map(({ tokens, lifeMs }) => tokens * writePrice(prices, lifeMs));
      return split.read * prices.read + split.fresh + writes.reduce((sum, cost) => sum + cost, 0);
    });
  }

  /** The cost model of the lab: r for what was read, w for all else. */
  costAt({ read, write }: Pick<Prices, 'read' | 'write'>): number {
    return this.read * read + this.written * write;
  }

  #sum(of: (charge: Charge) => number): number {
    return this.charges.reduce((sum, charge) => sum + of(charge), 0);
  }
}

/** Anthropic's two lifetimes have two prices. */
function writePrice(prices: Prices, lifeMs: number): number {
  const isHour = prices.name.startsWith('anthropic') && lifeMs === priceLists['anthropic-1h'].lifeMs;
  return isHour ? priceLists['anthropic-1h'].write : prices.write;
}

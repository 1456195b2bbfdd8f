import type { Subscription } from './price-book.ts';

/** The dollars of a request: as it was sent, and without masks. */
export interface RequestMoney {
  /** For the prompt. */
  readonly sent: number;
  readonly without: number;
  /** For the answer. */
  readonly output: number;
}

/** The dollars of several requests. */
export interface DollarSums extends RequestMoney {
  readonly requests: number;
}

/** Money of many requests. Tokens that the provider counted and tokens that the gateway estimated are kept apart. */
export interface MoneyTotals {
  readonly billed: DollarSums;
  readonly estimated: DollarSums;
  /** Requests of models that are paid by the month. */
  readonly subscription: number;
  /** The largest of their prompts. Absent if no window is known. */
  readonly window?: WindowShares;
  /** Requests of models without a known price. */
  readonly unpriced: number;
}

/** Parts of a model's context window, 0 to 1, that prompts take. */
export interface WindowShares {
  readonly sent: number;
  /** An estimate. */
  readonly without: number;
}

/** The facts of a request that the totals need. */
export interface PricedRequest {
  /** Absent if the price is unknown. */
  readonly money?: RequestMoney | Subscription;
  /** The provider did not count its tokens. */
  readonly estimated: boolean;
  readonly sent: { readonly tokens: number };
  readonly without: { readonly tokens: number };
}

/** Adds in place, because every request adds and few read. */
export class MoneySums {
  readonly #billed = { requests: 0, sent: 0, without: 0, output: 0 };
  readonly #estimated = { requests: 0, sent: 0, without: 0, output: 0 };
  #subscription = 0;
  #window: WindowShares | undefined;
  #unpriced = 0;

  add(request: PricedRequest): void {
    const { money, estimated } = request;
    if (!money) this.#unpriced++;
    else if ('subscription' in money) {
      this.#subscription++;
      this.#window = larger(this.#window, sharesOf(request, money));
    } else {
      const sums = estimated ? this.#estimated : this.#billed;
      sums.requests++;
      sums.sent += money.sent;
      sums.without += money.without;
      sums.output += money.output;
    }
  }

  totals(): MoneyTotals {
    return {
      billed: { ...this.#billed },
      estimated: { ...this.#estimated },
      subscription: this.#subscription,
      ...(this.#window ? { window: this.#window } : {}),
      unpriced: this.#unpriced,
    };
  }
}

const sharesOf = ({ sent, without }: PricedRequest, { window }: Subscription): WindowShares | undefined =>
  window === undefined ? undefined : { sent: sent.tokens / window, without: without.tokens / window };

function larger(a: WindowShares | undefined, b: WindowShares | undefined): WindowShares | undefined {
  if (!a || !b) return a ?? b;
  return { sent: Math.max(a.sent, b.sent), without: Math.max(a.without, b.without) };
}

const NOTHING: DollarSums = { requests: 0, sent: 0, without: 0, output: 0 };

export const NO_MONEY: MoneyTotals = { billed: NOTHING, estimated: NOTHING, subscription: 0, unpriced: 0 };

export function addMoney(a: MoneyTotals, b: MoneyTotals): MoneyTotals {
  const window = larger(a.window, b.window);
  return {
    billed: addSums(a.billed, b.billed),
    estimated: addSums(a.estimated, b.estimated),
    subscription: a.subscription + b.subscription,
    ...(window ? { window } : {}),
    unpriced: a.unpriced + b.unpriced,
  };
}

/** Billed and estimated together, for a sum that says so. */
export function addSums(a: DollarSums, b: DollarSums): DollarSums {
  return {
    requests: a.requests + b.requests,
    sent: a.sent + b.sent,
    without: a.without + b.without,
    output: a.output + b.output,
  };
}

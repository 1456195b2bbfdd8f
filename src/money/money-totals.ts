import type { Subscription } from './price-book.ts';

/** The dollars of a request: as it was sent, and as it would have cost without masks. */
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
  /** Requests of models without a known price. */
  readonly unpriced: number;
}

/** Adds up in place: every request adds, and few read. */
export class MoneySums {
  readonly #billed = { requests: 0, sent: 0, without: 0, output: 0 };
  readonly #estimated = { requests: 0, sent: 0, without: 0, output: 0 };
  #subscription = 0;
  #unpriced = 0;

  /** Undefined: the price is not known. */
  add(money: RequestMoney | Subscription | undefined, { isEstimated }: { readonly isEstimated: boolean }): void {
    if (!money) this.#unpriced++;
    else if ('subscription' in money) this.#subscription++;
    else {
      const sums = isEstimated ? this.#estimated : this.#billed;
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
      unpriced: this.#unpriced,
    };
  }
}

const NOTHING: DollarSums = { requests: 0, sent: 0, without: 0, output: 0 };

export const NO_MONEY: MoneyTotals = { billed: NOTHING, estimated: NOTHING, subscription: 0, unpriced: 0 };

export function addMoney(a: MoneyTotals, b: MoneyTotals): MoneyTotals {
  return {
    billed: addSums(a.billed, b.billed),
    estimated: addSums(a.estimated, b.estimated),
    subscription: a.subscription + b.subscription,
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

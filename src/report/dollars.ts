import { moneyOf } from '../money/money-of.ts';
import type { PriceBook } from '../money/price-book.ts';
import type { DollarsOf } from './sessions.ts';

/** Dollars at the prices of a book. */
export const dollarsAt =
  (book: PriceBook): DollarsOf =>
  ({ model, prices }, prompt) =>
    moneyOf(model, prompt, { prices, book })?.input;

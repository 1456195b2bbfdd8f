import { moneyOf } from '../money/money-of.ts';
import type { PriceBook } from '../money/price-book.ts';
import type { DollarsOf, WindowOf } from './sessions.ts';

/** Dollars at the prices of a book. */
export const dollarsAt =
  (book: PriceBook): DollarsOf =>
  ({ model, prices }, prompt) =>
    moneyOf(model, prompt, { prices, book })?.input;

/** The context windows of models that are paid by the month. */
export const subscriptionWindows =
  (book: PriceBook): WindowOf =>
  ({ model }) => {
    const price = book.priceOf(model);
    return price && 'subscription' in price ? price.window : undefined;
  };

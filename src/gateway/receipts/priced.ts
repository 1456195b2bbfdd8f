import { moneyOf } from '../../money/money-of.ts';
import type { PriceBook } from '../../money/price-book.ts';
import type { Entry } from './receipt-log.ts';

/** The receipt with its money, where the model has a price. */
export function priced({ receipt, multiples }: Entry, book: PriceBook): Entry['receipt'] {
  const { model, sent, without, completionTokens: output } = receipt;
  const price = book.priceOf(model);
  if (!price) return receipt;
  if ('subscription' in price) return { ...receipt, money: price };
  const options = { prices: multiples, book };
  const paid = moneyOf(model, { ...sent, output }, options);
  const unmasked = moneyOf(model, without, options);
  if (!paid || !unmasked) return receipt;
  return { ...receipt, money: { sent: paid.input, without: unmasked.input, output: paid.output } };
}

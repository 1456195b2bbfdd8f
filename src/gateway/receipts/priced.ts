import { type MoneyOptions, moneyOf } from '../../money/money-of.ts';
import type { PriceBook } from '../../money/price-book.ts';
import type { Mutable } from '../mutable.ts';
import type { Entry } from './receipt-log.ts';

/** The receipt with its money, where the model has a price. It is set in place: a copy of a receipt takes longer than the rest. */
export function priced({ receipt, multiples }: Entry, book: PriceBook): Entry['receipt'] {
  const money = moneyFor(receipt, { prices: multiples, book });
  if (money) (receipt as Mutable<Entry['receipt']>).money = money;
  return receipt;
}

function moneyFor(
  { model, sent, without, completionTokens: output }: Entry['receipt'],
  options: Required<MoneyOptions>,
): Entry['receipt']['money'] | undefined {
  const price = options.book.priceOf(model);
  if (!price) return undefined;
  if ('subscription' in price) return price;
  const paid = moneyOf(model, { ...sent, output }, options);
  const unmasked = without === sent ? paid : moneyOf(model, without, options);
  return paid && unmasked && { sent: paid.input, without: unmasked.input, output: paid.output };
}

import { type MoneyOptions, moneyOf, type UsedTokens } from '../../money/money-of.ts';
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
  const used: Mutable<UsedTokens> = { cached: sent.cached, written: sent.written, output };
  if (sent.uncached !== undefined) used.uncached = sent.uncached;
  if (sent.hourWritten !== undefined) used.hourWritten = sent.hourWritten;
  const paid = moneyOf(model, used, options);
  const unmasked = without === sent ? paid : moneyOf(model, without, options);
  return paid && unmasked && { sent: paid.input, without: unmasked.input, output: paid.output };
}

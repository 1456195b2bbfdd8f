import { counted, grouped } from '../text.ts';
import type { DollarSums, MoneyTotals } from './money-totals.ts';

const MINUS = '\u2212';

/** `$12.34`, `$0.12`, `$0.0042`: at least two significant digits, so that a small amount is not shown as zero. */
export function formatDollars(dollars: number): string {
  const size = Math.abs(dollars);
  if (size < 0.000_000_5) return '$0';
  const rounded = Number(size.toPrecision(2));
  const digits = rounded < 0.1 ? rounded.toFixed(1 - Math.floor(Math.log10(rounded))) : size.toFixed(2);
  const [whole = '', fraction] = digits.split('.');
  return `${dollars < 0 ? MINUS : ''}$${grouped(whole)}.${fraction}`;
}

/** Prompt and answer together. */
export const spentOf = ({ sent, output }: Pick<DollarSums, 'sent' | 'output'>): number => sent + output;

/**
 * `$1.20 billed for 40 of 52 requests; 12 requests have no known price`. Empty if there was no request. Tokens that the provider
 * counted are billed; the others are estimated.
 */
export function whatIsPriced(money: MoneyTotals): string {
  const { billed, estimated, subscription, unpriced } = money;
  const kinds = [...kindOf(billed, 'billed'), ...kindOf(estimated, 'estimated')];
  const priced = billed.requests + estimated.requests;
  const all = priced + subscription + unpriced;
  const of = priced === all ? requests(all) : `${grouped(priced)} of ${requests(all)}`;
  return [
    ...(priced > 0 ? [`${kinds.join(' and ')} for ${of}`] : []),
    ...(unpriced > 0 ? [`${requests(unpriced)} ${unpriced === 1 ? 'has' : 'have'} no known price`] : []),
    ...(subscription > 0
      ? [`${requests(subscription)} ${subscription === 1 ? 'is' : 'are'} paid by subscription`]
      : []),
  ].join('; ');
}

const kindOf = (sums: DollarSums, kind: string): string[] =>
  sums.requests > 0 ? [`${formatDollars(spentOf(sums))} ${kind}`] : [];

const requests = (count: number): string => counted(count, 'request');

import type { Interval } from './interval.ts';
import type { CostUnit } from './sessions.ts';

/** `24 %`; below one per cent with a digit more. */
export function percent(share: number): string {
  const digits = percentDigits(share);
  return `${digits} %`;
}

/** `11 to 35 %` */
export const percentRange = ({ low, high }: Interval): string => `${percentDigits(low)} to ${percentDigits(high)} %`;

function percentDigits(share: number): string {
  const value = 100 * share;
  // An interval of a few sessions may end anywhere: the digits would say more than is known.
  if (value < -999) return 'below −999';
  if (value > 999) return 'above 999';
  const digits = Math.abs(value) < 9.5 && Math.abs(value) >= 0.05 ? value.toFixed(1) : value.toFixed(0);
  return minus(digits.replace(/^-0(?:\.0)?$/, '0'));
}

/** `+3 %`, `−4 %` */
export const signedPercent = (change: number): string => (change > 0 ? '+' : '') + percent(change);

/** Points: `0.4` for 0.004. */
export const points = (share: number): string =>
  minus((100 * share).toFixed(Math.abs(share) < 0.0995 ? 1 : 0).replace(/^-0(?:\.0)?$/, '0'));

export const pointRange = ({ low, high }: Interval): string => `${points(low)} to ${points(high)}`;

/** `$12.30`, `$0.0042`, `5.2k tokens` */
export function cost(amount: number, unit: CostUnit): string {
  return unit === 'dollars' ? `$${dollarDigits(amount)}` : `${tokenDigits(amount)} tokens`;
}

/** `$0.42 to 0.55` */
export function costRange({ low, high }: Interval, unit: CostUnit): string {
  return unit === 'dollars'
    ? `$${dollarDigits(low)} to ${dollarDigits(high)}`
    : `${tokenDigits(low)} to ${tokenDigits(high)} tokens`;
}

function dollarDigits(amount: number): string {
  if (amount !== 0 && Math.abs(amount) < 0.995) return minus(Number(amount.toPrecision(2)).toString());
  return minus(grouped(amount.toFixed(2)));
}

function tokenDigits(amount: number): string {
  const size = Math.abs(amount);
  if (size < 999.5) return minus(amount.toFixed(0));
  if (size < 9950) return minus(`${(amount / 1000).toFixed(1)}k`);
  if (size < 999_500) return minus(`${(amount / 1000).toFixed(0)}k`);
  return minus(`${(amount / 1e6).toFixed(1)}M`);
}

/** `1 session`, `1,234 sessions` */
export const count = (n: number, noun: string): string => `${grouped(n)} ${noun}${n === 1 ? '' : 's'}`;

/** `1,234` */
export const grouped = (n: number | string): string => `${n}`.replace(/\B(?<!\.\d*)(?=(?:\d{3})+(?!\d))/g, ',');

const minus = (digits: string): string => digits.replace('-', '−');

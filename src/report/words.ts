import { formatDollars } from '../money/show-money.ts';
import { counted, grouped } from '../text.ts';
import type { Interval } from './interval.ts';
import type { EstimateError, HarmMeasure, Level, Report, Saving } from './report.ts';
import type { Arm } from './request-record.ts';
import type { CostUnit, LeftOut, Range } from './sessions.ts';

/** `24 %`; below one per cent with one more digit. */
export function percent(share: number): string {
  const digits = percentDigits(share);
  return `${digits} %`;
}

/** `11 to 35 %` */
export const percentRange = ({ low, high }: Interval): string => `${percentDigits(low)} to ${percentDigits(high)} %`;

function percentDigits(share: number): string {
  const value = 100 * share;
  // An interval of a few sessions may end anywhere: exact digits would suggest too much.
  if (value < -999) return 'below −999';
  if (value > 999) return 'above 999';
  const digits = Math.abs(value) < 9.5 && Math.abs(value) >= 0.05 ? value.toFixed(1) : value.toFixed(0);
  return minus(digits.replace(/^-0(?:\.0)?$/, '0'));
}

/** `+3 %`, `−4 %`, `above +999 %` */
const signedPercent = (change: number): string =>
  change > 0 ? percent(change).replace(/^(above )?/, '$1+') : percent(change);

/** Points: `0.4` for 0.004. */
export const points = (share: number): string =>
  minus((100 * share).toFixed(Math.abs(share) < 0.0995 ? 1 : 0).replace(/^-0(?:\.0)?$/, '0'));

const pointRange = ({ low, high }: Interval): string => `${points(low)} to ${points(high)}`;

/** `$12.30`, `$0.0042`, `5.2k tokens` */
export const cost = (amount: number, unit: CostUnit): string =>
  unit === 'dollars' ? formatDollars(amount) : `${tokenDigits(amount)} tokens`;

/** `$0.42 to $0.55`, `4.1k to 5.2k tokens`, `$0 to above $4.80` */
export function costRange({ value, low, high }: Interval, unit: CostUnit): string {
  const from = unit === 'dollars' ? formatDollars(low) : tokenDigits(low);
  // One giant session can put the end anywhere.
  const most = MOST_TIMES * value;
  return `${from} to ${high > most ? `above ${cost(most, unit)}` : cost(high, unit)}`;
}

const MOST_TIMES = 10;

function tokenDigits(amount: number): string {
  const size = Math.abs(amount);
  if (size < 999.5) return minus(amount.toFixed(0));
  if (size < 9950) return minus(`${(amount / 1000).toFixed(1)}k`);
  if (size < 999_500) return minus(`${(amount / 1000).toFixed(0)}k`);
  return minus(`${(amount / 1e6).toFixed(1)}M`);
}

const minus = (digits: string): string => digits.replace('-', '−');

export const ARM_TITLES: Readonly<Record<Arm, string>> = {
  treated: 'with masking',
  'held-out': 'held out, untouched',
  shadow: 'shadow, untouched',
};

/** `$0.22 ($0.19 to $0.26)` */
export const levelWords = ({ value, interval }: Level, unit: CostUnit): string =>
  cost(value, unit) + (interval ? ` (${costRange(interval, unit)})` : '');

/** The titles of the savings, the most informative first. */
export const SAVING_TITLES = {
  sameWork: 'for the same work',
  perSession: 'per session, whatever its length',
  perRequest: 'per request',
} as const;

/** `22 % (6.0 to 35 %)`. A guess from too few sessions is not shown: readers would remember it. */
export function savingWords({ value, interval, leastSessions }: Saving): string {
  if (value === undefined) return 'nothing to compare';
  if (!interval) return `too few: needs ${leastSessions} sessions in each arm`;
  return `${percent(value)} (${percentRange(interval)})`;
}

/** A measure in one of the arms: `11.9`, `3.4 %`. */
export function measureWords({ name, kind }: HarmMeasure, value: number | undefined, unit: CostUnit): string {
  if (value === undefined || !Number.isFinite(value)) return '–';
  if (kind === 'share') return percent(value);
  if (name === 'size') return cost(value, unit);
  return value < 99.95 ? value.toFixed(1) : grouped(value.toFixed(0));
}

/** `+17 % (−30 to 96 %)`, `+0.2 points (−1.1 to 1.5)`, or why there is none. */
export function measureChangeWords({ kind, change, note }: HarmMeasure): string {
  if (!change) return note ?? '';
  if (kind !== 'share') return `${signedPercent(change.value)} (${percentRange(change)})`;
  return `${change.value > 0 ? '+' : ''}${points(change.value)} points (${pointRange(change)})`;
}

export function wouldShow({ kind, wouldShow: least }: HarmMeasure): string {
  if (least === undefined) return '';
  return kind === 'share' ? `+${points(least)} points` : signedPercent(least);
}

/** `8.7 % too low (−25 to 11 %)` */
export function offWords({ offBy, interval }: EstimateError): string {
  const side = offBy < 0 ? 'too low' : 'too high';
  return `${percent(Math.abs(offBy))} ${side}${interval ? ` (off by ${percentRange(interval)})` : ''}`;
}

/** How costs are counted if a model has no price. Empty if all have one. */
export function unpricedWords({ unit, unpricedRequests: n }: Pick<Report, 'unit' | 'unpricedRequests'>): string {
  const used = `${counted(n, 'request')} used a model without a price per token`;
  if (unit === 'tokens') return `Tokens are counted at the base price of input; ${used} (--price-file).`;
  return n === 0 ? '' : `${used}: ${n === 1 ? 'its' : 'their'} cost is not counted (--price-file).`;
}

/** The part of the context window that subscriptions used. Empty if there is none. */
export function windowWords({ arms }: Pick<Report, 'arms'>): string {
  const shares = arms.flatMap(({ arm, windowShare }) =>
    windowShare === undefined ? [] : [`${percent(windowShare)} ${ARM_TITLES[arm]}`],
  );
  if (shares.length === 0) return '';
  return `Share of the context window, mean of requests paid by subscription: ${shares.join('; ')}.`;
}

/** Whether the intervals hold for repeated looks. */
export const lookWords = ({ isMoving = false }: Range): string =>
  isMoving
    ? 'for one look only; for daily looks, take a fixed start (palimpsest report --since 2026-11-01)'
    : 'however often you look while sessions arrive';

/** Damaged records of requests, and how to look at them. */
export const damagedWords = (records: number): string =>
  `${counted(records, 'damaged record')} of requests ${records === 1 ? 'is' : 'are'} in no figure: palimpsest store verify says where.`;

/** The sessions and requests that are not compared, each with its reason. */
export function leftOutWords(leftOut: LeftOut): string[] {
  const words: readonly (readonly [number, string, string])[] = [
    [leftOut.justBegan, 'session', 'began in the last hour and may still run'],
    [leftOut.beganBefore, 'session', 'began before this time or in another store'],
    [leftOut.severalArms, 'session', 'had requests in more than one arm'],
    [leftOut.notDrawn, 'session', 'with masking began where nothing was held out'],
    [leftOut.otherShare, 'session', 'began while another share was held out'],
    [leftOut.neverBilled, 'session', 'got no usage from the provider'],
    [leftOut.unbilledRequests, 'request', 'without usage from the provider: no cost is counted for them'],
    [leftOut.failedRequests, 'request', 'failed and cost nothing'],
  ];
  return words.flatMap(([n, noun, reason]) => (n > 0 ? [`${counted(n, noun)} ${reason}`] : []));
}

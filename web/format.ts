import { BY_MODEL, TOKENS } from '../src/lab/compare.ts';

const MINUS = '\u2212';
/** Keeps a number and its sign together, and is narrower than a word space. */
const THIN = '\u202f';
const NOTHING = '–';

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat('en-US', { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const hundredths = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** 1,234 */
export function formatCount(count: number | null | undefined): string {
  return isNumber(count) ? signed(whole.format(count)) : NOTHING;
}

/** 999, 9.9k, 1,234k, 12.3M */
export function formatTokens(tokens: number | null | undefined): string {
  if (!isNumber(tokens)) return NOTHING;
  if (Math.abs(tokens) < 999.5) return signed(whole.format(tokens));
  if (Math.abs(tokens) < 9950) return signed(`${tenths.format(tokens / 1000)}k`);
  if (Math.abs(tokens) < 9_999_500) return signed(`${whole.format(tokens / 1000)}k`);
  return signed(`${tenths.format(tokens / 1e6)}M`);
}

/** A change: −0.314 is −31 %. Below one per cent with one more digit, so that a small change is not shown as zero. */
export function formatChange(share: number | null | undefined): string {
  if (!isNumber(share)) return NOTHING;
  const percent = share * 100;
  const digits = Math.abs(percent) < 0.95 ? tenths.format(percent) : whole.format(percent);
  if (Number(digits) === 0) return `0${THIN}%`;
  return `${percent > 0 ? '+' : ''}${signed(digits)}${THIN}%`;
}

/** A part of a whole: 0.714 is 71 %. */
export function formatShare(share: number | null | undefined): string {
  return isNumber(share) ? `${signed(whole.format(share * 100))}${THIN}%` : NOTHING;
}

/** A share as someone set it: 0.4 is 40 %, 0.005 is 0.5 %. */
export function formatExactShare(share: number): string {
  return `${Number((share * 100).toPrecision(6))}${THIN}%`;
}

/** 5.6 */
export function formatRate(rate: number | null | undefined): string {
  return isNumber(rate) ? signed(tenths.format(rate)) : NOTHING;
}

/** `1 run`, `1,234 runs` */
export function formatPlural(count: number, one: string): string {
  return `${formatCount(count)} ${one}${count === 1 ? '' : 's'}`;
}

/** 0.42 ms, 4.2 ms, 42 ms, 4.2 s */
export function formatMs(ms: number | null | undefined): string {
  if (!isNumber(ms)) return NOTHING;
  if (ms < 0.995) return `${hundredths.format(ms)}${THIN}ms`;
  if (ms < 9.95) return `${tenths.format(ms)}${THIN}ms`;
  if (ms < 999.5) return `${whole.format(ms)}${THIN}ms`;
  return `${tenths.format(ms / 1000)}${THIN}s`;
}

/** 999 B, 9.9 KB, 1,234 KB, 12.3 MB */
export function formatBytes(bytes: number | null | undefined): string {
  if (!isNumber(bytes)) return NOTHING;
  if (bytes < 1000) return `${whole.format(bytes)}${THIN}B`;
  if (bytes < 9950) return `${tenths.format(bytes / 1000)}${THIN}KB`;
  if (bytes < 9_999_500) return `${whole.format(bytes / 1000)}${THIN}KB`;
  return `${tenths.format(bytes / 1e6)}${THIN}MB`;
}

/** How long ago: `just now`, `40 s ago`, `3 min ago`, `2 h ago`, `5 d ago`. */
export function formatAgo(ms: number | null | undefined): string {
  if (!isNumber(ms)) return NOTHING;
  const seconds = ms / 1000;
  if (seconds < 10) return 'just now';
  if (seconds < 60) return `${Math.floor(seconds / 10) * 10}${THIN}s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}${THIN}min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}${THIN}h ago`;
  return `${whole.format(Math.floor(seconds / 86_400))}${THIN}d ago`;
}

/** `at anthropic-5m prices`. The price list `none` is a provider without a prompt cache. */
export function atPrices(prices: string): string {
  if (prices === BY_MODEL) return 'at the prices of each model';
  if (prices === TOKENS) return 'in tokens';
  return prices === 'none' ? 'without a prompt cache' : `at ${prices} prices`;
}

/** The end of a path, its most informative part: `…/django-11099/run.jsonl`. */
export function formatPath(path: string): string {
  const parts = path.split(/[/\\]/).filter((part) => part !== '');
  return parts.length > 2 ? `…/${parts.slice(-2).join('/')}` : path;
}

/** JSON has no NaN: it arrives as null. */
const isNumber = (value: number | null | undefined): value is number => Number.isFinite(value);

const signed = (digits: string): string => digits.replace(/^-0$/, '0').replace('-', MINUS);

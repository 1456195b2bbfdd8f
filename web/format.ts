const MINUS = '\u2212';
/** Keeps a number and its sign together, and is narrower than a word space. */
const THIN = '\u202f';
const NOTHING = '–';

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat('en-US', { minimumFractionDigits: 1, maximumFractionDigits: 1 });

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

/** A change: −0.314 is −31 %. Below one per cent with a digit more, so that little is not shown as nothing. */
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

/** 5.6 */
export function formatRate(rate: number | null | undefined): string {
  return isNumber(rate) ? signed(tenths.format(rate)) : NOTHING;
}

/** `1 run`, `1,234 runs` */
export function formatPlural(count: number, one: string): string {
  return `${formatCount(count)} ${one}${count === 1 ? '' : 's'}`;
}

/** The end of a path, which tells most: `…/django-11099/run.jsonl`. */
export function formatPath(path: string): string {
  const parts = path.split(/[/\\]/).filter((part) => part !== '');
  return parts.length > 2 ? `…/${parts.slice(-2).join('/')}` : path;
}

/** JSON has no NaN: what could not be divided arrives as null. */
const isNumber = (value: number | null | undefined): value is number => Number.isFinite(value);

const signed = (digits: string): string => digits.replace(/^-0$/, '0').replace('-', MINUS);

const HOUR_MS = 3_600_000;
const UNITS: Readonly<Record<string, number>> = { h: HOUR_MS, d: 24 * HOUR_MS, w: 7 * 24 * HOUR_MS };

/** A time as people write it: `7d` ago, `2026-11-01`, `2026-11-01T08:00Z`. In ms since the epoch; undefined for anything else. */
export function readTime(text: string, now: number): number | undefined {
  const [, amount = '', unit = ''] = /^(\d{1,6})([hdw])$/.exec(text) ?? [];
  if (unit) return Math.max(0, now - Number(amount) * (UNITS[unit] ?? 0));
  if (!/^\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|[+-]\d{2}:?\d{2})?)?$/.test(text) || !isDay(text.slice(0, 10)))
    return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) || time < 0 ? undefined : time;
}

/** `Date.parse` reads 2026-02-30 as March 2. */
function isDay(text: string): boolean {
  const day = new Date(`${text}T00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}

/** A time that moves along with the clock. */
export const isMoving = (text: string): boolean => /^\d+[hdw]$/.test(text);

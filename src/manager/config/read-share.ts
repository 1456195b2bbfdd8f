/** `10%`, `0.5 %`: 0 to 100, with a sign behind it. */
export const SHARE_PATTERN = /^(?:100|\d{1,2}(?:\.\d+)?) ?%$/;

/** A share of 0 to 1, from `10%` or a number of 0 to 1. Undefined for anything else. */
export function readShare(share: string | number): number | undefined {
  const text = String(share).trim();
  if (SHARE_PATTERN.test(text)) return Number.parseFloat(text) / 100;
  const value = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN;
  return value >= 0 && value <= 1 ? value : undefined;
}

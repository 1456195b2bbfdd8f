/** `500MB`, `10 GB`, `2TiB`, or a number of bytes. */
export const SIZE_PATTERN = /^\d+(?:\.\d+)? ?(?:[kKMGT]i?)?B?$/;

const POWERS = ['', 'K', 'M', 'G', 'T'];

/** Bytes of a size. Units are powers of 1,000, those with an i of 1,024. Undefined for anything else. */
export function readSize(size: string | number): number | undefined {
  const text = String(size);
  if (!SIZE_PATTERN.test(text)) return undefined;
  const [, amount = '', unit = '', isBinary] = /^([\d.]+) ?([kKMGT]?)(i?)/.exec(text) ?? [];
  const bytes = Math.floor(Number(amount) * (isBinary ? 1024 : 1000) ** POWERS.indexOf(unit.toUpperCase()));
  return bytes > 0 ? bytes : undefined;
}

/** The cap at which the parts of all sizes above the cap add up to the excess. */
export function commonCap(sizes: readonly number[], excess: number): number {
  const sorted = [...sizes].sort((a, b) => b - a);
  let above = 0;
  for (const [i, size] of sorted.entries()) {
    above += size;
    const cap = Math.floor((above - excess) / (i + 1));
    if (cap >= (sorted[i + 1] ?? 0)) return cap;
  }
  return 0;
}

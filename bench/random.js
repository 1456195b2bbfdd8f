/** The same numbers for the same seed: `random(n)` is a whole number from 0 to n - 1. */
export function createRandom(seed) {
  let state = (seed * 2654435761 + 1) >>> 0;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 4294967296) * limit);
  };
}

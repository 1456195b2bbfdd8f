/** Choices that are the same for the same seed. */
export interface Random {
  /** From 0 up to 1. */
  next(): number;
  /** A whole number, both ends included. */
  between(least: number, most: number): number;
  pick<T>(from: readonly T[]): T;
  /** Draws from a shuffled list, which is shuffled again when it is empty: everything comes, in any order. */
  deck<T>(of: readonly T[]): () => T;
  /** Another source, whose choices do not depend on how many this one has made meanwhile. */
  fork(name: string): Random;
}

/** mulberry32. */
export function createRandom(seed: number): Random {
  let state = seed | 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    between: (least, most) => least + Math.floor(next() * (most - least + 1)),
    pick: <T>(from: readonly T[]) => from[Math.floor(next() * from.length)] as T,
    deck: <T>(of: readonly T[]) => {
      const left: T[] = [];
      return () => {
        if (left.length === 0) left.push(...of);
        return left.splice(Math.floor(next() * left.length), 1)[0] as T;
      };
    },
    fork: (name) =>
      createRandom(Array.from(name).reduce((hash, char) => Math.imul(hash ^ char.charCodeAt(0), 0x01000193), seed)),
  };
}

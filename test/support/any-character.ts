import fc from 'fast-check';

const FIRST_HALF = 0xd800;
const HALVES = 0x800;

/**
 * Every character but half of a pair, as `unit` of `fc.string`: the samples of `unit: 'binary'`. That one makes a table of all characters,
 * which takes each process half a second and 85 MB.
 */
export const anyCharacter = fc.nat({ max: 0x10ffff - HALVES }).map(
  (place) => String.fromCodePoint(place < FIRST_HALF ? place : place + HALVES),
  (character) => {
    const [only, more] = typeof character === 'string' ? character : '';
    if (only === undefined || more !== undefined || !only.isWellFormed()) throw new Error('Expected one character');
    const code = only.codePointAt(0) as number;
    return code < FIRST_HALF ? code : code - HALVES;
  },
);

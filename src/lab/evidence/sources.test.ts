import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anywhere, asWord, Sources } from './sources.ts';

const text = fc.string({ unit: fc.constantFrom('a', 'b', '_', '.', ' ', '\n', '€', '😀'), maxLength: 300 });

describe('Sources', () => {
  // The filter in front of the search must never say no where the search would say yes.
  it('finds what a plain search of every text finds', () => {
    fc.assert(
      fc.property(fc.array(text), fc.array(text), text, fc.nat(), (permanent, observations, other, place) => {
        const all = [...permanent, ...observations, other].join('\n');
        const quote = all.slice(place % all.length, (place % all.length) + 12);
        const sources = new Sources();
        for (const each of permanent) sources.addPermanent(each);
        for (const each of observations) sources.addObservation(each);
        for (const [fits, holds] of [
          [anywhere, (each: string) => each.includes(quote)],
          [asWord, (each: string) => hasWord(each, quote)],
        ] as const) {
          const isSupported = permanent.some(holds);
          const holders = observations.flatMap((each, i) => (holds(each) ? [i] : [])).reverse();
          const expected = { isSupported, holders: isSupported ? [] : holders.slice(0, 64) };
          if (quote.length >= 8) expect(sources.find(quote, fits)).toEqual(expected);
        }
      }),
    );
  });

  it('takes no longer for a text that nearly holds the quote everywhere', () => {
    const sources = new Sources();
    sources.addObservation(`${'some_name_'.repeat(100_000)} some_name`);
    expect(sources.find('some_name', asWord).holders).toEqual([0]);
  });
});

/** `RegExp` with look-around is slow and plainly right. */
function hasWord(text: string, quote: string): boolean {
  const escaped = quote.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`(?<![A-Za-z0-9_])${escaped}(?![A-Za-z0-9_])`).test(text);
}

import { describe, expect, it } from 'vitest';
import { IndexedTexts, innerWords, wholeWords } from './indexed-texts.ts';

function searched(texts: readonly string[], words: readonly number[], most = 64): string[] {
  const index = new IndexedTexts();
  for (const text of texts) index.add(text);
  const asked: string[] = [];
  index.newest(
    words,
    ({ text }) => {
      asked.push(text);
      return true;
    },
    most,
  );
  return asked;
}

describe('texts by their words', () => {
  const texts = ['see src/queue.ts', 'see src/index.ts', 'src and index', 'nothing'];

  it('are searched only where the rarest word of a quote is, newest first', () => {
    expect(searched(texts, wholeWords('src/queue.ts'))).toEqual(['see src/queue.ts']);
    expect(searched(texts, wholeWords('src/index'))).toEqual(['src and index', 'see src/index.ts']);
    expect(searched(texts, wholeWords('src/unknown.ts'))).toEqual([]);
  });

  it('are searched no further than needed', () => {
    expect(searched(texts, wholeWords('src'), 1)).toEqual(['src and index']);
  });

  it('are all searched if a quote has no word that must be in them', () => {
    // Both words may go on to the left or the right.
    expect(searched(texts, innerWords('rc/queu'))).toEqual(texts.toReversed());
    expect(searched(texts, innerWords('c/queue.t'))).toEqual(['see src/queue.ts']);
  });
});

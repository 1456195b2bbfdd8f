import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { corpusHistories, hasCorpus } from '../../test/support/corpus.ts';
import { samples } from '../../test/support/format-samples.ts';
import { coverageOf, growingCoverage, heldChars, readsTooLittle } from './coverage.ts';
import { formatByName } from './detect-format.ts';

describe('the coverage of a list', () => {
  it.each(samples)('is full in its own format: $name', ({ name, messages }) => {
    const coverage = coverageOf(formatByName(name), messages);
    expect(coverage.read).toBeGreaterThan(0.9 * coverage.held);
    expect(coverage.pairs).toBe(2);
    expect(readsTooLittle(coverage)).toBe(false);
  });

  it.skipIf(!hasCorpus)('is never too little on real histories in their own format', { timeout: 60_000 }, () => {
    for (const { name, format, messages } of corpusHistories()) {
      const withoutPairs = { ...coverageOf(formatByName(format), messages), pairs: 0 };
      expect(readsTooLittle(withoutPairs), name).toBe(false);
    }
  });

  it('holds at most a character for each byte of JSON, whatever the text', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        expect(heldChars(value)).toBeLessThanOrEqual(Buffer.byteLength(JSON.stringify(value)));
      }),
    );
  });

  it('is measured once for each message of a list that grows', () => {
    let reads = 0;
    const told = (content: string): object =>
      new Proxy(
        { role: 'user', content },
        {
          ownKeys(target) {
            reads += 1;
            return Reflect.ownKeys(target);
          },
        },
      );
    const format = formatByName('openai-chat');
    const list: object[] = [];
    for (let turn = 0; turn < 50; turn++) {
      list.push(told(`Step ${turn} of the work.`));
      const { held, read, pairs, unknown } = growingCoverage(format, [...list]);
      expect(reads).toBe(turn + 1);
      expect({ held, read, pairs, unknown, worst: 0 }).toMatchObject({ held: read, pairs: 0, unknown: 0 });
    }
  });

  it('is measured afresh in another format, and where the list was shortened or changed', () => {
    const list = ['One two.', 'Three four.', 'Five six.'].map((content) => ({ role: 'user', content }));
    const total = (format: 'chat' | 'gemini', messages: readonly object[]) => {
      const { held, read } = growingCoverage(formatByName(format), messages);
      return [held, read];
    };
    expect(total('chat', list)).toEqual([28, 28]);
    expect(total('gemini', list)).toEqual([28, 0]);
    expect(total('chat', list.slice(0, 2))).toEqual([19, 19]);
    expect(
      total('chat', [list[0] as object, { role: 'user', content: [{ type: 'text', text: 'Seven eight.' }] }]),
    ).toEqual([20, 8]);
  });
});

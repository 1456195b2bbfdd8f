import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loneSurrogates } from '../../laws/text.ts';
import { countTokens } from '../../tokens/count-tokens.ts';
import { estimateTokens } from '../../tokens/estimate-tokens.ts';
import { isTruncated } from '../truncate-result.ts';
import { cleanResult } from './clean.ts';
import { isShortenedShellOutput, shortenShellOutput } from './shell-output.ts';

const runs = { numRuns: Number(process.env.PALIMPSEST_RUNS ?? 300) };
const handle = ' · recall p_x';
const log = (lines: number, failures: Readonly<Record<number, string>> = {}): string =>
  Array.from({ length: lines }, (_, i) => failures[i + 1] ?? `step ${i + 1} of the build went well`).join('\n');

describe('shortenShellOutput', () => {
  it('leaves alone what fits', () => {
    expect(shortenShellOutput(log(100))).toBeUndefined();
    expect(shortenShellOutput('')).toBeUndefined();
  });

  it('keeps the first lines, the last lines and the failures between them, in the order of the output', () => {
    const text = log(2000, { 900: 'Traceback (most recent call last):', 1200: 'src/a.ts: Error: it broke' });
    const lines = shortenShellOutput(text, { handle })?.split('\n') ?? [];
    const gaps = lines.flatMap((line, i) => (/^\[… \d+ lines\]$/.test(line) ? [i] : []));
    expect(gaps).toHaveLength(3);
    expect(lines[0]).toBe('step 1 of the build went well');
    expect(lines.slice((gaps[0] ?? 0) + 1, gaps[1])).toEqual([
      'step 899 of the build went well',
      'Traceback (most recent call last):',
      'step 901 of the build went well',
      'step 902 of the build went well',
    ]);
    expect(lines.slice((gaps[1] ?? 0) + 1, gaps[2])[1]).toBe('src/a.ts: Error: it broke');
    expect(lines.at(-2)).toBe('step 2000 of the build went well');
    expect(lines.at(-1)).toBe(
      `[truncated: kept first+last+failures ~2000 of ~${estimateTokens(text)} tokens (shell) · recall p_x]`,
    );
  });

  it('gives about 20 % to the first lines and 40 % to the last', () => {
    const shortened = shortenShellOutput(log(5000)) ?? '';
    const [head = '', tail = ''] = shortened.split(/\n\[… \d+ lines\]\n/);
    expect(estimateTokens(head) / 2000).toBeCloseTo(0.2, 1);
    expect(estimateTokens(tail) / 2000).toBeCloseTo(0.4, 1);
  });

  it('prefers the last failures where there are too many', () => {
    const text = Array.from({ length: 3000 }, (_, i) => `error ${i} in a file of the project`).join('\n');
    const kept = [...(shortenShellOutput(text) ?? '').matchAll(/^error (\d+)/gm)].map(([, n]) => Number(n));
    const middle = kept.findIndex((n, i) => n !== i);
    // Failures are all behind the only gap.
    expect(kept.slice(middle)).toEqual(
      Array.from({ length: kept.length - middle }, (_, i) => 3000 - (kept.length - middle) + i),
    );
  });

  it('fills the limit with failures that are far apart', () => {
    const failures = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [i * 20 + 10, `Error ${i}`]));
    const shortened = shortenShellOutput(log(3000, failures), { maxTokens: 8000, counter: (text) => text.length });
    expect(shortened?.length).toBeGreaterThan(7700);
  });

  it('keeps a failure alone where there is no room for the lines beside it', () => {
    const text = log(3000, {
      1500: 'Error: the second',
      1501: 'x'.repeat(399),
      1502: 'y'.repeat(399),
      1000: 'Error: the first',
      999: 'z'.repeat(399),
    });
    const shortened = shortenShellOutput(text, { maxTokens: 2400, counter: (part) => part.length }) ?? '';
    expect(shortened.split('\n').filter((line) => line.startsWith('Error'))).toEqual([
      'Error: the first',
      'Error: the second',
    ]);
  });

  it('shows the failure in the middle of a long line', () => {
    const line = `{"level":50,${'"field":1,'.repeat(60)}"msg":"connect failed: ECONNREFUSED",${'"more":2,'.repeat(60)}"end":1}`;
    const shown = shortenShellOutput(log(2000, { 900: line }))
      ?.split('\n')
      .find((shownLine) => shownLine.startsWith('{"level":50'));
    expect(shown).toMatch(
      /^\{"level":50,.* \[… \d+ characters\] .*failed: ECONNREFUSED.* \[… \d+ characters\] .*"end":1\}$/,
    );
    expect(shown?.length).toBeLessThanOrEqual(400);
    const json = JSON.stringify({ output: `${log(900)}\n✗ it broke\n${log(900)}` });
    expect(shortenShellOutput(json)).toContain('✗ it broke');
  });

  it('clips long lines in the middle', () => {
    const text = log(2000, { 1: `start ${'x'.repeat(5000)} end` });
    const first = shortenShellOutput(text)?.split('\n')[0] ?? '';
    expect(first).toMatch(/^start x+ \[… \d+ characters\] x+ end$/);
    expect(first.length).toBeLessThanOrEqual(400);
  });

  it('uses the room where the lines are few and long', () => {
    const json = JSON.stringify({ output: log(2000), exit_code: 1 });
    const shortened = shortenShellOutput(json, { handle }) ?? '';
    expect(estimateTokens(shortened)).toBeGreaterThan(1900);
    expect(shortened).toMatch(/^\{"output":"step 1 .*"exit_code":1\}\n\[truncated: kept /s);
  });

  it('is undefined where even the last line is too long', () => {
    expect(shortenShellOutput(log(2000), { maxTokens: 10 })).toBeUndefined();
  });

  it('never exceeds the limit or the text, counts every line, splits no character', () => {
    const line = fc.oneof(
      fc.constantFrom('', 'ok', 'Error: x', '✗ 漢字', '\r', '😀'.repeat(300), `cannot ${'y'.repeat(900)}`),
      fc.string({ unit: 'grapheme', maxLength: 60 }).filter((text) => !/\n|\[…/.test(text)),
    );
    const counters = [estimateTokens, countTokens, (text: string) => text.length, (text: string) => text.length ** 1.1];
    fc.assert(
      fc.property(
        fc.array(line, { minLength: 1, maxLength: 300 }),
        fc.integer({ min: 20, max: 600 }),
        fc.constantFrom(...counters),
        (lines, maxTokens, counter) => {
          const text = lines.join('\n');
          const shortened = shortenShellOutput(text, { maxTokens, counter, handle });
          if (shortened === undefined) return;
          expect(counter(shortened)).toBeLessThanOrEqual(maxTokens);
          expect(shortened.length).toBeLessThan(text.length);
          expect(loneSurrogates(shortened)).toBeLessThanOrEqual(loneSurrogates(text));
          expect(linesTold(shortened)).toBe(lines.length - (lines.length > 1 && lines.at(-1) === '' ? 1 : 0));
        },
      ),
      runs,
    );
  });

  it('knows its own output, also after cleaning', () => {
    const failures = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [i * 90 + 60, 'Error: the same again']));
    const text = shortenShellOutput(log(3000, failures), { handle }) ?? '';
    expect(isShortenedShellOutput(text) && isTruncated(text)).toBe(true);
    expect(shortenShellOutput(text, { maxTokens: 100 })).toBeUndefined();
    expect(cleanResult(text, 'shell')).toBe(text);
  });

  it.each([
    ['one line', 'x'.repeat(10_000_000)],
    ['line breaks', '\n'.repeat(10_000_000)],
    ['failures', 'fail\n'.repeat(2_000_000)],
  ])('reads 10 MB of %s', (_name, text) => {
    const shortened = shortenShellOutput(text, { handle }) ?? '';
    expect(estimateTokens(shortened)).toBeLessThanOrEqual(2000);
    expect(shortened).not.toBe('');
  });
});

/** The lines that a shortened output shows or counts, without its last line. */
function linesTold(shortened: string): number {
  const lines = shortened.split('\n').slice(0, -1);
  return lines.reduce((sum, line) => sum + Number(/^\[… (\d+) lines?\]$/.exec(line)?.[1] ?? 1), 0);
}

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loneSurrogates } from '../../laws/text.ts';
import { countTokens } from '../../tokens/count-tokens.ts';
import { estimateTokens } from '../../tokens/estimate-tokens.ts';
import { isTruncated } from '../truncate-result.ts';
import { cleanResult } from './clean.ts';
import { isShortenedShellOutput, type ShellOutputOptions, shortenShellOutput } from './shell-output.ts';

const runs = { numRuns: Number(process.env.PALIMPSEST_RUNS ?? 300) };
const handle = ' · recall p_x';
const shorten = (text: string, options: Partial<ShellOutputOptions> = {}): string | undefined =>
  shortenShellOutput(text, { maxTokens: 2000, counter: estimateTokens, handle: '', ...options });
const length = (text: string): number => text.length;
const log = (lines: number, failures: Readonly<Record<number, string>> = {}): string =>
  Array.from({ length: lines }, (_, i) => failures[i + 1] ?? `step ${i + 1} of the build went well`).join('\n');

describe('shortenShellOutput', () => {
  it('leaves alone what fits', () => {
    expect(shorten(log(100))).toBeUndefined();
    expect(shorten('')).toBeUndefined();
    expect(shorten(log(100), { maxTokens: log(100).length, counter: length })).toBeUndefined();
  });

  it('leaves a diff alone', () => {
    const diff = `--- a/a.ts\n+++ b/a.ts\n@@ -1,2 +1,2 @@\n${log(2000)}`;
    expect(shorten(diff)).toBeUndefined();
  });

  it('shows no handle if there is none, and does not count the newline at the end as a line', () => {
    const lines = shorten(`${log(2000)}\n`)?.split('\n') ?? [];
    expect(lines.at(-2)).toBe('step 2000 of the build went well');
    expect(lines.at(-1)).toMatch(/ tokens \(shell\)\]$/);
  });

  it('keeps the first lines, the last lines and the failures between them, in the order of the output', () => {
    const text = log(2000, { 900: 'Traceback (most recent call last):', 1200: 'src/a.ts: Error: it broke' });
    const lines = shorten(text, { handle })?.split('\n') ?? [];
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
    const shortened = shorten(log(5000)) ?? '';
    const [head = '', tail = ''] = shortened.split(/\n\[… \d+ lines\]\n/);
    expect(estimateTokens(head) / 2000).toBeCloseTo(0.2, 1);
    expect(estimateTokens(tail) / 2000).toBeCloseTo(0.4, 1);
  });

  it('prefers the last failures where there are too many', () => {
    const text = Array.from({ length: 3000 }, (_, i) => `error ${i} in a file of the project`).join('\n');
    const kept = [...(shorten(text) ?? '').matchAll(/^error (\d+)/gm)].map(([, n]) => Number(n));
    const middle = kept.findIndex((n, i) => n !== i);
    // Failures are all behind the only gap.
    expect(kept.slice(middle)).toEqual(
      Array.from({ length: kept.length - middle }, (_, i) => 3000 - (kept.length - middle) + i),
    );
  });

  it('fills the limit with failures that are far apart', () => {
    const failures = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [i * 20 + 10, `Error ${i}`]));
    const shortened = shorten(log(3000, failures), { maxTokens: 8000, counter: (text) => text.length });
    expect(shortened?.length).toBeGreaterThan(7700);
  });

  it('fills the limit with failures that follow each other', () => {
    const text = Array.from({ length: 3000 }, (_, i) => `error ${i} in a file of the project`).join('\n');
    expect(shorten(text, { maxTokens: 8000, counter: length })?.length).toBeGreaterThan(7300);
  });

  it('keeps a failure in a first line that is too long for the share of the first lines', () => {
    const text = log(500, { 1: `Error: ${'x'.repeat(300)}` });
    expect(shorten(text, { maxTokens: 1200, counter: length })).toMatch(/^Error: x{300}\n/);
  });

  it('says that one line is missing', () => {
    const text = ['a'.repeat(40), 'm'.repeat(390), 'z'.repeat(40)].join('\n');
    const lastLine = '[truncated: kept first+last+failures ~300 of ~472 tokens (shell)]';
    expect(shorten(text, { maxTokens: 300, counter: length })).toBe(
      `${'a'.repeat(40)}\n[… 1 line]\n${'z'.repeat(40)}\n${lastLine}`,
    );
  });

  it('keeps a failure alone where there is no room for the lines beside it', () => {
    const text = log(3000, {
      1500: 'Error: the second',
      1501: 'x'.repeat(399),
      1502: 'y'.repeat(399),
      1000: 'Error: the first',
      999: 'z'.repeat(399),
      500: 'Error: before the first',
      499: 'z'.repeat(399),
    });
    const shortened = shorten(text, { maxTokens: 2600, counter: length }) ?? '';
    expect(shortened.split('\n').filter((line) => line.startsWith('Error'))).toEqual([
      'Error: before the first',
      'Error: the first',
      'Error: the second',
    ]);
  });

  it('shows the failure in the middle of a long line', () => {
    const line = `{"level":50,${'"field":1,'.repeat(60)}"msg":"connect failed: ECONNREFUSED",${'"more":2,'.repeat(60)}"end":1}`;
    const shown = shorten(log(2000, { 900: line }))
      ?.split('\n')
      .find((shownLine) => shownLine.startsWith('{"level":50'));
    expect(shown).toMatch(
      /^\{"level":50,.* \[… \d+ characters\] .*failed: ECONNREFUSED.* \[… \d+ characters\] .*"end":1\}$/,
    );
    expect(shown?.length).toBeLessThanOrEqual(400);
    expect(charactersTold(shown ?? '')).toBe(line.length);
    const json = JSON.stringify({ output: `${log(900)}\n✗ it broke\n${log(900)}` });
    expect(shorten(json)).toContain('✗ it broke');
  });

  it('clips long lines in the middle', () => {
    const text = log(2000, { 1: `start ${'x'.repeat(5000)} end` });
    const first = shorten(text)?.split('\n')[0] ?? '';
    expect(first).toMatch(/^start x+ \[… \d+ characters\] x+ end$/);
    expect(first.length).toBeLessThanOrEqual(400);
    expect(charactersTold(first)).toBe('start  end'.length + 5000);
  });

  it('clips no line of 400 characters, and shows 400 of a line that begins with a failure', () => {
    const [whole, long] = [`Error: ${'x'.repeat(393)}`, `Error: ${'y'.repeat(5000)}`];
    const lines = shorten(log(2000, { 900: whole, 1000: long }))?.split('\n') ?? [];
    expect(lines).toContain(whole);
    expect(lines.find((line) => line.startsWith('Error: y'))?.length).toBeGreaterThan(390);
  });

  it('uses the room where the lines are few and long', () => {
    const json = JSON.stringify({ output: log(2000), exit_code: 1 });
    const shortened = shorten(json, { handle }) ?? '';
    expect(estimateTokens(shortened)).toBeGreaterThan(1900);
    expect(shortened).toMatch(/^\{"output":"step 1 .*"exit_code":1\}\n\[truncated: kept /s);
  });

  it('keeps all lines where they fit exactly', () => {
    const text = `${'x'.repeat(5000)}\n${'y'.repeat(5000)}`;
    const lastLine = '[truncated: kept first+last+failures ~867 of ~10001 tokens (shell)]';
    const clipped = (letter: string): string => `${letter.repeat(189)} [… 4622 characters] ${letter.repeat(189)}`;
    const shortened = `${clipped('x')}\n${clipped('y')}\n${lastLine}`;
    expect(shorten(text, { maxTokens: shortened.length, counter: length })).toBe(shortened);
  });

  it('is undefined where the lines about gaps would make it longer', () => {
    const counter = (text: string): number => 10 * (text.split('漢').length - 1);
    expect(shorten('漢'.repeat(30), { maxTokens: 100, counter })).toBeUndefined();
  });

  it('is undefined where even the last line is too long', () => {
    expect(shorten(log(2000), { maxTokens: 10 })).toBeUndefined();
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
          const shortened = shorten(text, { maxTokens, counter, handle });
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
    const text = shorten(log(3000, failures), { handle }) ?? '';
    expect(isShortenedShellOutput(text) && isTruncated(text)).toBe(true);
    expect(shorten(text, { maxTokens: 100 })).toBeUndefined();
    expect(cleanResult(text, 'shell')).toBe(text);
  });

  it('knows that a line quoted by another output is not its own', () => {
    const quoted = '\n[truncated: kept first+last+failures ~2000 of ~9000 tokens (shell)]';
    expect(isShortenedShellOutput(`output${quoted}`)).toBe(true);
    for (const text of [`output${quoted}\n[ok]`, `output${quoted}\n`, '[ok]'])
      expect(isShortenedShellOutput(text)).toBe(false);
  });

  it.each([
    ['one line', 'x'.repeat(10_000_000)],
    ['line breaks', '\n'.repeat(10_000_000)],
    ['failures', 'fail\n'.repeat(2_000_000)],
  ])('reads 10 MB of %s', (_name, text) => {
    const shortened = shorten(text, { handle }) ?? '';
    expect(estimateTokens(shortened)).toBeLessThanOrEqual(2000);
    expect(shortened).not.toBe('');
  });
});

/** The lines that a shortened output shows or counts, without its last line. */
function linesTold(shortened: string): number {
  const lines = shortened.split('\n').slice(0, -1);
  return lines.reduce((sum, line) => sum + Number(/^\[… (\d+) lines?\]$/.exec(line)?.[1] ?? 1), 0);
}

/** The characters that a clipped line shows or counts. */
function charactersTold(line: string): number {
  const note = / \[… (\d+) characters\] /g;
  const counted = [...line.matchAll(note)].reduce((sum, [, characters]) => sum + Number(characters), 0);
  return line.replace(note, '').length + counted;
}

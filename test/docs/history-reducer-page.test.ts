import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ChatMessage, HistoryReducer, type HistoryReducerOptions } from '../../src/index.ts';
import { ROOT } from '../support/modules.ts';

const page = readFileSync(join(ROOT, 'docs/history-reducer.md'), 'utf8');

/** The rows of the table in a section, without its head. */
function rowsIn(title: string): string[][] {
  const [, section = ''] = new RegExp(`\n## ${title}\n([\\s\\S]*?)\n## `).exec(page) ?? [];
  return [...section.matchAll(/^\| `.*$/gm)].map(([row]) =>
    row
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim().replaceAll('`', '')),
  );
}

const namesIn = (title: string): string[] => rowsIn(title).map(([name = '']) => name);

const history: ChatMessage[] = [
  { role: 'user', content: 'The task.' },
  ...Array.from({ length: 12 }, (_, i): ChatMessage[] => [
    { role: 'assistant', content: `step ${i} `.repeat(40), pairId: `p${i}`, pairRole: 'call' },
    { role: 'tool', content: `line ${i} `.repeat(100), pairId: `p${i}`, pairRole: 'result' },
  ]).flat(),
];
/** Longer than any default: it is cut to the limit exactly. */
const summarize = (): string => 'a long summary '.repeat(200);
const reduce = (options: HistoryReducerOptions) => new HistoryReducer().reduce(history, { summarize, ...options });

describe('docs/history-reducer.md', () => {
  it('names every option and no other', () => {
    const listed = (): void => void reduce({ maxInputChars: 1, unknown: 1 } as HistoryReducerOptions);
    for (const name of namesIn('Options')) expect(listed).toThrow(new RegExp(`it takes .*\\b${name}\\b`));
    expect(listed).toThrow(new RegExp(`it takes (?:\\w+, ){${namesIn('Options').length - 1}}\\w+\\.$`));
  });

  it.each([
    ['masking', 7000],
    ['summarization', 6000],
    ['fallback', 2000],
  ])('names the defaults: given or not, they lead to the same result in the stage of %s', (stage, maxInputChars) => {
    const defaults = rowsIn('Options').filter(([, value]) => /^(?:true|\d+)$/.test(value ?? ''));
    const given = Object.fromEntries(defaults.map(([name, value]) => [name, JSON.parse(value ?? '')]));
    expect(Object.keys(given)).toEqual(['enabled', 'preserveRecentRawTurns', 'observationMasking', 'summaryMaxChars']);
    const result = reduce({ maxInputChars });
    expect(result.reductionStage).toBe(stage);
    expect(reduce({ maxInputChars, ...given })).toEqual(result);
  });

  it('names every field of the result and no other', () => {
    const failed = reduce({ maxInputChars: 6000, summarize: () => '' });
    const result = { ...reduce({ maxInputChars: 7000 }), ...failed };
    expect(namesIn('Result').sort()).toEqual(Object.keys(result).sort());
    expect(failed.summaryProblem).toContain('empty');
  });
});

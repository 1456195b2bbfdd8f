import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ChatMessage } from '../../src/index.ts';
import { readRuns } from '../../src/lab/readers/read-runs.ts';
import type { Context } from '../../src/lab/run.ts';
import { CORPUS, hasCorpus } from '../support/corpus.ts';

interface IndexRow {
  readonly file: string;
  readonly runs: number;
  readonly turns: number;
  readonly characters: number;
  readonly observationShare: number;
}

interface GoldenRow {
  readonly file: string;
  readonly run: string;
  readonly context: number;
  readonly turns: number;
  readonly calls: number;
  readonly observations: number;
  readonly large: number;
}

/** Where the index counts what the model did not see. */
const DEVIATIONS: readonly { files: RegExp; reason: string; characters: readonly [least: number, most: number] }[] = [
  {
    files: /^goose-/,
    reason:
      'goose sends the blocks of a result whose audience names the assistant or nobody (its provider formats filter ' +
      'them so); the index counts the copies for the user too',
    characters: [-0.46, -0.28],
  },
];

describe.skipIf(!hasCorpus)('the runs of the corpus (skipped where ../shared/corpus is absent)', () => {
  const rows = hasCorpus ? readIndex() : [];
  const skipped: string[] = [];
  const contexts = new Map<string, Context[]>();

  beforeAll(async () => {
    const options = { onSkip: note, onDamage: note };
    function note(file: string, reason: string): void {
      skipped.push(`${file}: ${reason}`);
    }
    for await (const context of readRuns([CORPUS], options)) {
      const file = context.file.slice(CORPUS.length + 1);
      contexts.set(file, [...(contexts.get(file) ?? []), context]);
    }
  });

  it('are read without an error', () => {
    expect(skipped).toEqual([]);
    expect([...contexts.keys()].sort()).toEqual(rows.map(({ file }) => file).sort());
    expect(rows.reduce((sum, { runs }) => sum + runs, 0)).toBe(180);
  });

  describe.each(rows)('$file', ({ file, runs, turns, characters, observationShare }) => {
    const own = (): Context[] => contexts.get(file) ?? [];
    const deviation = DEVIATIONS.find(({ files }) => files.test(file));

    it('has as many runs and turns as the index', () => {
      expect(new Set(own().map(({ run }) => run)).size).toBe(runs);
      expect(own().reduce((sum, context) => sum + repliesIn(context).length - context.carriedTurns, 0)).toBe(turns);
    });

    it(`has as much text${deviation ? `, but for this: ${deviation.reason}` : ', none of it twice'}`, () => {
      const [least, most] = deviation?.characters ?? [-0.05, 0.02];
      const ratio = sizeOf(newMessages(own())) / characters - 1;
      expect(ratio).toBeGreaterThan(least);
      expect(ratio).toBeLessThan(most);
    });

    it('has as much of it in observations', () => {
      const messages = newMessages(own());
      const share = sizeOf(messages.filter(({ role }) => role === 'tool')) / sizeOf(messages);
      expect(Math.abs(share - observationShare)).toBeLessThan(deviation ? 0.12 : 0.025);
    });
  });

  // The study leaves out results without any text.
  it.each(hasCorpus ? readGolden() : [])('$file $run $context has the turns, calls and results of the study', (row) => {
    const { turns, calls, observations, large } = row;
    const context = contexts.get(row.file)?.filter(({ run }) => run === runOf(row))[row.context] as Context;
    const results = context.messages.filter(({ role, content }) => role === 'tool' && content !== '');
    expect({
      turns: repliesIn(context).length,
      calls: context.messages.flatMap(({ toolCalls = [] }) => toolCalls).length,
      observations: results.length,
      large: results.filter(({ content }) => content.length > 320).length,
    }).toEqual({ turns, calls, observations, large });
  });
});

const repliesIn = ({ messages }: Context): ChatMessage[] => messages.filter(({ role }) => role === 'assistant');

/** All messages of a file's contexts; what a compaction carried over is counted once. */
function newMessages(contexts: readonly Context[]): ChatMessage[] {
  return contexts.flatMap(({ run, messages }, i) => {
    const before = contexts[i - 1];
    const carried = new Set(before?.run === run ? before.messages.map(({ content }) => content) : []);
    return messages.filter(({ content, toolCalls }) => toolCalls !== undefined || !carried.has(content));
  });
}

/** The index counts the names of calls, and their arguments. */
function sizeOf(messages: readonly ChatMessage[]): number {
  const calls = messages.flatMap(({ toolCalls = [] }) => toolCalls);
  const texts = [...messages.map(({ content }) => content), ...calls.flatMap((call) => [call.name, call.arguments])];
  return texts.reduce((sum, text) => sum + text.length, 0);
}

function readIndex(): IndexRow[] {
  return rowsOf(join(CORPUS, 'INDEX.tsv')).map(([file = '', , , , , runs, turns, characters, share]) => ({
    file,
    runs: Number(runs),
    turns: Number(turns),
    characters: Number(characters),
    observationShare: Number(share),
  }));
}

function readGolden(): GoldenRow[] {
  const rows = rowsOf(join(CORPUS, '../research/evidence-golden.tsv'));
  return rows.map(([file = '', run = '', context, turns, , calls, , observations, large]) => ({
    file,
    run,
    context: Number(context),
    turns: Number(turns),
    calls: Number(calls),
    observations: Number(observations),
    large: Number(large),
  }));
}

const rowsOf = (file: string): string[][] =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.split('\t'));

/** The study names the runs of tau-bench by task and trial. */
function runOf({ file, run }: GoldenRow): number {
  if (!file.startsWith('taubench')) return 0;
  const runs = JSON.parse(readFileSync(join(CORPUS, file), 'utf8')) as { task_id: number; trial: number }[];
  return runs.findIndex(({ task_id, trial }) => run === `task${task_id}-trial${trial}`);
}

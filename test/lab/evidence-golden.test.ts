import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { countMisses, type Evidence, hasSource, isMissed, type Quote, quotesOf } from '../../src/lab/evidence.ts';
import { readRuns } from '../../src/lab/readers/read-runs.ts';
import type { Context } from '../../src/lab/run.ts';
import { CORPUS } from '../support/corpus.ts';

/** Counts of another implementation, in Python, for the runs of 30 turns and more: a = calls, n = quotes, W = window. */
const GOLDEN = fileURLToPath(new URL('../../../shared/research/evidence-golden.tsv', import.meta.url));
const isThere = existsSync(CORPUS) && existsSync(GOLDEN);
const WINDOWS = [5, 10, 20];
const LEAST_TURNS = 30;

/**
 * Where a column differs, because our reader takes the log otherwise. No count of misses is among them: every row
 * agrees in all of those.
 */
const DEVIATIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'codex-sbridge/019d7e8e-fef6-7481-9a1b-d8d36a852ac4.jsonl 1': {
    I_quotes_seen: 'The reader keeps the replies that the compaction kept, and they support a few names more.',
  },
  'openhands-java/gpt4o__fasterxml__jackson-core-174.json 0': {
    I_quotes_seen: 'The reader has the arguments that the model wrote; the reference has those the log made of them.',
  },
  'openhands-java/gpt4o__spotbugs__spotbugs-3557.json 0': {
    I_quotes_seen: 'The same, and a `think` is a call with a text here, a text without a call there.',
  },
};

describe.skipIf(!isThere)('evidence (skipped where ../shared/corpus or ../shared/research is absent)', async () => {
  const rows = isThere ? await readGolden() : [];

  it('is there for every context of the reference', () => {
    expect(rows.length).toBeGreaterThan(40);
    expect(rows.filter(({ context }) => context === undefined)).toEqual([]);
  });

  it.each(rows)('of $name is that of the reference', ({ name, context, golden }) => {
    const known = Object.keys(DEVIATIONS[name] ?? {});
    const ours = Object.entries(countsOf(context as Context)).filter(([column]) => !known.includes(column));
    expect(Object.fromEntries(ours)).toEqual(Object.fromEntries(ours.map(([column]) => [column, golden[column]])));
  });

  // A reader that learns something may move a row above into the deviations. The sums must hold whatever it learns.
  it('agrees with the reference within 2 % in total', () => {
    const ours = rows.map(({ context }) => countsOf(context as Context));
    for (const column of Object.keys(ours[0] as Counts).filter((name) => /_W\d+$/.test(name))) {
      const theirs = sum(rows.map(({ golden }) => golden[column]));
      expect(Math.abs(sum(ours.map((counts) => counts[column])) - theirs), column).toBeLessThanOrEqual(theirs * 0.02);
    }
  });
});

type Counts = Readonly<Record<string, number>>;

interface GoldenRow {
  readonly name: string;
  readonly golden: Counts;
  readonly context: Context | undefined;
}

/** The rows of a file stand in the order of its contexts. */
async function readGolden(): Promise<GoldenRow[]> {
  const contexts = await longRuns();
  const [head = [], ...lines] = readFileSync(GOLDEN, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split('\t'));
  const seen = new Map<string, number>();
  return lines.map((line) => {
    const file = line[0] as string;
    const place = seen.get(file) ?? 0;
    seen.set(file, place + 1);
    const golden = Object.fromEntries(head.map((column, i) => [column, Number(line[i])]));
    return { name: `${file} ${place}`, golden, context: contexts.get(file)?.[place] };
  });
}

async function longRuns(): Promise<ReadonlyMap<string, readonly Context[]>> {
  const runs = new Map<string, Context[]>();
  for await (const context of readRuns([CORPUS])) {
    const run = `${context.file} ${context.run}`;
    runs.set(run, [...(runs.get(run) ?? []), context]);
  }
  const files = new Map<string, Context[]>();
  for (const run of runs.values()) {
    const file = relative(CORPUS, (run[0] as Context).file);
    if (sum(run.map(turnsOf)) >= LEAST_TURNS) files.set(file, [...(files.get(file) ?? []), ...run]);
  }
  return files;
}

const turnsOf = ({ messages }: Context): number => messages.filter(({ role }) => role === 'assistant').length;

const sum = (numbers: readonly (number | undefined)[]): number =>
  numbers.reduce<number>((total, number) => total + (number ?? 0), 0);

function countsOf(context: Context): Counts {
  const evidence = quotesOf(context);
  const sources = evidence.calls.flatMap(({ quotes }) => quotes).filter(hasSource);
  return Object.assign(
    {
      actions: evidence.calls.length,
      E_lines_seen: count(sources, 'edit'),
      I_quotes_seen: count(sources, 'identifier'),
    },
    ...WINDOWS.map((window) => missesOf(evidence, slide(context, window), `W${window}`)),
  );
}

function missesOf(evidence: Evidence, maskedAt: readonly number[], policy: string): Counts {
  const misses = countMisses(evidence, maskedAt);
  const quotes = evidence.calls.flatMap(({ turn, quotes }) =>
    quotes.filter((quote) => isMissed(quote, turn, maskedAt)),
  );
  return {
    [`aE_${policy}`]: misses.edit,
    [`aI_${policy}`]: misses.identifier,
    [`aL_${policy}`]: misses.anchor,
    [`aAny_${policy}`]: misses.any,
    [`nE_${policy}`]: count(quotes, 'edit'),
    [`nI_${policy}`]: count(quotes, 'identifier'),
  };
}

const count = (quotes: readonly Quote[], kind: Quote['kind']): number =>
  quotes.filter((quote) => quote.kind === kind).length;

/** Request t masks the observations of turns up to t - 1 - window, if they have more than 80 tokens of 4 characters. */
function slide({ messages }: Context, window: number): number[] {
  let turn = 0;
  return messages.flatMap(({ role, content }) => {
    if (role === 'assistant') turn += 1;
    if (role !== 'tool') return [];
    return [Array.from(content).length / 4 > 80 ? turn + window + 1 : Number.POSITIVE_INFINITY];
  });
}

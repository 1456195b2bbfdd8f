import { readFileSync, writeFileSync } from 'node:fs';
import { relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readRuns } from '../../../src/lab/readers/read-runs.ts';
import { CORPUS, corpusHistories, hasCorpus } from '../../support/corpus.ts';
import {
  type DialectName,
  dialects,
  nativeRequestsOf,
  type RunRequest,
  repliesIn,
  requestsOf,
} from '../../support/gateway/sent-bytes/requests.ts';
import { sendRun, type VariantName, variants } from '../../support/gateway/sent-bytes/send-run.ts';

/**
 * A line for each run and API: a hash of all that was sent, for each variant. `npm run sent-bytes` checks every run,
 * `npm run sent-bytes:write` records them.
 */
const FILE = fileURLToPath(new URL('sent-bytes.tsv', import.meta.url));
const NAMES = Object.keys(variants) as VariantName[];
const recorded = readRecorded();
const mode = process.env.PALIMPSEST_SENT_BYTES ?? 'sample';

const LEAST_TURNS = 15;
/** All runs take many minutes. */
const SAMPLED = { cases: 12, mostTurns: 60 };

/** A run in one API. */
interface Sent {
  readonly name: string;
  readonly turns: number;
  requests(): Iterable<RunRequest>;
}

const sent = hasCorpus ? chosen([...(await runsInEachApi()), ...nativeRuns()]) : [];
const cases = sent.flatMap((run) => NAMES.map((variant) => ({ ...run, variant })));

describe.skipIf(!hasCorpus)('the bytes that reach the upstream (needs ../shared/corpus)', () => {
  it.each(cases)('$name $variant', { timeout: 600_000 }, async ({ name, requests, variant }) => {
    const hash = await sendRun(requests(), variants[variant]);
    const row = recorded.get(name) ?? new Map();
    recorded.set(name, row);
    if (mode === 'write') row.set(variant, hash);
    expect(hash).toBe(row.get(variant));
  });

  it.runIf(mode === 'write')('are written down', () => {
    const rows = [...recorded].sort(([a], [b]) => (a < b ? -1 : 1));
    const lines = rows.map(([name, row]) => [name, ...NAMES.map((variant) => row.get(variant))].join('\t'));
    writeFileSync(FILE, `${[['run', ...NAMES].join('\t'), ...lines].join('\n')}\n`);
  });
});

function readRecorded(): Map<string, Map<string, string>> {
  const [head = [], ...rows] = readFileSync(FILE, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'));
  return new Map(
    rows.map(([name = '', ...hashes]) => [name, new Map(hashes.map((hash, i) => [head[i + 1] ?? '', hash]))]),
  );
}

function chosen(runs: readonly Sent[]): Sent[] {
  const long = runs.filter(({ turns }) => turns >= LEAST_TURNS);
  if (mode !== 'sample') return long;
  const short = long.filter(({ turns }) => turns <= SAMPLED.mostTurns);
  const step = Math.max(1, Math.floor(short.length / SAMPLED.cases));
  return short.filter((_, i) => i % step === 0);
}

async function runsInEachApi(): Promise<Sent[]> {
  const parts = new Map<string, number>();
  const runs: Sent[] = [];
  for await (const run of readRuns([CORPUS])) {
    const file = relative(CORPUS, run.file).split(sep).join('/');
    const part = parts.get(file) ?? 0;
    parts.set(file, part + 1);
    const turns = run.messages.filter(({ role }) => role === 'assistant').length;
    for (const dialect of Object.keys(dialects) as DialectName[])
      runs.push({ name: `${file}#${part} ${dialect}`, turns, requests: () => requestsOf(run, dialect) });
  }
  return runs;
}

/** Histories that are logged in the format of an API. */
function nativeRuns(): Sent[] {
  return corpusHistories().flatMap(({ name, format, messages }) => {
    if (!(format in dialects)) return [];
    const requests = (): Iterable<RunRequest> => nativeRequestsOf(messages, format as DialectName);
    return [{ name: `${name} native`, turns: repliesIn(messages).length, requests }];
  });
}

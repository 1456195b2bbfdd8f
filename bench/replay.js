// What it takes to replay a run: node bench/replay.js '{"turns":1000,"contexts":1,"rounds":3}'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { priceLists, readReplayPolicy, replayFile } from '../dist/lab/index.js';
import { createRun, toOpenAIChat } from './histories.js';
import { median, sink } from './measure.js';

/** Eight policies and six price lists, as in the target. */
const POLICIES = [
  'none',
  'sliding-window',
  'polling',
  'first-and-last',
  'oldest-batch',
  'protect-tokens',
  'clear-tool-uses',
  'break-even',
];
const LISTS = ['anthropic-5m', 'anthropic-1h', 'gpt-5', 'gpt-4.1', 'gpt-4o', 'deepseek'];

const { turns, rounds } = JSON.parse(process.argv[2]);
const folder = mkdtempSync(join(tmpdir(), 'palimpsest-bench-'));
try {
  await measure(write(200, 1));
  const file = write(turns, 2);
  const ours = [];
  const floor = [];
  for (let i = 0; i < rounds; i++) {
    floor.push(parseOnly(file));
    ours.push(await measure(file));
  }
  const megabytes = statSync(file).size / 1e6;
  console.log(JSON.stringify({ ours: median(ours), floor: median(floor), megabytes }));
} finally {
  rmSync(folder, { recursive: true });
}

function write(count, seed) {
  const file = join(folder, `${count}-${seed}.json`);
  writeFileSync(file, JSON.stringify(toOpenAIChat(createRun({ messages: 2 * count, seed }))));
  return file;
}

async function measure(file) {
  const setting = {
    counter: (text) => text.length / 4,
    policies: POLICIES.map(readReplayPolicy),
    prices: LISTS.map((name) => priceLists[name]),
    systemTokens: 0,
    contextLimit: undefined,
    cacheLife: 'endless',
    keepSchedules: false,
  };
  const start = performance.now();
  const { runs, skipped } = await replayFile(file, setting);
  if (runs.length !== 1 || skipped.length > 0) throw new Error(`Expected one run but found ${skipped.join(', ')}`);
  return performance.now() - start;
}

/** What nobody can save: the file must be read and parsed. */
function parseOnly(file) {
  const start = performance.now();
  sink.last = JSON.parse(readFileSync(file, 'utf8'));
  return performance.now() - start;
}

// Measures, prints, and writes docs/benchmarks.md: npm run bench [-- reduce|arrival|planner|adapter|counter|replay|store|gateway|session] [--quick] [--json]
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem, type } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { adapterTables } from './tables/adapter.js';
import { arrivalTables } from './tables/arrival.js';
import { counterTables } from './tables/counter.js';
import { gatewayTables } from './tables/gateway.js';
import { plannerTables } from './tables/planner.js';
import { reduceTables } from './tables/reduce.js';
import { replayTables } from './tables/replay.js';
import { sessionTables } from './tables/session.js';
import { storeTables } from './tables/store.js';
import { printTable, summaryOf } from './tables/table.js';
import { versionsIn, writeBenchmarks } from './write-benchmarks.js';

const bench = dirname(fileURLToPath(import.meta.url));
const repository = dirname(bench);
const groups = {
  reduce: reduceTables,
  arrival: arrivalTables,
  planner: plannerTables,
  adapter: adapterTables,
  counter: counterTables,
  replay: replayTables,
  store: storeTables,
  gateway: gatewayTables,
  session: sessionTables,
};

main();

function main() {
  const { chosen, quick, json } = readArguments();
  const say = json ? () => {} : console.log;
  prepare();
  say(
    `Node ${process.version}, ${availableParallelism()} × ${cpus()[0]?.model ?? 'unknown processor'}${quick ? ', quick' : ''}`,
  );
  const tables = [];
  for (const name of chosen) {
    const own = [];
    for (const table of groups[name]({ measure, quick })) {
      own.push(table);
      say(printTable(table));
    }
    tables.push(...own);
    // After each part: a run that is stopped keeps the parts that it has finished.
    writePart(name, own, { quick });
  }
  say(summaryOf(tables));
  if (json) console.log(JSON.stringify({ node: process.version, quick, tables }, null, 2));
}

/** The section of one part; the others stay as they are. */
function writePart(name, tables, { quick }) {
  const page = join(repository, 'docs/benchmarks.md');
  const run = {
    command: `npm run bench -- ${name}${quick ? ' --quick' : ''}`,
    date: new Date().toISOString().slice(0, 10),
    machine: `${availableParallelism()} × ${cpus()[0]?.model.trim() ?? 'unknown processor'}, ${Math.round(totalmem() / 2 ** 30)} GB, ${type()}`,
    versions: { node: process.version, ...versionsIn(bench) },
  };
  writeFileSync(page, writeBenchmarks(readFileSync(page, 'utf8'), name, { ...run, tables }));
  execute('npx', ['biome', 'format', '--write', 'docs/benchmarks.md'], { mayFail: true });
}

function readArguments() {
  const options = { quick: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } };
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    const unknown = positionals.find((name) => !(name in groups));
    if (unknown) throw new Error(`Expected ${Object.keys(groups).join(', ')} but found '${unknown}'`);
    return { ...values, chosen: positionals.length > 0 ? positionals : Object.keys(groups) };
  } catch (error) {
    console.error(error.message);
    process.exit(2);
  }
}

/** Builds what is measured and installs what it is compared with, where they are missing or old. */
function prepare() {
  if (isStale()) execute('npm', ['run', 'build'], { mayFail: true });
  if (!existsSync(join(repository, 'dist/index.js'))) execute('npx', ['tsc', '-p', 'tsconfig.build.json']);
  if (!existsSync(join(bench, 'node_modules'))) execute('npm', ['ci', '--prefix', 'bench']);
}

/** A benchmark of yesterday's build would mislead. */
function isStale() {
  const built = join(repository, 'dist/index.js');
  if (!existsSync(built)) return true;
  const sources = readdirSync(join(repository, 'src'), { recursive: true }).filter((path) => path.endsWith('.ts'));
  const newest = Math.max(...sources.map((path) => statSync(join(repository, 'src', path)).mtimeMs));
  return newest > statSync(built).mtimeMs;
}

/** Its output goes to standard error, so that --json stays clean. */
function execute(command, args, { mayFail = false } = {}) {
  try {
    execFileSync(command, args, { cwd: repository, stdio: ['ignore', 2, 2] });
  } catch (error) {
    if (!mayFail) throw error;
  }
}

/** Runs one measurement in a process of its own. `undefined` if it takes too long. */
function measure(program, request, { limitMs = 600_000 } = {}) {
  const args = ['--expose-gc', '--max-old-space-size=6000', join(bench, program), JSON.stringify(request)];
  try {
    return JSON.parse(
      execFileSync(process.execPath, args, { encoding: 'utf8', timeout: limitMs, stdio: ['ignore', 'pipe', 2] }),
    );
  } catch (error) {
    if (error.code === 'ETIMEDOUT') return undefined;
    throw error;
  }
}

import { PalimpsestError } from '../../errors.ts';
import { isHindsight } from '../../lab/compare.ts';
import { findLogs } from '../../lab/readers/find-logs.ts';
import { onlyAsked, replay } from '../../lab/replay.ts';
import type { ReplayPage, ReplayResult } from '../../lab/replay-result.ts';
import { writePage } from '../../lab/write-page.ts';
import type { OwnModelPrices } from '../../money/index.ts';
import { readSpec } from '../../plan/policies/index.ts';
import { priceLists } from '../../plan/prices.ts';
import { whyNotWritten } from '../file-problem.ts';
import { type Io, UsageError } from '../io.ts';
import { parseOptions, readCount } from '../parse-options.ts';
import { readPriceFile } from '../price-file.ts';
import { type ReplayRequest, settingOf } from './replay-request.ts';
import { createReplayWorkers } from './replay-workers.ts';
import { progressBar, showReplay } from './show-replay.ts';

export const help = `palimpsest replay: what would each policy have sent, cost and hidden?

Usage: palimpsest replay <files, folders or globs…> [options]

Reads the logs of Claude Code, Codex CLI, OpenCode, Gemini CLI, Qwen Code,
Copilot CLI, Cursor, Droid, Amp, SWE-agent, mini-swe-agent, OpenHands, pi,
goose, Cline, tau-bench and Harbor (ATIF), and plain message lists (.json,
.jsonl, .traj, also .gz, .zst); - is standard input. Nothing is sent anywhere.

Options:
  --policy <policy>    repeatable: none, optimum, break-even,
                       sliding-window:turns=5, … (default: a selection)
  --compare            adds the defaults of other tools
  --prices <list>      repeatable, or all (default: the list of the model in
                       each log; unknown models are counted in tokens):
                       ${Object.keys(priceLists).slice(0, 5).join(', ')},
                       ${Object.keys(priceLists).slice(5).join(', ')};
                       your own: mine:read=0.1,write=1.25
  --window <n>         turns that stay whole, in every policy that has a window
  --system-tokens <n>  least size of the text before the first reply, for logs
                       without system prompt and usage (default: 0)
  --price-file <file>  own prices of models in dollars: JSON or YAML
  --no-usage           ignores the usage in the logs: no hidden system prompt,
                       sizes by --counter alone
  --cache-life <m>     minutes until an unused cache expires, by the times in
                       the logs; endless; or listed (default): by price list
  --keep-warm <n>      prices up to n requests that keep the cache alive in a
                       pause (default: 0); nothing is sent
  --context-limit <n>  the largest request in tokens; optimum has no limit
  --counter <name>     chars (if none is named), default (of fit), o200k, cl100k
  --least-turns <n>    leaves out shorter runs (default: 0)
  --format <name>      reads every file in this format (default: by content)
  --html <file>        writes a page with plots and beginnings of outputs; - is
                       standard output (then the table is on standard error)
  --json               prints the result as JSON
  -h, --help

Exit codes: 0 done, 1 something could not be read, 2 wrong usage.
Example: palimpsest replay ~/.claude/projects --compare --html report.html
`;

const OPTIONS = {
  policy: { type: 'string', multiple: true },
  compare: { type: 'boolean' },
  prices: { type: 'string', multiple: true },
  window: { type: 'string' },
  'system-tokens': { type: 'string' },
  'price-file': { type: 'string' },
  'no-usage': { type: 'boolean' },
  'cache-life': { type: 'string' },
  'keep-warm': { type: 'string' },
  'context-limit': { type: 'string' },
  counter: { type: 'string' },
  'least-turns': { type: 'string' },
  format: { type: 'string' },
  html: { type: 'string' },
  json: { type: 'boolean' },
} as const;

/** break-even and optimum with arrival and without, to show which part of the saving is masking. */
const DEFAULT_POLICIES = [
  'none',
  'sliding-window',
  'polling',
  'break-even',
  'break-even:clean=false,references=false',
  'optimum',
  'optimum:clean=true,references=true',
];
/** The defaults of other tools. */
const PEERS = ['swe-agent', 'open-hands', 'first-and-last', 'protect-tokens', 'gemini-cli', 'clear-tool-uses'];

export async function run(args: readonly string[], io: Io): Promise<number> {
  const { values, positionals } = parseOptions(args, OPTIONS);
  if (positionals.length === 0) throw new UsageError('expected files or folders with logs');
  const request = await requestOf(values, io);
  // Reports mistakes in the options before anything is read.
  settingOf(request);
  const leastTurns = readCount('--least-turns', values['least-turns'] ?? '0', 0);
  const page = await replayAll({ paths: positionals.map(named), leastTurns }, request, io);
  const result = onlyAsked(page.result);
  const say = values.html === '-' ? io.stderr : io.stdout;
  say(values.json ? `${JSON.stringify(result, null, 2)}\n` : showReplay(result));
  if (values.html !== undefined) await writeHtml(values.html, page, io);
  if (values.html !== undefined && values.html !== '-' && !values.json) say(`\n${pageNote(values.html)}\n`);
  if (result.runs.length === 0) io.stderr(`palimpsest replay: ${whyNone(result, leastTurns)}\n`);
  return result.runs.length === 0 || result.skipped.length > 0 ? 1 : 0;
}

/** A missing file is named as such, and not as a run that is too short or a log in an unknown format. */
function whyNone({ skipped }: ReplayResult, leastTurns: number): string {
  if (skipped.length > 0 && skipped.every(({ reason }) => NOT_THERE.includes(reason))) return 'found no log';
  if (leastTurns > 0) return `found no run of ${leastTurns} turns or more (--least-turns)`;
  if (skipped.length === 0) return 'found no log: it looks for .json, .jsonl and .traj, also .gz and .zst';
  return 'found no run of an agent in a format that it knows (palimpsest replay --help lists them)';
}

const NOT_THERE = ['there is no such file', 'it matches no file'];

const pageNote = (file: string): string =>
  `The page is in ${file}. It holds the beginnings of tool outputs and the paths of the logs: read it before you share it.`;

/** Standard input may be a socket, which cannot be opened under this name. */
const named = (path: string): string => (path === '/dev/stdin' ? '-' : path);

async function writeHtml(file: string, page: ReplayPage, io: Io): Promise<void> {
  if (file === '-') return io.stdout(writePage(page));
  try {
    await io.writeFile(file, writePage(page));
  } catch (error) {
    throw new PalimpsestError('BAD_INPUT', `could not write ${file}: ${whyNotWritten(error)}`, { cause: error });
  }
}

type Values = ReturnType<typeof parseOptions<typeof OPTIONS>>['values'];

async function requestOf(values: Values, io: Io): Promise<ReplayRequest> {
  const window = values.window === undefined ? undefined : readCount('--window', values.window, 0);
  const limit = values['context-limit'];
  const given = values.policy ?? DEFAULT_POLICIES.filter((name) => limit === undefined || !isHindsight(name));
  if (limit !== undefined && given.some(isHindsight))
    throw new UsageError('optimum knows no context limit; leave one of them out');
  const policies = [...given, ...(values.compare ? PEERS : [])].map((policy) => withWindow(policy, window));
  const prices = (values.prices ?? []).flatMap((name) => (name === 'all' ? Object.keys(priceLists) : [name]));
  return {
    policies: [...new Set(policies)],
    prices: [...new Set(prices)],
    counter: values.counter ?? 'chars',
    systemTokens: readCount('--system-tokens', values['system-tokens'] ?? '0', 0),
    contextLimit: limit === undefined ? undefined : readCount('--context-limit', limit),
    cacheLife: readLife(values['cache-life']),
    modelPrices: await ownPrices(values['price-file'], io),
    usage: !values['no-usage'],
    keepWarm: readCount('--keep-warm', values['keep-warm'] ?? '0', 0),
    recalls: true,
    format: values.format,
    keepSchedules: values.html !== undefined,
  };
}

const ownPrices = async (file: string | undefined, io: Io): Promise<OwnModelPrices | undefined> =>
  file === undefined ? undefined : readPriceFile(file, io);

function readLife(text: string | undefined): ReplayRequest['cacheLife'] {
  if (text === undefined) return 'listed';
  if (text === 'listed' || text === 'endless') return text;
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text) * 60_000;
  throw new UsageError(`expected --cache-life to be a number of minutes, 'listed' or 'endless' but found '${text}'`);
}

/** The name of the window option in each policy. */
const WINDOWS: Readonly<Record<string, string>> = {
  'sliding-window': 'turns',
  'swe-agent': 'turns',
  'open-hands': 'turns',
  polling: 'turns',
  'oldest-batch': 'window',
  hybrid: 'window',
  'break-even': 'window',
  optimum: 'window',
};

function withWindow(policy: string, window: number | undefined): string {
  const { name, options } = readSpec(policy);
  const option = Object.hasOwn(WINDOWS, name) ? WINDOWS[name] : undefined;
  if (window === undefined || option === undefined || options[option] !== undefined) return policy;
  return `${policy}${policy.includes(':') ? ',' : ':'}${option}=${window}`;
}

interface Asked {
  readonly paths: readonly string[];
  readonly leastTurns: number;
}

async function replayAll({ paths, leastTurns }: Asked, request: ReplayRequest, io: Io): Promise<ReplayPage> {
  if (paths.includes('-') && !io.stdin) throw new UsageError('expected a log on standard input');
  const files = await findLogs(paths);
  const workers = createReplayWorkers(request, { files: files.length, stdin: bytesOf(io.stdin) });
  const { policies, prices } = request;
  const onProgress = (done: number, total: number): void => {
    if (io.isTerminal) io.stderr(done === total ? '\r\u001b[K' : `\r${progressBar(done, total)}`);
  };
  try {
    return await replay(paths, {
      policies,
      prices,
      leastTurns,
      replayFile: (file) => workers.replay(file),
      parallel: workers.count,
      onProgress,
    });
  } catch (error) {
    if (error instanceof PalimpsestError) throw error;
    throw new PalimpsestError('BAD_INPUT', `could not replay: ${(error as Error).message}`, { cause: error });
  } finally {
    await workers.close();
  }
}

async function* bytesOf(stdin: Io['stdin']): AsyncGenerator<Uint8Array> {
  for await (const chunk of stdin ?? []) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
}

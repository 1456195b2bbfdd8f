import { type RecallOptions, recall } from '../../store/recall.ts';
import { isHandle } from '../../store/store.ts';
import { type Io, UsageError } from '../io.ts';
import { parseOptions, readCount } from '../parse-options.ts';
import { recallTurns, type TurnsRequest } from './recall-turns.ts';
import { storePath, withStore } from './with-store.ts';

export const help = `palimpsest recall: prints a hidden text by its handle.

Usage: palimpsest recall <handle> [options]
       palimpsest recall --session <id> [--turn <n>] [--json]

Writes the text to standard output, byte for byte, or the part you ask for.

Options:
  --head <n>           the first n lines
  --tail <n>           the last n lines
  --lines <a-b>        lines a to b, counted from 1
  --grep <pattern>     the lines that match a regular expression, numbered;
                       with --lines, --head or --tail: only of those, or that
                       many
  --context <n>        with --grep: this many lines around each match
  -i, --ignore-case    with --grep: ignore upper and lower case
  --session <id>       the turns of a session, a line each: number, masked or
                       whole, size, tools, handles of the whole results
  --turn <n>           with --session: one turn with all of its texts
  --json               with --session: as JSON
  --store <place>      a folder, or a postgres:// address (default:
                       $PALIMPSEST_STORE, else ~/.palimpsest/store)
  --tenant <name>      whose store, if a gateway has several (default:
                       default)
  -h, --help

Exit codes: 0 done, 1 not found or nothing matches, 2 wrong usage.
Example: palimpsest recall p_3kf2q2m7abcdefghijklmnopqr --grep error | less
`;

const OPTIONS = {
  head: { type: 'string' },
  tail: { type: 'string' },
  lines: { type: 'string' },
  grep: { type: 'string' },
  context: { type: 'string' },
  'ignore-case': { type: 'boolean', short: 'i' },
  session: { type: 'string' },
  turn: { type: 'string' },
  json: { type: 'boolean' },
  store: { type: 'string' },
  tenant: { type: 'string' },
} as const;

export async function run(args: readonly string[], io: Io): Promise<number> {
  const { values, positionals } = parseOptions(args, OPTIONS);
  const part = partOf(values);
  const place = { path: storePath(values.store, io), tenant: values.tenant };
  const turns = readTurns(values, positionals, part);
  if (turns) {
    io.stdout(await withStore(place, (store) => recallTurns(store, turns)));
    return 0;
  }
  const handle = readHandle(positionals);
  const { text, timedOut, lines } = await withStore(place, (store) => recall(store, handle, part));
  if (part.lines && part.lines[0] > lines) {
    io.stderr(`palimpsest recall: the text has ${lines} ${lines === 1 ? 'line' : 'lines'} only\n`);
    return 1;
  }
  const isWhole = Object.keys(part).length === 0;
  io.stdout(isWhole || text === '' || text.endsWith('\n') ? text : `${text}\n`);
  if (timedOut) io.stderr('palimpsest recall: the pattern took too long; there may be more matches\n');
  else if (part.grep !== undefined && text === '') io.stderr('palimpsest recall: no line matches\n');
  return timedOut || (part.grep !== undefined && text === '') ? 1 : 0;
}

/** Undefined if the command line has a handle. */
function readTurns(values: Values, positionals: readonly string[], part: RecallOptions): TurnsRequest | undefined {
  const { session, turn, json } = values;
  if (session === undefined) {
    if (turn !== undefined || json) throw new UsageError('--turn and --json belong to --session');
    return undefined;
  }
  if (positionals.length > 0 || Object.keys(part).length > 0)
    throw new UsageError('expected --session alone, or with --turn; recall a handle in a call of its own');
  return { session, turn: turn === undefined ? undefined : readCount('--turn', turn, 0), json };
}

function readHandle(positionals: readonly string[]): string {
  const [handle, ...others] = positionals;
  if (handle === undefined || others.length > 0) throw new UsageError('expected one handle, or --session');
  if (isHandle(handle)) return handle;
  throw new UsageError(
    `expected a handle, p_ and 26 letters and digits as a placeholder shows it, but found '${handle}'`,
  );
}

type Values = ReturnType<typeof parseOptions<typeof OPTIONS>>['values'];

function partOf(values: Values): RecallOptions {
  return {
    ...(values.head === undefined ? {} : { head: readCount('--head', values.head) }),
    ...(values.tail === undefined ? {} : { tail: readCount('--tail', values.tail) }),
    ...(values.lines === undefined ? {} : { lines: readLines(values.lines) }),
    ...(values.grep === undefined ? {} : { grep: values.grep }),
    ...(values.context === undefined ? {} : { context: readCount('--context', values.context, 0) }),
    ...(values['ignore-case'] ? { ignoreCase: true } : {}),
  };
}

function readLines(value: string): [number, number] {
  const [, from, to] = /^(\d+)-(\d+)$/.exec(value) ?? [];
  const [first, last] = [Number(from), Number(to)];
  if (first >= 1 && last >= first) return [first, last];
  throw new UsageError(`expected --lines to be two line numbers such as 120-180 but found '${value}'`);
}

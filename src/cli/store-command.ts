import type { Store } from '../store/store.ts';
import { type Io, UsageError } from './io.ts';
import { hintFor, parseOptions } from './parse-options.ts';
import { type Shown, showGc, showProblems, showStats, sumOf } from './show-store.ts';
import { DEFAULT_TENANT, showPlace } from './stores.ts';
import { storePath, withEachStore, withStore } from './with-store.ts';

export const storeHelp = `palimpsest store: what the store holds, and its upkeep.

Usage: palimpsest store <stats | verify | gc | export> [options]

  stats    how much there is, and how much space it takes
  verify   reads everything and checks it; tells what is damaged
  gc       frees the space of what was deleted (nothing else may write)
  export   every text, turn and note to standard output, one JSON object a line

Options:
  --repair         with gc: gives up what verify reports as damaged
  --force          with gc: compacts however little there is to free
  --json           prints the result as JSON
  --store <place>  a folder, or a postgres:// address (default:
                   $PALIMPSEST_STORE, else ~/.palimpsest/store)
  --tenant <name>  whose store, where a gateway has several (default: all for
                   stats and verify, else default)
  -h, --help

Exit codes: 0 done, 1 could not be done or verify found problems,
2 called wrongly.
Example: palimpsest store export | gzip > store.jsonl.gz
`;

const OPTIONS = {
  repair: { type: 'boolean' },
  force: { type: 'boolean' },
  json: { type: 'boolean' },
  store: { type: 'string' },
  tenant: { type: 'string' },
} as const;

type Values = ReturnType<typeof parseOptions<typeof OPTIONS>>['values'];

interface Request extends Values {
  readonly path: string;
}

const actions: Readonly<Record<string, (request: Request, io: Io) => Promise<number>>> = {
  stats,
  verify,
  gc,
  export: exportAll,
};

export async function storeCommand(args: readonly string[], io: Io): Promise<number> {
  const { values, positionals } = parseOptions(args, OPTIONS);
  const [name = '', ...others] = positionals;
  const known = Object.keys(actions);
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (!action || others.length > 0) throw new UsageError(`expected one of ${known.join(', ')}${hintFor(name, known)}`);
  if (name !== 'gc' && (values.repair || values.force)) throw new UsageError('--repair and --force belong to gc');
  return action({ ...values, path: storePath(values.store, io) }, io);
}

async function stats(request: Request, io: Io): Promise<number> {
  const { opened, code } = await inEachStore(request, io, (store) => store.stats());
  const tenants = Object.fromEntries(opened.map(({ tenant, value }) => [tenant, value]));
  const all = opened.map(({ value }) => value);
  if (request.json) io.stdout(asJson({ path: showPlace(request.path), ...sumOf(all), tenants }));
  else io.stdout(opened.map(({ value, ...shown }) => showStats(value, shown)).join('\n'));
  return code;
}

async function verify(request: Request, io: Io): Promise<number> {
  const { opened, code } = await inEachStore(request, io, (store) => store.verify());
  const problems = opened.flatMap(({ tenant, value }) => value.map((problem) => ({ tenant, ...problem })));
  const tenants = opened.map(({ tenant }) => tenant);
  if (request.json) io.stdout(asJson({ path: showPlace(request.path), tenants, problems }));
  else for (const { value, ...shown } of opened) io.stdout(showProblems(value, shown));
  return problems.length > 0 ? 1 : code;
}

interface Opened<T> extends Shown {
  readonly value: T;
}

/** Those that cannot be opened are told. */
async function inEachStore<T>(request: Request, io: Io, work: (store: Store) => Promise<T>) {
  const found = await withEachStore(request, work);
  const place = showPlace(request.path);
  const isPlain = found.length === 1 && found[0]?.tenant === DEFAULT_TENANT;
  const opened: Opened<T>[] = [];
  for (const { tenant, value, error } of found) {
    const where = isPlain ? place : `${place}, tenant ${tenant}`;
    if (error) io.stderr(`palimpsest store: ${isPlain ? '' : `tenant ${tenant}: `}${error.message}\n`);
    else opened.push({ tenant, value: value as T, where });
  }
  return { opened, code: opened.length < found.length ? 1 : 0 };
}

async function gc(request: Request, io: Io): Promise<number> {
  const { json, repair, force } = request;
  const options = { repair: repair === true, force: force === true };
  const report = await withStore({ ...request, mode: 'write' }, (store) => store.gc(options));
  io.stdout(json ? asJson(report) : showGc(report));
  return 0;
}

async function exportAll(request: Request, io: Io): Promise<number> {
  await withStore(request, async (store) => {
    for await (const record of store.export()) io.stdout(`${JSON.stringify(record)}\n`);
  });
  return 0;
}

const asJson = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;

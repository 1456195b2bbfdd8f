import type { PruneOptions, PruneReport, Removed, Store } from '../../store/store.ts';
import { type Io, UsageError } from '../io.ts';
import { hintFor, parseOptions } from '../parse-options.ts';
import { readServeConfig } from '../serve/serve-config.ts';
import { findSession } from './find-session.ts';
import { statsOf, sumOfEvents } from './gateway-events.ts';
import { type Retention, readAge, readRetention, retentionOf } from './retention.ts';
import { type Shown, showGc, showProblems, showPruned, showRemoved, showStats, sumOf } from './show-store.ts';
import { DEFAULT_TENANT, showPlace } from './stores.ts';
import { upkeep } from './upkeep.ts';
import { storePath, withEachStore, withStore } from './with-store.ts';

export const help = `palimpsest store: shows and maintains the store.

Usage: palimpsest store <action> [options]

  stats    size, age and growth
  verify   reads and checks everything; lists damage
  delete   removes a session, or everything that was not used for a while
  prune    removes the least recently used sessions, by age and size
  gc       frees the space of deleted data
  export   every text, turn, note and record to standard output, one JSON
           object a line

While a gateway serves, delete, prune and gc are done by the gateway.

Options:
  --session <id>      with delete: this session
  --older-than <age>  with delete: everything not used for 12h, 30d or 8w
  --max-age-days <n>  with prune: removes everything not used for this many days
  --max-bytes <size>  with prune: removes until the store is this small: 10GB.
                      Default of both: store.max_age_days and store.max_bytes
  --config <file>     where those are set (default: the user's configuration)
  --dry-run           with delete and prune: only shows what would be removed
  --repair            with gc: removes the data that verify reports as damaged
  --force             with gc: compacts however little there is to free
  --json              prints the result as JSON
  --store <place>     a folder, or a postgres:// address (default:
                      $PALIMPSEST_STORE, else ~/.palimpsest/store)
  --tenant <name>     whose store, if a gateway has several (default: all
                      for stats and verify, else default)
  -h, --help

Exit codes: 0 done, 1 failed or verify found problems, 2 wrong usage.
Example: palimpsest store prune --max-bytes 10GB --dry-run
`;

const OPTIONS = {
  session: { type: 'string' },
  'older-than': { type: 'string' },
  'max-age-days': { type: 'string' },
  'max-bytes': { type: 'string' },
  'dry-run': { type: 'boolean' },
  config: { type: 'string' },
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
  delete: deleteSome,
  prune: pruneStore,
  gc,
  export: exportAll,
};

export async function run(args: readonly string[], io: Io): Promise<number> {
  const { values, positionals } = parseOptions(args, OPTIONS);
  const [name = '', ...others] = positionals;
  const known = Object.keys(actions);
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (!action || others.length > 0) {
    const found = name === '' ? 'nothing' : `'${positionals.join(' ')}'`;
    throw new UsageError(`expected one of ${known.join(', ')} but found ${found}${hintFor(name, known)}`);
  }
  checkFlags(name, values);
  return action({ ...values, path: storePath(values.store, io) }, io);
}

/** The actions that a flag belongs to. Other flags belong to all actions. */
const BELONG: Readonly<Record<string, readonly string[]>> = {
  repair: ['gc'],
  force: ['gc'],
  session: ['delete'],
  'older-than': ['delete'],
  'max-age-days': ['prune'],
  'max-bytes': ['prune'],
  'dry-run': ['delete', 'prune'],
  config: ['prune', 'stats'],
};

function checkFlags(action: string, values: Values): void {
  for (const [flag, actions] of Object.entries(BELONG))
    if (values[flag as keyof Values] !== undefined && !actions.includes(action))
      throw new UsageError(`--${flag} belongs to ${actions.join(' and ')}`);
}

async function stats(request: Request, io: Io): Promise<number> {
  const { opened, code } = await inEachStore(request, io, statsOf);
  const tenants = Object.fromEntries(opened.map(({ tenant, value }) => [tenant, value]));
  const all = opened.map(({ value }) => value);
  const retention = await configuredRetention(request, quiet(io)).catch(() => undefined);
  if (request.json)
    io.stdout(
      asJson({
        path: showPlace(request.path),
        ...{ ...sumOf(all), gateway: sumOfEvents(all) },
        ...{ retention: retention ?? {}, tenants },
      }),
    );
  else io.stdout(opened.map(({ value, ...shown }) => showStats(value, { ...shown, retention })).join('\n'));
  return code;
}

async function deleteSome(request: Request, io: Io): Promise<number> {
  const { session, 'older-than': age, 'dry-run': dryRun = false } = request;
  if ((session === undefined) === (age === undefined))
    throw new UsageError('delete needs either --session <id> or --older-than <age>');
  const removed =
    session === undefined
      ? await pruned(request, { maxAgeMs: readAge('--older-than', age ?? ''), dryRun })
      : await deleteSession(request, session, dryRun);
  io.stdout(request.json ? asJson({ ...removed, dryRun }) : showRemoved(removed, { dryRun }));
  return 0;
}

async function deleteSession(request: Request, session: string, dryRun: boolean): Promise<Removed> {
  const name = await withStore(request, (store) => findSession(store, session));
  if (dryRun) return withStore(request, (store) => store.delete(name, { dryRun }));
  return upkeep(request, 'delete', name);
}

async function pruneStore(request: Request, io: Io): Promise<number> {
  const { 'dry-run': dryRun = false } = request;
  const retention = retentionOf(readRetention(request)) ?? (await configuredRetention(request, io));
  if (!retention)
    throw new UsageError(
      'prune needs --max-age-days or --max-bytes, or store.max_age_days or store.max_bytes in the configuration',
    );
  const report = await pruned(request, { ...retention, dryRun });
  io.stdout(request.json ? asJson({ ...report, dryRun }) : showPruned(report, { dryRun }));
  return 0;
}

/** A dry run needs no right to write. */
const pruned = (request: Request, options: PruneOptions): Promise<PruneReport> =>
  options.dryRun ? withStore(request, (store) => store.prune(options)) : upkeep(request, 'prune', options);

async function configuredRetention({ config }: Request, io: Io): Promise<Retention | undefined> {
  return retentionOf((await readServeConfig(config, io)).store ?? {});
}

const quiet = (io: Io): Io => ({ ...io, stderr: () => {} });

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

/** Reports stores that cannot be opened. */
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
  const report = await upkeep(request, 'gc', options);
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

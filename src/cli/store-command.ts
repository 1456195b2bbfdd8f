import type { Store } from '../store/store.ts';
import { type Io, UsageError } from './io.ts';
import { parseOptions } from './parse-options.ts';
import { showGc, showProblems, showStats } from './show-store.ts';
import { storePath, withStore } from './with-store.ts';

export const storeHelp = `palimpsest store: what the store holds, and its upkeep.

Usage: palimpsest store <stats | verify | gc | export> [options]

  stats    how much there is, and how much space it takes
  verify   reads everything and checks it; tells what is damaged
  gc       frees the space of what was deleted (nothing else may write)
  export   every text and turn to standard output, one JSON object a line

Options:
  --repair         with gc: gives up what verify reports as damaged
  --force          with gc: compacts however little there is to free
  --json           prints the result as JSON
  --store <path>   the store (default: $PALIMPSEST_STORE, else
                   ~/.palimpsest/store); only gc opens it for writing
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
} as const;

type Values = ReturnType<typeof parseOptions<typeof OPTIONS>>['values'];

interface Request extends Values {
  readonly path: string;
}

interface Action {
  readonly mode: 'read' | 'write';
  run(store: Store, request: Request, io: Io): Promise<number>;
}

const actions: Readonly<Record<string, Action>> = {
  stats: { mode: 'read', run: stats },
  verify: { mode: 'read', run: verify },
  gc: { mode: 'write', run: gc },
  export: { mode: 'read', run: exportAll },
};

export async function storeCommand(args: readonly string[], io: Io): Promise<number> {
  const { values, positionals } = parseOptions(args, OPTIONS);
  const [name = '', ...others] = positionals;
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (!action || others.length > 0) throw new UsageError(`expected one of ${Object.keys(actions).join(', ')}`);
  if (name !== 'gc' && (values.repair || values.force)) throw new UsageError('--repair and --force belong to gc');
  const path = storePath(values.store, io);
  return withStore({ path, mode: action.mode }, (store) => action.run(store, { ...values, path }, io));
}

async function stats(store: Store, { json, path }: Request, io: Io): Promise<number> {
  const found = await store.stats();
  io.stdout(json ? asJson({ path, ...found }) : showStats(found, path));
  return 0;
}

async function verify(store: Store, { json, path }: Request, io: Io): Promise<number> {
  const problems = await store.verify();
  io.stdout(json ? asJson({ path, problems }) : showProblems(problems, path));
  return problems.length > 0 ? 1 : 0;
}

async function gc(store: Store, { json, repair, force }: Request, io: Io): Promise<number> {
  const report = await store.gc({ repair: repair === true, force: force === true });
  io.stdout(json ? asJson(report) : showGc(report));
  return 0;
}

async function exportAll(store: Store, _request: Request, io: Io): Promise<number> {
  for await (const record of store.export()) io.stdout(`${JSON.stringify(record)}\n`);
  return 0;
}

const asJson = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;

import { Readable, Writable } from 'node:stream';
import type { McpOptions } from '../mcp/create-mcp-server.ts';
import type { Caller } from '../store/access.ts';
import { type Io, UsageError } from './io.ts';
import { parseOptions, readCount } from './parse-options.ts';
import { createLateStore, type LateStore } from './serve/late-store.ts';
import { findSession } from './store/find-session.ts';
import { DEFAULT_TENANT, showPlace } from './store/stores.ts';
import { elsewhere, storePath } from './store/with-store.ts';

export const help = `palimpsest mcp: lets an agent read masked texts again by itself.

Usage: palimpsest mcp [options]

An MCP server with the tools recall, search_masked, list_masked, list_turns
and context_report. recall answers every handle. The others need to know which
conversations are the caller's: one of --session, --credential-env (clients of
--http send their key as x-api-key or x-palimpsest-credential) or --whole-store.
An MCP client starts it and talks to it over standard input and output; with
--http it listens for clients itself. It only reads, also while a gateway or a
session writes to the same store.

Options:
  --http <port>      serve streamable HTTP at /mcp; 0 picks a free port
  --host <address>   with --http: where to listen (default: 127.0.0.1)
  --whole-store      you are the only user of the store: with a handle, an
                     agent searches and lists the conversations that have it
  --credential-env <name>
                     the variable with the key that the agent sends to its
                     provider: it searches and lists the conversations that
                     a gateway forwarded with that key
  --session <id>     search and list in this session only
  --max-chars <n>    size of an answer (default: 20000)
  --store <place>    a folder, or a postgres:// address (default:
                     $PALIMPSEST_STORE, else ~/.palimpsest/store)
  --tenant <name>    whose store, if a gateway has several (default:
                     default)
  -h, --help

$PALIMPSEST_TOKEN, if set, is the bearer token that clients of --http must
send. It is required if --host is not this machine.

Exit codes: 0 stopped, 1 failed, 2 wrong usage.
Example: claude mcp add palimpsest -- palimpsest mcp --whole-store
`;

const OPTIONS = {
  http: { type: 'string' },
  host: { type: 'string' },
  'whole-store': { type: 'boolean' },
  'credential-env': { type: 'string' },
  session: { type: 'string' },
  'max-chars': { type: 'string' },
  store: { type: 'string' },
  tenant: { type: 'string' },
} as const;

export async function run(args: readonly string[], io: Io): Promise<number> {
  const { values, positionals } = parseOptions(args, OPTIONS);
  if (positionals.length > 0) throw new UsageError(`expected options only but found '${positionals[0]}'`);
  const settings = {
    ...readCaller(values, io),
    ...(values['max-chars'] === undefined ? {} : { maxChars: readCount('--max-chars', values['max-chars']) }),
  };
  const serve = values.http === undefined ? overStdio(values, io) : overHttp(values, io);
  const { tenant = DEFAULT_TENANT } = values;
  const path = storePath(values.store, io);
  const store = await createLateStore(path, tenant);
  try {
    const isThere = await store.isThere();
    if (!isThere) io.stderr(await notThere(store, { path, tenant }));
    const { session: named } = settings;
    const session = named !== undefined && isThere ? await findSession(await store.open(), named) : named;
    await serve({ store: store.open, ...settings, session });
  } finally {
    await store.close();
  }
  return 0;
}

/** How clients prove which conversations are theirs. */
function readCaller(values: Values, io: Io): Caller {
  const { session, 'whole-store': wholeStore, 'credential-env': name, http } = values;
  if ([session, wholeStore, name].filter((value) => value !== undefined).length > 1)
    throw new UsageError('expected one of --session, --credential-env and --whole-store');
  if (name === undefined) return { session, wholeStore };
  if (http !== undefined)
    throw new UsageError('--credential-env is for standard input and output; with --http each client sends its key');
  const credential = io.env?.[name];
  if (credential) return { credential };
  throw new UsageError(`expected --credential-env to name a variable with a key but $${name} is empty or not set`);
}

async function notThere(store: LateStore, { path, tenant }: { path: string; tenant: string }): Promise<string> {
  const tenants = await store.tenants();
  const whose = tenants.length === 0 ? '' : ` for the tenant ${tenant}`;
  const others = elsewhere(tenant, tenants);
  return `palimpsest mcp: there is no store at ${showPlace(path)} yet${whose}; it is opened once it exists${others}\n`;
}

type Values = ReturnType<typeof parseOptions<typeof OPTIONS>>['values'];
type Serve = (options: McpOptions) => Promise<void>;

/** Serves until the client closes its end. */
function overStdio({ host }: Values, io: Io): Serve {
  if (host !== undefined) throw new UsageError('--host needs --http');
  if (!io.stdin)
    throw new UsageError('standard input is a terminal: an MCP client starts this. To try it by hand: --http 8788');
  // A generator around standard input cannot be ended while it waits, so Ctrl-C would have no effect.
  const input = io.stdin instanceof Readable ? io.stdin : Readable.from(io.stdin, { objectMode: false });
  const output = new Writable({
    decodeStrings: false,
    write: (chunk, _encoding, done) => {
      io.stdout(String(chunk));
      done();
    },
  });
  return async (options) => {
    const { serveStdio } = await import('../mcp/serve-stdio.ts');
    const server = serveStdio(options, { input, output });
    await Promise.race([server.closed, interrupted(io)]);
    await server.close();
  };
}

/** Serves until it is stopped. */
function overHttp({ http = '', host }: Values, io: Io): Serve {
  const port = readPort(http);
  const token = io.env?.PALIMPSEST_TOKEN;
  return async (options) => {
    // Loaded here, because the SDK would slow down the start of every other command.
    const { serveHttp } = await import('../mcp/serve-http.ts');
    const server = await serveHttp(options, { port, ...(host ? { host } : {}), ...(token ? { token } : {}) });
    io.stdout(`listening on ${server.url}\n`);
    await interrupted(io);
    await server.close();
  };
}

function readPort(value: string): number {
  const port = readCount('--http', value, 0);
  if (port <= 65_535) return port;
  throw new UsageError(`expected --http to be a port of 0 to 65535 but found '${value}'`);
}

const NEVER = new Promise<void>(() => {});
const interrupted = (io: Io): Promise<void> => io.interrupted?.() ?? NEVER;

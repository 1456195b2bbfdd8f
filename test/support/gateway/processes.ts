import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer as createTcpServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../modules.ts';
import { TOKEN } from './gateway.ts';

/** A `palimpsest serve` in a process of its own. */
export interface GatewayProcess {
  readonly url: string;
  readonly port: number;
  readonly child: ChildProcess;
  /** All that it wrote. */
  output(): string;
  /** With a signal, as a terminal sends it to all processes of a group; answers its exit code. */
  stop(signal?: NodeJS.Signals, options?: { readonly isGroup?: boolean }): Promise<number | null>;
}

/** Starts the program as it is published, in a home of its own, and waits until it listens. */
export async function startProcess(
  args: readonly string[],
  folder: string,
  runtime: string = process.execPath,
  variables: Readonly<Record<string, string>> = {},
): Promise<GatewayProcess> {
  const env = { PATH: process.env.PATH, HOME: folder, PALIMPSEST_TOKEN: TOKEN, ...variables };
  const main = join(ROOT, 'dist/cli/main.js');
  const child = spawn(runtime, [main, 'serve', ...args], { cwd: folder, env, detached: true });
  let output = '';
  const url = await new Promise<string>((resolve, reject) => {
    const hear = (chunk: Buffer): void => {
      output += chunk;
      const found = /^listening on (\S+)$/m.exec(output)?.[1];
      if (found) resolve(found);
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.once('exit', (code) => reject(new Error(`Expected it to listen but it ended with ${code}:\n${output}`)));
  });
  return {
    url,
    port: Number(new URL(url).port),
    child,
    output: () => output,
    stop: async (signal = 'SIGTERM', { isGroup = false } = {}) => {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
      const gone = once(child, 'exit');
      process.kill(isGroup ? -(child.pid as number) : (child.pid as number), signal);
      const [code] = await gone;
      return code as number | null;
    },
  };
}

/** Something in front of several gateways. */
export interface Balancer {
  readonly url: string;
  /** Whether it is the one of the example. */
  readonly isNginx: boolean;
  close(): Promise<void>;
}

/** nginx with the configuration of the example, or where there is none, a few lines that do the same. */
export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  return spawnSync('nginx', ['-v']).status === 0 ? startNginx(ports) : startOwnBalancer(ports);
}

async function startNginx(ports: readonly number[]): Promise<Balancer> {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-nginx-'));
  const port = await freePort();
  const example = readFileSync(join(ROOT, 'examples/nginx/nginx.conf'), 'utf8');
  const config = example
    .replace('server 127.0.0.1:8801', `server 127.0.0.1:${ports[0]}`)
    .replace('server 127.0.0.1:8802', `server 127.0.0.1:${ports[1]}`)
    .replace('listen 8787', `listen 127.0.0.1:${port}`)
    .replace('/tmp/palimpsest-nginx.pid', join(folder, 'nginx.pid'))
    .replace(
      'http {',
      `http {\n${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `  ${name}_temp_path ${join(folder, name)};`).join('\n')}`,
    );
  writeFileSync(join(folder, 'nginx.conf'), config);
  const child = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf'), '-g', 'daemon off;'], {
    stdio: 'pipe',
  });
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  await untilOpen(port, () => errors);
  return {
    url: `http://127.0.0.1:${port}`,
    isNginx: true,
    close: async () => {
      const gone = once(child, 'exit');
      child.kill('SIGTERM');
      await gone;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Connections in turn, to the first gateway that takes them. */
async function startOwnBalancer(ports: readonly number[]): Promise<Balancer> {
  let turn = 0;
  const sockets = new Set<Socket>();
  const server = createTcpServer((client) => {
    sockets.add(client);
    client.on('error', () => {});
    const first = turn++;
    const join = (attempt: number): void => {
      const upstream = connect(ports[(first + attempt) % ports.length] as number, '127.0.0.1');
      upstream.once('connect', () => client.pipe(upstream).pipe(client));
      upstream.once('error', () => (attempt + 1 < ports.length ? join(attempt + 1) : client.destroy()));
      upstream.once('close', () => upstream.bytesRead > 0 && client.destroy());
      client.once('close', () => upstream.destroy());
    };
    join(0);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    isNginx: false,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}

async function untilOpen(port: number, errors: () => string): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`Expected nginx to listen:\n${errors()}`);
}

async function freePort(): Promise<number> {
  const server = createTcpServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

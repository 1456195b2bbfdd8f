import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import {
  type CallToolResult,
  Client,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { ROOT } from './modules.ts';

export const MAIN = join(ROOT, 'dist/cli/main.js');

/** The revisions of the protocol that are in use: the one that agents speak, and the newest. */
export const REVISIONS = ['legacy', { pin: '2026-07-28' }] as const;
export type Revision = (typeof REVISIONS)[number];

export async function connect(transport: Transport, mode: Revision): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
  await client.connect(transport);
  return client;
}

/** Starts `palimpsest mcp` as an agent would. */
export function overStdio(
  args: readonly string[],
  mode: Revision,
  env: Readonly<Record<string, string>> = {},
): Promise<Client> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [MAIN, 'mcp', ...args],
    stderr: 'inherit',
    env: { PATH: process.env.PATH ?? '', ...env },
  });
  return connect(transport, mode);
}

export interface HttpChild {
  readonly url: string;
  readonly child: ChildProcess;
  /** Ctrl-C, and the exit code. */
  stop(): Promise<number | null>;
}

/** Starts `palimpsest mcp --http 0` and waits until it listens. */
export async function startHttp(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<HttpChild> {
  const child = spawn(process.execPath, [MAIN, 'mcp', '--http', '0', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  const exited = once(child, 'exit');
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const url = /^listening on (http:\S+)$/.exec(line)?.[1];
  if (!url) throw new Error(`Expected the address but found '${line}'`);
  const stop = async (): Promise<number | null> => {
    child.kill('SIGINT');
    return (await exited)[0];
  };
  return { url, child, stop };
}

export const overHttp = (
  url: string,
  mode: Revision,
  headers: Readonly<Record<string, string>> = {},
): Promise<Client> => connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }), mode);

export interface Answer {
  readonly text: string;
  readonly isError: boolean;
}

export async function ask(client: Client, name: string, input: Readonly<Record<string, unknown>>): Promise<Answer> {
  const { content, isError = false } = (await client.callTool({ name, arguments: input })) as CallToolResult;
  const [first] = content;
  return { text: first?.type === 'text' ? first.text : '', isError };
}

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder, scratchFolder } from '../support/modules.ts';
import type { Script } from './provider/script.ts';

/** A terminal agent from npm that takes a base URL, and the Node that it needs. */
const PACKAGES = ['@earendil-works/pi-coding-agent@0.87.1', 'node@22.23.3'];
const INSTALL_MS = 300_000;
const RUN_MS = 180_000;

/** An agent that is installed, or why it is not. */
export type Agent = { readonly folder: string } | { readonly reason: string };

/** Installs the agent once, beside what other tests keep. It appears there whole or not at all. */
export async function installAgent(): Promise<Agent> {
  const folder = join(cacheFolder('.'), `agent ${PACKAGES.join(' ')}`.replace(/[^\w.]+/g, '-'));
  if (existsSync(folder)) return { folder };
  const fresh = scratchFolder('agent-install');
  writeFileSync(join(fresh, 'package.json'), '{ "private": true }');
  const args = ['install', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel', 'error', ...PACKAGES];
  const { code, output } = await run('npm', args, { cwd: fresh, env: process.env, timeoutMs: INSTALL_MS });
  if (code === 0 && !existsSync(folder)) renameSync(fresh, folder);
  else rmSync(fresh, { recursive: true, force: true });
  return code === 0 ? { folder } : { reason: `npm install of ${PACKAGES[0]} failed: ${output.slice(-300)}` };
}

/** Whether a machine may do without the agent: CI may not. */
export const mayMiss = !process.env.CI && !process.env.PALIMPSEST_CI;

/** What the agent did. */
export interface AgentRun {
  readonly code: number | null;
  /** Standard output and error. */
  readonly output: string;
  /** Where it worked. */
  readonly folder: string;
}

/** Turns in which the scripted job calls a tool. */
export const AGENT_TURNS = 40;

const TASK = 'Write the numbers down, look at them again and again, and say when you are done.';

/** What the model does in the job: it writes, reads, edits and runs, with enough output to be masked. */
export const agentScript: Script = ({ turn }) => {
  if (turn >= AGENT_TURNS) return { text: `The job is done after ${AGENT_TURNS} turns.` };
  if (turn === 0) return call('write', { path: 'numbers.txt', content: 'start\n' });
  if (turn === AGENT_TURNS - 1)
    return call('edit', { path: 'numbers.txt', edits: [{ oldText: 'start', newText: 'the end' }] });
  if (turn % 4 === 3) return call('read', { path: 'numbers.txt' });
  const command = `for i in $(seq 1 60); do echo "turn ${turn} line $i of the numbers"; done`;
  return call('bash', { command: turn % 4 === 2 ? `echo ${turn} >> numbers.txt && cat numbers.txt` : command });
};

const call = (name: string, input: Readonly<Record<string, unknown>>) => ({
  text: `I use ${name}.`,
  calls: [{ name, input }],
});

/** Runs the job against a base URL, with nobody's settings: an empty environment and a home of its own. */
export async function runAgent(agent: { readonly folder: string }, url: string): Promise<AgentRun> {
  const home = scratchFolder('agent-home');
  const folder = join(home, 'work');
  mkdirSync(folder);
  writeSettings(home, url);
  const bin = join(agent.folder, 'node_modules/.bin');
  const args = [join(bin, 'pi'), '-p', '--offline', '--provider', 'local', '--model', 'claude-sonnet-5', TASK];
  const env = { HOME: home, PATH: `${bin}:/usr/local/bin:/usr/bin:/bin`, PI_OFFLINE: '1' };
  const { code, output } = await run(join(bin, 'node'), args, { cwd: folder, env, timeoutMs: RUN_MS });
  return { code, output, folder };
}

function writeSettings(home: string, url: string): void {
  const settings = join(home, '.pi/agent');
  mkdirSync(settings, { recursive: true });
  const model = {
    id: 'claude-sonnet-5',
    name: 'scripted',
    reasoning: false,
    input: ['text'],
    cost: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
    contextWindow: 200_000,
    maxTokens: 4096,
  };
  const provider = { baseUrl: url, api: 'anthropic-messages', apiKey: 'sk-ant-test', models: [model] };
  writeFileSync(join(settings, 'models.json'), JSON.stringify({ providers: { local: provider } }));
}

interface RunOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly timeoutMs: number;
}

function run(command: string, args: readonly string[], options: RunOptions) {
  const { cwd, env, timeoutMs } = options;
  return new Promise<{ code: number | null; output: string }>((resolve) => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: timeoutMs });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    child.on('error', (error) => resolve({ code: null, output: String(error) }));
    child.on('close', (code) => resolve({ code, output }));
  });
}

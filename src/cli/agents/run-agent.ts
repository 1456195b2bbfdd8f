import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { PalimpsestError } from '../../errors.ts';
import type { Status, Totals } from '../../gateway/receipts/receipt.ts';
import type { Io } from '../io.ts';
import { openStores, type RunningGateway, readServing, type Serving, startGateway } from '../serve/serve.ts';
import { addressFor, showSteps } from '../serve/serve-greeting.ts';
import type { ServeFlags } from '../serve/serve-options.ts';
import { upstreamsFrom } from '../serve/upstreams-from.ts';
import { runTenant, type Stores, showPlace } from '../store/stores.ts';
import { storePath } from '../store/with-store.ts';
import { type Agent, type AgentSettings, addressesOf, agents, allVariables, type Setup } from './agents.ts';
import { findAgent } from './find-agent.ts';
import { runChild, Signals } from './run-child.ts';
import { shareRuns } from './run-stores.ts';
import { showReceipt } from './show-receipt.ts';

interface Run {
  readonly flags: ServeFlags;
  readonly command: string;
  readonly args: readonly string[];
}

/** Runs a command behind its own gateway, and returns the exit code. */
export async function runAgent({ flags, command, args }: Run, io: Io): Promise<number> {
  const { env = {} } = io;
  const agent = flags.for === undefined ? agentOf(command) : findAgent(flags.for);
  const upstream = [...upstreamsFrom(agent?.variables ?? allVariables, env), ...(flags.upstream ?? [])];
  const own = { ...flags, upstream, port: flags.port ?? '0', host: '127.0.0.1', 'whole-store': true, quiet: true };
  const { gateway, serving } = await startBeside(await readServing(own, io));
  // Before there is anything to clean up.
  const signals = new Signals();
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-run-'));
  let hasStarted = false;
  try {
    const address = addressFor({ url: gateway.url, isPublic: serving.settings.isPublic, token: serving.token });
    const setup = agent?.setup(address, env) ?? { env: addressesOf(allVariables, address) };
    io.stderr(agent ? await showMissing(agent, setup, io) : unknownAgent(command));
    const child = {
      command,
      args: [...(setup.args ?? []), ...writeConfig(setup, folder), ...args],
      env: { ...env, ...setup.env, PALIMPSEST_TOKEN: serving.token },
    };
    const exit = await runChild(child, signals, io);
    hasStarted = exit.hasStarted;
    return exit.code;
  } finally {
    rmSync(folder, { recursive: true, force: true });
    const { store, tenant } = serving.settings;
    const totals = await totalsOf(gateway.url, serving.token).catch(() => undefined);
    await gateway.close({ graceMs: LAST_GRACE_MS });
    const place = { store: showPlace(store), tenant, isUsual: store === storePath(undefined, io) };
    if (hasStarted && !flags.quiet && totals) io.stderr(showReceipt(totals, place));
  }
}

/** The sums of all requests so far. */
async function totalsOf(url: string, token: string): Promise<Totals> {
  const response = await fetch(`${url}/_palimpsest/api/status`, { headers: { authorization: `Bearer ${token}` } });
  return ((await response.json()) as Status).totals;
}

interface Started {
  readonly gateway: RunningGateway;
  readonly serving: Serving;
}

/** A store in a folder has one writer. A second run at the same time keeps its texts in the same place, as its own tenant. */
async function startBeside(serving: Serving, number = 1): Promise<Started> {
  const { settings } = serving;
  const tenant = number === 1 ? settings.tenant : runTenant(number);
  const own = { ...serving, settings: { ...settings, tenant } };
  const place = { path: settings.store, first: settings.tenant, tenant };
  const open = async (): Promise<Stores> => shareRuns(await openStores(own), place);
  try {
    return { gateway: await startGateway(own, open), serving: own };
  } catch (error) {
    const isTaken = error instanceof PalimpsestError && error.code === 'STORE_LOCKED';
    if (!isTaken || number >= MOST_RUNS) throw error;
    return startBeside(serving, number + 1);
  }
}

const MOST_RUNS = 64;

/** After the command has ended, nothing reads the answers to its requests. */
const LAST_GRACE_MS = 500;

const agentOf = (command: string): Agent | undefined => {
  const name = basename(command).replace(/\.(?:exe|cmd|js)$/i, '');
  return agents.find((agent) => agent.command === name);
};

const unknownAgent = (command: string): string =>
  `palimpsest run: '${basename(command)}' is not an agent that palimpsest can set up. It finds the addresses in ` +
  `${allVariables.map(({ name }) => name).join(', ')}, and has no recall. Agents: --for ${agents.map(({ name }) => name).join(', ')}\n`;

/** The temporary file is readable by the user alone: it holds the token. */
function writeConfig({ mcpConfig }: Setup, folder: string): string[] {
  if (!mcpConfig) return [];
  const path = join(folder, 'mcp.json');
  writeFileSync(path, JSON.stringify(mcpConfig.content), { mode: 0o600 });
  // One word, because Claude Code reads every following word as another file.
  return [`${mcpConfig.flag}=${path}`];
}

/** The lines that only a file of the user can hold. The file itself is not edited. */
async function showMissing({ title }: Agent, { userFile }: Setup, io: Io): Promise<string> {
  if (!userFile) return '';
  const { path, homeVariable, missing } = userFile;
  const home = join(io.env?.[homeVariable] || homedir(), path);
  const [own, folder] = await Promise.all([readSettings(home, io), readSettings(path, io)]);
  if (!own || !folder) return '';
  const steps = missing({ ...own, ...folder, mcpServers: { ...own.mcpServers, ...folder.mcpServers } });
  if (steps.length === 0) return '';
  return `palimpsest run: ${title} needs lines in its settings. Add them to ${home} once:\n\n${showSteps(steps)}\n`;
}

/** Undefined for a file that is not JSON: with comments in it, for example. */
async function readSettings(path: string, io: Io): Promise<AgentSettings | undefined> {
  const text = await io.readFile(path).catch(() => '{}');
  try {
    return JSON.parse(text) as AgentSettings;
  } catch {
    return undefined;
  }
}

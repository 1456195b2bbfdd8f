import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Receipt } from '../../src/gateway/index.ts';
import { everyProvider } from '../support/gateway/gateway.ts';
import { type Provider, type SeenRequest, startProvider } from '../support/provider/start-provider.ts';
import { type Agent, mcpCommand, type Place } from './agents.ts';
import { GatewayProcess } from './gateway-process.ts';
import { startGuarded } from './guarded.ts';
import { jobScript, writeProject } from './job.ts';

const BIN = fileURLToPath(new URL('node_modules/.bin', import.meta.url));
const RUN_MS = 240_000;

/** A job that an agent did through a gateway. */
export interface AgentRun {
  readonly code: number | null;
  readonly output: string;
  readonly provider: Provider;
  /** Of all gateways that ran. */
  readonly receipts: readonly Receipt[];
  /** The text that the model recalled, as the store has it. */
  readonly recalled: string | undefined;
}

export interface AgentRunOptions {
  /** Undefined: the default. */
  readonly policy?: string;
  /** Kills the gateway in the middle of a request and starts another one in its place. */
  readonly isKilled?: boolean;
}

/** Runs the job against a strict upstream, with an empty environment and a home of its own. */
export async function runAgent(agent: Agent, { policy, isKilled = false }: AgentRunOptions): Promise<AgentRun> {
  const home = mkdtempSync(join(tmpdir(), 'palimpsest-agent-'));
  const work = join(home, 'work');
  writeProject(work);
  const receipts: Receipt[] = [];
  const keepReceipts = async (): Promise<void> => {
    const known = receipts.filter(({ status }) => status === 200).length;
    receipts.push(...(await gateway.receipts(paidRequests(provider).length - known)));
  };
  let recalled: string | undefined;
  const script = jobScript(agent, {
    work,
    interrupt: async () => {
      if (!isKilled) return;
      await keepReceipts();
      await gateway.kill();
      await gateway.start();
    },
    recalls: async (handle) => {
      recalled = await gateway.recall(handle);
    },
  });
  const provider = await startProvider({ script });
  const upstreams = Object.entries(everyProvider(provider.url)).flatMap(([name, url]) => [
    '--upstream',
    `${name}=${url}`,
  ]);
  const store = join(home, 'store');
  const gateway = new GatewayProcess(
    ['--store', store, '--quiet', ...upstreams, ...(policy === undefined ? [] : ['--policy', policy])],
    home,
  );
  try {
    await gateway.start();
    const { code, output } = await startAgent(agent, {
      home,
      work,
      place: { url: gateway.url, mcp: mcpCommand(store) },
    });
    await keepReceipts();
    return { code, output, provider, receipts, recalled };
  } finally {
    await gateway.kill();
    await provider.close();
    rmSync(home, { recursive: true, force: true });
  }
}

/** Requests that were billed, but for one that was cut off: it has no receipt. */
export const paidRequests = ({ requests }: Provider): readonly SeenRequest[] =>
  requests.filter(({ charge, aborted }) => charge && !aborted);

interface Start {
  readonly home: string;
  readonly work: string;
  readonly place: Place;
}

/** The environment of a program that has nothing but this home and the agents. */
export const environmentIn = (home: string): Readonly<Record<string, string>> => ({
  HOME: home,
  PATH: `${BIN}:/usr/local/bin:/usr/bin:/bin`,
  LANG: 'C.UTF-8',
  TERM: 'dumb',
  TMPDIR: home,
});

/** Runs an agent in a home of its own until it ends. */
export async function startAgent(
  agent: Agent,
  { home, work, place }: Start,
): Promise<{ code: number | null; output: string }> {
  for (const [path, text] of Object.entries(agent.files?.(place) ?? {})) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text);
  }
  const [program = '', ...args] = agent.command(place);
  const env = { ...environmentIn(home), ...agent.env?.(place) };
  const started = startGuarded([join(BIN, program), ...args], { cwd: work, env });
  const timer = setTimeout(() => void started.kill(), RUN_MS);
  const code = await started.ended;
  clearTimeout(timer);
  return { code, output: started.output() };
}

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

/** A process that is started again whenever it ends, as systemd or Docker would. */
export interface Supervised {
  /** The process and its children. The first one is the process itself; empty while it is down. */
  pids(): readonly number[];
  /** How often it was started again. */
  restarts(): number;
  /** Its last lines, for a report. */
  output(): string;
  /** Each time it, or a child that it tells of, ended without being killed by us. */
  crashes(): readonly string[];
  /** Kills it, not its children. Resolves when it has ended. */
  kill(): Promise<void>;
  /** Resolves when it is ready. Rejects after `START_MS`. */
  up(): Promise<void>;
  /** Asks it to end, and does not start it again. Answers the exit code; undefined where it had to be killed. */
  stop(graceMs: number): Promise<number | null | undefined>;
  start(): Promise<void>;
}

export interface SupervisedOptions {
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** Whether the output says that it is ready. */
  readonly isReady: (output: string) => boolean;
  /** Whether a line tells that a child of its crashed. */
  readonly isCrash?: (line: string) => boolean;
}

const START_MS = 60_000;
const RESTART_MS = 200;
const KEPT_CHARS = 20_000;

export async function supervise(options: SupervisedOptions): Promise<Supervised> {
  const { args, env, cwd, isReady, isCrash = () => false } = options;
  const crashes: string[] = [];
  let child: ChildProcess | undefined;
  let isReadyNow = false;
  let isWanted = true;
  let starts = 0;
  let output = '';
  const spawnOne = (): void => {
    starts += 1;
    let heard = '';
    // A group of its own: Ctrl-C in the terminal reaches the runner only, which then ends everything in order.
    const started = spawn(process.execPath, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    child = started;
    const hear = (chunk: Buffer): void => {
      output = (output + chunk).slice(-KEPT_CHARS);
      // Children of a process that was killed may still write.
      if (isReadyNow || child !== started) return;
      heard += chunk;
      isReadyNow = isReady(heard);
    };
    for (const stream of [started.stdout, started.stderr]) {
      stream?.on('data', hear);
      if (stream) createInterface(stream).on('line', (line) => isCrash(line) && crashes.push(line));
    }
    started.once('exit', (code, signal) => {
      if (isReadyNow && isWanted && signal !== 'SIGKILL')
        crashes.push(`it ended with ${code ?? signal}: ${output.slice(-1000)}`);
      isReadyNow = false;
      child = undefined;
      if (isWanted) void sleep(RESTART_MS).then(() => isWanted && !child && spawnOne());
    });
  };
  const up = async (): Promise<void> => {
    for (const until = Date.now() + START_MS; Date.now() < until; await sleep(20)) if (isReadyNow) return;
    throw new Error(`Expected ${args.slice(0, 3).join(' ')} to be ready within ${START_MS} ms but it said:\n${output}`);
  };
  spawnOne();
  await up();
  return {
    pids: () => (child?.pid ? [child.pid, ...childrenOf(child.pid)] : []),
    restarts: () => starts - 1,
    output: () => output,
    crashes: () => crashes,
    up,
    kill: async () => {
      const killed = child;
      if (!killed) return;
      const gone = once(killed, 'exit');
      killed.kill('SIGKILL');
      await gone;
    },
    start: async () => {
      isWanted = true;
      spawnOne();
      await up();
    },
    stop: async (graceMs) => {
      isWanted = false;
      const stopping = child;
      if (!stopping) return undefined;
      const all = [stopping.pid as number, ...childrenOf(stopping.pid as number)];
      const gone = once(stopping, 'exit');
      stopping.kill('SIGTERM');
      const [code] = await Promise.race([gone, sleep(graceMs, [undefined], { ref: false })]);
      if (code === undefined) for (const pid of all) kill(pid);
      await gone;
      return code as number | null | undefined;
    },
  };
}

function childrenOf(pid: number): number[] {
  const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' });
  return stdout.split('\n').map(Number).filter(Boolean);
}

/** Answers whether the process was there. */
export function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}

export interface Usage {
  readonly memoryBytes: number;
  readonly files: number;
}

/** What processes use together; undefined where the system does not tell. */
export function usageOf(pids: readonly number[]): Usage | undefined {
  if (process.platform !== 'linux') return undefined;
  let [memoryBytes, files] = [0, 0];
  for (const pid of pids) {
    try {
      memoryBytes += 1024 * Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
      files += readdirSync(`/proc/${pid}/fd`).length;
    } catch {
      return undefined;
    }
  }
  return { memoryBytes, files };
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/** A program in a process group of its own, and all that it wrote. */
export interface Guarded {
  readonly child: ChildProcess;
  output(): string;
  /** Its exit code; null if a signal ended it. */
  readonly ended: Promise<number | null>;
  /** Ends the whole group with SIGKILL. */
  kill(): Promise<void>;
}

export interface GuardedOptions {
  readonly cwd: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** The pipe on descriptor 3 closes when this process ends, however it does: then the group ends too. */
const GUARD = '(cat <&3; kill -9 0) >/dev/null 2>&1 & exec 3<&-; exec "$@" </dev/null';

/** Starts a program that never outlives this process. */
export function startGuarded(command: readonly string[], { cwd, env }: GuardedOptions): Guarded {
  const child = spawn('/bin/sh', ['-c', GUARD, 'sh', ...command], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const killGroup = (): void => {
    try {
      process.kill(-(child.pid as number), 'SIGKILL');
    } catch {
      // The group has ended by itself.
    }
  };
  child.once('exit', killGroup);
  const ended = once(child, 'close').then(([code]) => code as number | null);
  return {
    child,
    output: () => output,
    ended,
    kill: async () => {
      killGroup();
      await ended;
    },
  };
}

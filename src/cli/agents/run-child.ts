import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import type { Io } from '../io.ts';
import type { Environment } from './agents.ts';

interface Child {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Environment;
}

/** The exit code of a command, or the reason as a shell tells it where it could not be started. */
interface ChildExit {
  readonly code: number;
  readonly hasStarted: boolean;
}

/** Signals to this process: they are forwarded to the command. One that comes before its start prevents it. */
export class Signals {
  #child: ChildProcess | undefined;
  #first: NodeJS.Signals | undefined;

  /** The handlers stay until this process ends: a second Ctrl-C must not suppress the receipt. */
  constructor() {
    for (const signal of SIGNALS) process.on(signal, () => this.#take(signal));
  }

  /** The first signal that came. */
  get first(): NodeJS.Signals | undefined {
    return this.#first;
  }

  forwardTo(child: ChildProcess): void {
    this.#child = child;
  }

  #take(signal: NodeJS.Signals): void {
    this.#first ??= signal;
    // A terminal sends these to every process of the group, so the command has the signal. A second one would end some agents.
    if (!(hasTerminal() && KEYS.includes(signal))) this.#child?.kill(signal);
  }
}

/** Runs a command with the terminal of this process, and returns its exit code: 128 and the number of a signal that ended it. */
export async function runChild({ command, args, env }: Child, signals: Signals, io: Io): Promise<ChildExit> {
  if (signals.first) return { code: 128 + constants.signals[signals.first], hasStarted: false };
  const child = spawn(command, args, { env, stdio: 'inherit' });
  signals.forwardTo(child);
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    return { code: signal ? 128 + constants.signals[signal] : (code ?? 1), hasStarted: true };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    io.stderr(
      `palimpsest run: could not start '${command}': ${code === 'ENOENT' ? 'there is no such command' : message}\n`,
    );
    return { code: code === 'ENOENT' ? 127 : 126, hasStarted: false };
  }
}

/** Sent by keys: Ctrl-C and Ctrl-\. */
const KEYS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT'];
const SIGNALS: readonly NodeJS.Signals[] = [...KEYS, 'SIGTERM', 'SIGHUP'];

const hasTerminal = (): boolean => [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY);

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { ROOT } from './modules.ts';

/**
 * A process that writes until it is ended. It prints `open`, then each text once it is acknowledged, `stopped` before it stops itself,
 * and at last `ended` with the error that ended it. Its first argument is the folder of the built package.
 */
export class WriterProcess {
  /** The texts that it acknowledged, in order. */
  readonly acknowledged: string[] = [];
  readonly #process: ChildProcess;
  readonly #output: Readable;
  readonly #closed: Promise<unknown>;
  #isClosed = false;
  #hasStopped = false;
  #end: string | undefined;
  /** The beginning of a line. A kill may have cut it off. */
  #rest = '';

  constructor(program: string, args: readonly string[]) {
    const built = pathToFileURL(join(ROOT, 'dist')).href;
    this.#process = spawn(process.execPath, [join(ROOT, program), built, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#output = this.#process.stdout as Readable;
    this.#output.setEncoding('utf8').on('data', (text: string) => this.#hear(text));
    this.#closed = once(this.#process, 'close').then(() => {
      this.#isClosed = true;
    });
  }

  /** The line about the error that ended it. */
  get end(): string | undefined {
    return this.#end;
  }

  /** Resolves when it has acknowledged so many texts more, or has ended. */
  async writes(count: number): Promise<void> {
    const until = this.acknowledged.length + count;
    await this.#says(() => this.acknowledged.length >= until);
  }

  /** Resolves when it is about to stop itself, or has ended. */
  async stops(): Promise<void> {
    await this.#says(() => this.#hasStopped);
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  async ended(): Promise<void> {
    await this.#closed;
  }

  async #says(isSaid: () => boolean): Promise<void> {
    while (!isSaid() && this.#end === undefined && !this.#isClosed)
      await Promise.race([once(this.#output, 'data'), this.#closed]);
  }

  #hear(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line.startsWith('ended ')) this.#end = line;
      else if (line === 'stopped') this.#hasStopped = true;
      else if (line !== 'open') this.acknowledged.push(line);
    }
  }
}

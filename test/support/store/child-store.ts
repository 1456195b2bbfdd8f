import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import type { StoreLimits } from '../../../src/store/embedded/embedded-options.ts';
import { ROOT } from '../modules.ts';

interface Line {
  readonly is?: string;
  readonly pid?: number;
  readonly answer?: unknown;
  readonly code?: string;
  readonly message?: string;
}

/** A store that another process has open. Its calls are answered in turn. */
export class ChildStore {
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<unknown>;
  opened: Line = {};

  private constructor(child: ChildProcess) {
    this.#process = child;
    this.#ended = new Promise((resolve) => child.once('close', resolve));
    if (!child.stdout) throw new Error('Expected a child with an output');
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  static async open(path: string, mode: 'read' | 'write', limits: StoreLimits = {}): Promise<ChildStore> {
    const args = [
      `${ROOT}/test/support/store/child.js`,
      pathToFileURL(`${ROOT}/dist`).href,
      path,
      mode,
      JSON.stringify(limits),
    ];
    const store = new ChildStore(spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] }));
    store.opened = await store.#next();
    return store;
  }

  async #next(): Promise<Line> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error('Expected a line but the process ended');
    return JSON.parse(value) as Line;
  }

  async call(call: string, ...args: unknown[]): Promise<Line> {
    this.#process.stdin?.write(`${JSON.stringify({ call, args })}\n`);
    return this.#next();
  }

  async end(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    this.#process.kill(signal);
    await this.#ended;
  }
}

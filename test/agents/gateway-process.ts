import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { ConversationSummary, Receipt } from '../../src/gateway/index.ts';
import { TOKEN } from '../support/gateway/gateway.ts';
import { ROOT } from '../support/modules.ts';
import { type Guarded, startGuarded } from './guarded.ts';

/** Receipts are written after the bytes were passed on, but not long after. */
const MOST_RECEIPT_MS = 10_000;

/** `palimpsest serve` as it is published, in a process that can be killed and started again. */
export class GatewayProcess {
  readonly #args: readonly string[];
  readonly #home: string;
  #process: Guarded | undefined;
  #port = 0;

  /** `home` holds its store. */
  constructor(args: readonly string[], home: string) {
    this.#args = args;
    this.#home = home;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** On a free port, then always on the same one. */
  async start(): Promise<void> {
    const main = join(ROOT, 'dist/cli/main.js');
    const command = [process.execPath, main, 'serve', '--port', String(this.#port), ...this.#args];
    const env = { PATH: process.env.PATH ?? '', HOME: this.#home, PALIMPSEST_TOKEN: TOKEN };
    const started = startGuarded(command, { cwd: this.#home, env });
    this.#process = started;
    let hasEnded = false;
    void started.ended.then(() => {
      hasEnded = true;
    });
    for (;;) {
      const port = /^listening on \S+:(\d+)$/m.exec(started.output())?.[1];
      if (port) this.#port = Number(port);
      if (port) return;
      if (hasEnded) throw new Error(`Expected the gateway to listen but it ended:\n${started.output()}`);
      await wait(20);
    }
  }

  async kill(): Promise<void> {
    await this.#process?.kill();
  }

  /** The receipts since its start, once so many requests that were answered have one. */
  async receipts(answered: number): Promise<Receipt[]> {
    for (const end = Date.now() + MOST_RECEIPT_MS; ; await wait(20)) {
      const receipts = await this.#receipts();
      if (Date.now() > end || receipts.filter(({ status }) => status === 200).length >= answered) return receipts;
    }
  }

  async recall(handle: string): Promise<string> {
    return (await this.#ask<{ text: string }>(`masked/${handle}`)).text;
  }

  async #receipts(): Promise<Receipt[]> {
    const { conversations } = await this.#ask<{ conversations: ConversationSummary[] }>('conversations');
    const asked = conversations.map(({ id }) => this.#ask<{ receipts: Receipt[] }>(`conversations/${id}`));
    return (await Promise.all(asked)).flatMap(({ receipts }) => receipts);
  }

  async #ask<T>(path: string): Promise<T> {
    const headers = { authorization: `Bearer ${TOKEN}` };
    const response = await fetch(`${this.url}/_palimpsest/api/${path}`, { headers });
    if (!response.ok) throw new Error(`Expected ${path} to be answered but found ${await response.text()}`);
    return (await response.json()) as T;
  }
}

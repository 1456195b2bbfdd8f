import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { TOKEN } from '../support/gateway/gateway.ts';
import { ROOT } from '../support/modules.ts';
import { disturbances } from './disturbances.ts';
import { converse, type HonestOptions } from './honest-client.ts';
import { createRandom } from './random.ts';
import { type Usage, usageOf } from './supervisor.ts';
import type { Saw } from './upstream-process.ts';
import { type Kind, type StoreKind, startWorld, type World } from './world.ts';

export interface RoundOptions {
  readonly store: StoreKind;
  readonly kinds: readonly Kind[];
  readonly seed: number;
  readonly seconds: number;
  readonly clients: number;
  readonly workers: number;
  /** The largest body of an attack. */
  readonly largestBytes: number;
  /** Between two disturbances. */
  readonly mostPauseMs: number;
  readonly onProgress: (line: string) => void;
  /** Ends the round early. Its checks are still made. */
  readonly signal?: AbortSignal;
}

/** What happened, and what did not hold. */
export interface RoundReport {
  readonly store: StoreKind;
  readonly seed: number;
  readonly seconds: number;
  readonly disturbances: Readonly<Record<string, number>>;
  readonly skipped: readonly string[];
  readonly conversations: number;
  readonly requests: number;
  /** Requests that needed more than one attempt. */
  readonly retried: number;
  readonly slowestMs: number;
  readonly placeholders: number;
  readonly restarts: number;
  readonly memory: readonly [number, number] | undefined;
  readonly files: readonly [number, number] | undefined;
  readonly violations: readonly string[];
}

/** One gateway, one store, some clients, and everything that can go wrong. */
export async function runRound(options: RoundOptions): Promise<RoundReport> {
  const { store, kinds, seed, seconds, workers } = options;
  const random = createRandom(seed).fork(store);
  options.onProgress(`${store}: starting`);
  const world = await startWorld({ store, kinds, random, workers });
  try {
    return await new Round(options, world).run();
  } finally {
    options.onProgress(`${store}: over after ${seconds} s`);
    await world.close();
  }
}

/** After this, masks must have been stored again. */
const CALM_SECONDS = 5;
/** SIGTERM lets requests finish that are under way: an honest one takes no longer. */
const STOP_MS = 45_000;

class Round {
  readonly #options: RoundOptions;
  readonly #world: World;
  readonly #violations: string[] = [];
  readonly #originals = new Map<string, string>();
  readonly #counts: Record<string, number> = {};
  #conversations = 0;
  #requests = 0;
  #retried = 0;
  #slowestMs = 0;
  #isOver = false;

  constructor(options: RoundOptions, world: World) {
    this.#options = options;
    this.#world = world;
  }

  async run(): Promise<RoundReport> {
    const { store, seed, seconds, clients } = this.#options;
    const { gateway, skipped } = this.#world;
    const warmUpSeconds = Math.max(5, Math.min(20, seconds / 5));
    const talking = Array.from({ length: clients }, (_, i) => this.#talk(i));
    await this.#pause(warmUpSeconds);
    const before = usageOf(gateway.pids());
    await this.#disturb(seconds - warmUpSeconds);
    await this.#calm();
    this.#isOver = true;
    await Promise.all(talking);
    const restarts = gateway.restarts();
    this.#options.onProgress('checking memory and file descriptors');
    const after = await this.#flatUsage(before);
    this.#options.onProgress('stopping the gateway and verifying the store');
    await this.#checkStore();
    for (const crash of gateway.crashes()) this.#violate(`a process of the gateway crashed: ${crash}`);
    this.#options.onProgress('recalling every placeholder');
    const placeholders = await this.#checkRecall();
    return {
      ...{ store, seed, seconds, skipped, placeholders },
      disturbances: this.#counts,
      conversations: this.#conversations,
      requests: this.#requests,
      retried: this.#retried,
      slowestMs: Math.round(this.#slowestMs),
      restarts,
      memory: before && after && [before.memoryBytes, after.memoryBytes],
      files: before && after && [before.files, after.files],
      violations: this.#violations,
    };
  }

  #violate(text: string): void {
    this.#options.onProgress(`VIOLATION ${text}`);
    // The same defect may show itself a thousand times.
    if (this.#violations.length < 50) this.#violations.push(text);
  }

  async #pause(seconds: number): Promise<void> {
    await sleep(seconds * 1000, undefined, { signal: this.#options.signal as AbortSignal }).catch(() => {});
  }

  /** A client that holds one conversation after the other. */
  async #talk(client: number): Promise<void> {
    for (let number = 0; !this.#isOver; number++) {
      const kind = (client + number) % 4;
      const options: HonestOptions = {
        url: this.#world.url,
        task: `Task ${this.#options.seed}-${client}-${number}: find out why the tests fail.`,
        api: kind === 1 ? 'openai-chat' : 'anthropic',
        streams: kind === 2,
        thinks: kind === 3,
        isOver: () => this.#isOver,
        onResult: (call, text) => this.#originals.set(call, text),
        onRequest: ({ attempts, tookMs }) => {
          this.#requests += 1;
          if (attempts > 1) this.#retried += 1;
          this.#slowestMs = Math.max(this.#slowestMs, tookMs);
        },
      };
      await converse(options).catch((error: Error) => this.#violate(error.message));
      this.#conversations += 1;
    }
  }

  async #disturb(seconds: number): Promise<void> {
    const { kinds, seed, largestBytes, mostPauseMs, onProgress, signal } = this.#options;
    const random = createRandom(seed).fork('disturbances');
    const decks = kinds.flatMap((kind) => {
      const possible = disturbances[kind].filter(({ isPossible }) => isPossible?.(this.#world) ?? true);
      return possible.length > 0 ? [random.deck(possible)] : [];
    });
    if (decks.length === 0) return this.#pause(seconds);
    const draw = random.deck(decks);
    for (const until = Date.now() + seconds * 1000; Date.now() < until && !signal?.aborted; ) {
      const { name, run } = draw()();
      this.#counts[name] = (this.#counts[name] ?? 0) + 1;
      onProgress(`${Math.max(0, Math.round((until - Date.now()) / 1000))} s left, ${this.#requests} requests: ${name}`);
      await run(this.#world, { random, largestBytes }).catch((error: Error) =>
        this.#violate(`${name}: ${error.message}`),
      );
      await this.#pause(random.between(mostPauseMs / 10, mostPauseMs) / 1000);
    }
  }

  /** Nothing goes wrong any more: everything must work again by itself. */
  async #calm(): Promise<void> {
    const { gateway, upstream } = this.#world;
    for (const [what, process] of Object.entries({ gateway, upstream }))
      await process.up().catch((error: Error) => this.#violate(`the ${what} did not start again: ${error.message}`));
    await this.#pause(CALM_SECONDS);
    const before = this.#requests;
    await this.#waitFor(
      () => this.#requests >= before + 10,
      60,
      'ten requests to be answered after the last disturbance',
    );
    await this.#waitFor(() => this.#isStoreFine(), 60, 'the store to work again after the last disturbance');
  }

  async #isStoreFine(): Promise<boolean> {
    const answer = await this.#ask('status');
    return ((await answer?.json()) as { store?: { ok?: boolean } } | undefined)?.store?.ok === true;
  }

  async #ask(path: string): Promise<Response | undefined> {
    const headers = { authorization: `Bearer ${TOKEN}`, connection: 'close' };
    return fetch(`${this.#world.url}/_palimpsest/api/${path}`, { headers }).catch(() => undefined);
  }

  async #waitFor(isSo: () => boolean | Promise<boolean>, seconds: number, what: string): Promise<void> {
    for (const until = Date.now() + seconds * 1000; Date.now() < until; await sleep(100)) if (await isSo()) return;
    this.#violate(`expected ${what} within ${seconds} s`);
  }

  /** Generous: what must be found is growth with every request. */
  async #flatUsage(before: Usage | undefined): Promise<Usage | undefined> {
    const { gateway, held } = this.#world;
    let after = usageOf(gateway.pids());
    if (!before || !after) return undefined;
    const mostFiles = before.files + held.size + 50;
    for (const until = Date.now() + 30_000; Date.now() < until && after && after.files > mostFiles; await sleep(500))
      after = usageOf(gateway.pids());
    if (!after) return undefined;
    if (after.files > mostFiles)
      this.#violate(`file descriptors grew from ${before.files} to ${after.files} and stayed there`);
    const mostBytes = 2.5 * before.memoryBytes + 300e6;
    if (after.memoryBytes > mostBytes)
      this.#violate(`memory grew from ${inMegabytes(before.memoryBytes)} to ${inMegabytes(after.memoryBytes)}`);
    return after;
  }

  /** Stops the gateway as an operator does, and looks at what it left behind. */
  async #checkStore(): Promise<void> {
    const { gateway, store, cliEnv } = this.#world;
    const code = await gateway.stop(STOP_MS);
    if (code === undefined) this.#violate(`the gateway did not stop within ${STOP_MS} ms of SIGTERM`);
    else if (code !== 0) this.#violate(`the gateway ended with ${code} after SIGTERM: ${gateway.output().slice(-500)}`);
    const verified = await runCli(['store', 'verify', '--store', store], cliEnv);
    if (verified.code !== 0) this.#violate(`store verify ended with ${verified.code}: ${verified.output.slice(-1000)}`);
  }

  /** Every placeholder that an accepted request showed leads to the text that its client sent. */
  async #checkRecall(): Promise<number> {
    const { gateway, sawFile } = this.#world;
    await gateway.start().catch((error: Error) => this.#violate(error.message));
    const saw = readFileSync(sawFile, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Saw);
    const shown = new Map<string, { call: string; text: string }>();
    for (const one of saw) {
      if (one.kind === 'refused') this.#violate(`the upstream refused an honest request: ${one.text}`);
      else shown.set(one.call + one.text, one);
    }
    const left = [...shown.values()];
    const recall = async (): Promise<void> => {
      for (let one = left.pop(); one; one = left.pop()) await this.#checkPlaceholder(one);
    };
    await Promise.all(Array.from({ length: 8 }, recall));
    return shown.size;
  }

  async #checkPlaceholder({ call, text }: { readonly call: string; readonly text: string }): Promise<void> {
    const handle = /\bp_\w{16,}/.exec(text)?.[0] ?? '';
    const answer = await this.#ask(`masked/${handle}`);
    const recalled = answer?.ok ? ((await answer.json()) as { text: string }).text : undefined;
    if (recalled === this.#originals.get(call)) return;
    this.#violate(`${text} leads to ${recalled === undefined ? `nothing (${answer?.status})` : 'another text'}`);
  }
}

const inMegabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;

async function runCli(args: readonly string[], env: NodeJS.ProcessEnv): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, [join(ROOT, 'dist/cli/main.js'), ...args], { env });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  const [code] = await once(child, 'close');
  return { code: code as number, output };
}

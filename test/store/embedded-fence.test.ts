import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { handleOf } from '../../src/store/handle.ts';
import { openStore } from '../../src/store/open-store.ts';
import { ensureBuilt, ROOT } from '../support/modules.ts';
import { RESTLESS } from './support/stores.ts';

const root = mkdtempSync(join(tmpdir(), 'palimpsest-fence-'));
let stores = 0;
const freshPath = (): string => join(root, `store-${stores++}`);

beforeAll(ensureBuilt);
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** A process that writes to a store until it is ended. */
class Writer {
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown>;
  #output = '';

  constructor(path: string, name: string) {
    const args = [
      join(ROOT, 'test/store/support/writer.js'),
      pathToFileURL(join(ROOT, 'dist')).href,
      path,
      name,
      JSON.stringify(RESTLESS),
    ];
    this.#process = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#process.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#output += text;
    });
    this.#ended = new Promise((resolve) => this.#process.once('close', resolve));
  }

  /** Only whole lines: the last one may have been cut off by a kill. */
  get #lines(): string[] {
    return this.#output.split('\n').slice(0, -1);
  }

  get acknowledged(): string[] {
    return this.#lines.filter((line) => line !== 'open' && !line.startsWith('ended '));
  }

  get end(): string | undefined {
    return this.#lines.find((line) => line.startsWith('ended '));
  }

  /** Resolves when it has acknowledged so many texts more. */
  async writes(count: number): Promise<void> {
    const until = this.acknowledged.length + count;
    while (this.acknowledged.length < until && this.end === undefined) await sleep(1);
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  async ended(): Promise<void> {
    await this.#ended;
  }
}

async function lostOf(path: string, writers: readonly Writer[]): Promise<string[]> {
  const store = await openStore({ path });
  const texts = writers.flatMap(({ acknowledged }) => acknowledged);
  const found = await store.getMany(texts.map(handleOf));
  expect(await store.verify()).toEqual([]);
  await store.close();
  return texts.filter((text, i) => found[i]?.text !== text);
}

const lockOf = (path: string): string => join(path, 'default/lock');

/** As the lock of a process in another container looks to one whose clock is ahead. */
function makeForeign(path: string): void {
  const lock = lockOf(path);
  writeFileSync(lock, JSON.stringify({ ...JSON.parse(readFileSync(lock, 'utf8')), boot: 'elsewhere', host: 'other' }));
  utimesSync(lock, new Date(Date.now() - 60_000), new Date(Date.now() - 60_000));
}

const LOSSES: [string, (path: string) => void][] = [
  ['was removed by hand', (path) => rmSync(lockOf(path))],
  ['was removed by hand with all that is named like it', removeAllLocks],
  ['was taken for silent by a clock that is ahead', makeForeign],
];

function removeAllLocks(path: string): void {
  const folder = join(path, 'default');
  for (const name of readdirSync(folder)) if (name.startsWith('lock')) rmSync(join(folder, name), { force: true });
}

describe.each(LOSSES)('a writer whose lock %s', (_, lose) => {
  it('acknowledges nothing that the next writer does not have', { timeout: 240_000 }, async () => {
    for (let round = 0; round < 6; round++) {
      const path = freshPath();
      const first = new Writer(path, 'first');
      await first.writes(5 + 17 * round);
      lose(path);
      const second = new Writer(path, 'second');
      await second.writes(60);
      // At the latest with the heartbeat on which a lost lock was noticed once.
      await Promise.race([first.ended(), sleep(10_000)]);
      for (const one of [first, second]) one.signal('SIGKILL');
      await Promise.all([first.ended(), second.ended()]);
      expect(await lostOf(path, [first, second])).toEqual([]);
      expect(first.end).toContain('STORE_LOCKED');
    }
  });

  it('does so too when it was stopped in between, and goes on later', { timeout: 240_000 }, async () => {
    for (let round = 0; round < 8; round++) {
      const path = freshPath();
      const first = new Writer(path, 'first');
      await first.writes(40);
      await sleep(Math.random() * 20);
      first.signal('SIGSTOP');
      lose(path);
      const second = new Writer(path, 'second');
      await second.writes(30);
      first.signal('SIGCONT');
      await second.writes(60);
      // At the latest with the heartbeat on which a lost lock was noticed once.
      await Promise.race([first.ended(), sleep(10_000)]);
      for (const one of [first, second]) one.signal('SIGKILL');
      await Promise.all([first.ended(), second.ended()]);
      expect(await lostOf(path, [first, second])).toEqual([]);
      expect(first.end).toContain('STORE_LOCKED');
    }
  });
});

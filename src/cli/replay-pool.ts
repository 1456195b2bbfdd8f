import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { type ReplayedFile, replayFile } from '../lab/replay-file.ts';
import { type ReplayRequest, settingOf } from './replay-request.ts';

/** The workers that replay files, or this thread. */
export interface Players {
  readonly count: number;
  play(file: string): Promise<ReplayedFile>;
  close(): Promise<void>;
}

const WORKER = new URL('./replay-worker.js', import.meta.url);

export interface PlayersOptions {
  /** How many files there are to play. */
  readonly files: number;
  /** The content of the file `-`. */
  readonly stdin?: AsyncIterable<Uint8Array> | undefined;
}

/** One worker for each core. From the sources, which no worker can load, all is done here; so is standard input. */
export function createPlayers(request: ReplayRequest, { files, stdin }: PlayersOptions): Players {
  const count = Math.min(availableParallelism(), files);
  const setting = { ...settingOf(request), stdin };
  const play = (file: string): Promise<ReplayedFile> => replayFile(file, setting);
  if (count <= 1 || !existsSync(WORKER)) return { count: 1, play, close: async () => {} };
  const workers = new WorkerPool(request, count);
  return {
    count,
    play: (file) => (file === '-' ? play(file) : workers.play(file)),
    close: () => workers.close(),
  };
}

class WorkerPool {
  readonly #workers: Worker[] = [];
  readonly #idle: Worker[] = [];

  constructor(request: ReplayRequest, count: number) {
    for (let i = 0; i < count; i++) this.#workers.push(new Worker(WORKER, { workerData: request }));
    this.#idle.push(...this.#workers);
  }

  async play(file: string): Promise<ReplayedFile> {
    const worker = this.#idle.pop();
    if (!worker) throw new Error('more files at a time than workers');
    worker.postMessage(file);
    // Rejects where the worker dies.
    const [replayed] = await once(worker, 'message');
    this.#idle.push(worker);
    return replayed;
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }
}

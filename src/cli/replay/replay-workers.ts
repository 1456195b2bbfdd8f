import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { type ReplayedFile, replayFile } from '../../lab/replay-file.ts';
import { type ReplayRequest, settingOf } from './replay-request.ts';

/** Replays files in worker threads, or in this thread. */
export interface ReplayWorkers {
  readonly count: number;
  replay(file: string): Promise<ReplayedFile>;
  close(): Promise<void>;
}

const WORKER = new URL('./replay-worker.js', import.meta.url);

export interface ReplayWorkersOptions {
  /** The number of files. */
  readonly files: number;
  /** The content of the file `-`. */
  readonly stdin?: AsyncIterable<Uint8Array> | undefined;
}

/** One worker for each core. This thread reads standard input, and everything if it runs from the sources: a worker cannot load them. */
export function createReplayWorkers(request: ReplayRequest, { files, stdin }: ReplayWorkersOptions): ReplayWorkers {
  const count = Math.min(availableParallelism(), files);
  const setting = { ...settingOf(request), stdin };
  const replay = (file: string): Promise<ReplayedFile> => replayFile(file, setting);
  if (count <= 1 || !existsSync(WORKER)) return { count: 1, replay, close: async () => {} };
  const workers = new WorkerPool(request, count);
  return {
    count,
    replay: (file) => (file === '-' ? replay(file) : workers.replay(file)),
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

  async replay(file: string): Promise<ReplayedFile> {
    const worker = this.#idle.pop();
    if (!worker) throw new Error('more files at a time than workers');
    worker.postMessage(file);
    // Rejects if the worker dies.
    const [replayed] = await once(worker, 'message');
    this.#idle.push(worker);
    return replayed;
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }
}

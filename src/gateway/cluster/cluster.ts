import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { PalimpsestError } from '../../errors.ts';
import type { Log } from '../receipts/log.ts';
import { type Owned, send, serveWorker } from './cluster-owner.ts';
import { connectToOwner, type Remote } from './cluster-worker.ts';

export interface ClusterOptions extends Owned {
  readonly workers: number;
  readonly log: Log;
}

/** Workers that share a port, and this process, which owns store and records for all. */
export interface Workers {
  readonly port: number;
  /** Lets the workers finish their open requests, for `graceMs` at most. */
  close(options: { readonly graceMs: number }): Promise<void>;
}

/** Whether this process is one of several workers, and its connection to their owner if so. */
export function workerRemote(): Remote | undefined {
  return cluster.isWorker ? connectToOwner(process) : undefined;
}

/** Starts workers that run this same command line. Resolves when all of them listen. A worker that dies is replaced. */
export async function startWorkers({ workers, log, ...owned }: ClusterOptions): Promise<Workers> {
  cluster.setupPrimary({ serialization: 'advanced' });
  let isClosing = false;
  const listening = new Set<Worker>();
  const fork = (): Worker => {
    const worker = cluster.fork();
    worker.once('listening', () => listening.add(worker));
    worker.once('exit', () => listening.delete(worker));
    serveWorker(worker, owned);
    return worker;
  };
  const ports = await Promise.all(Array.from({ length: workers }, () => portOf(fork())));
  cluster.on('exit', (worker, code, signal) => {
    if (isClosing) return;
    log({ level: 'error', message: 'a worker ended and is replaced', worker: worker.id, code, signal });
    setTimeout(() => isClosing || fork(), RESTART_MS);
  });
  return {
    port: ports[0] ?? 0,
    close: async ({ graceMs }) => {
      isClosing = true;
      const alive = Object.values(cluster.workers ?? {}).filter((worker): worker is Worker => worker !== undefined);
      await Promise.all(alive.map((worker) => stopped(worker, listening.has(worker) ? graceMs : 0)));
    },
  };
}

/** A worker that keeps dying must not keep a processor busy with restarts. */
const RESTART_MS = 500;

async function portOf(worker: Worker): Promise<number> {
  const ended = once(worker, 'exit').then(([code]) => {
    throw new PalimpsestError(
      'BAD_INPUT',
      `Expected a worker that listens but it ended with ${code}; see what it said`,
    );
  });
  const [address] = (await Promise.race([once(worker, 'listening'), ended])) as [{ port: number }];
  ended.catch(() => {});
  return address.port;
}

/** A worker that does not listen yet has nothing to finish, and would not get the message. */
async function stopped(worker: Worker, graceMs: number): Promise<void> {
  const ended = once(worker, 'exit');
  const timer = setTimeout(() => worker.process.kill('SIGKILL'), graceMs);
  // In a terminal, Ctrl-C also reaches the workers; a second signal would end them at once.
  send(worker, { type: 'palimpsest-stop' });
  await ended;
  clearTimeout(timer);
}

/** In a worker: lets the process end. */
export function leaveCluster(): void {
  cluster.worker?.disconnect();
}

import type { Store } from '../store/store.ts';
import { type Call, isWire, type Note, type Reply, type Stop, toWireError } from './cluster-wire.ts';
import type { Finished, Records } from './records.ts';

/** What the owner keeps for all workers. */
export interface Owned {
  openStore(tenant: string): Promise<Store>;
  readonly records: Records;
}

/** The connection to a worker: a `Worker` of node:cluster. */
export interface WorkerChannel {
  on(event: 'message', listener: (message: unknown) => void): unknown;
  once(event: 'exit', listener: () => void): unknown;
  send(message: Reply | Note | Stop, done: () => void): unknown;
  isConnected(): boolean;
}

/** Answers what a worker asks of the store and the records, which only this process has. */
export function serveWorker(worker: WorkerChannel, owned: Owned): void {
  const watches = new Map<string, () => void>();
  worker.on('message', (message: unknown) => {
    if (!isWire(message)) return;
    if (message.type === 'palimpsest-call') void answer(worker, owned, message);
    if (message.type === 'palimpsest-note') hear(worker, owned, message, watches);
  });
  worker.once('exit', () => {
    for (const stop of watches.values()) stop();
  });
}

async function answer(worker: WorkerChannel, owned: Owned, call: Call): Promise<void> {
  const reply: Reply = { type: 'palimpsest-reply', id: call.id };
  try {
    send(worker, { ...reply, ...(await perform(await targetOf(owned, call), call)) });
  } catch (error) {
    send(worker, { ...reply, error: toWireError(error) });
  }
}

async function targetOf({ openStore, records }: Owned, { method, tenant }: Call): Promise<Target> {
  const [place] = method.split('.');
  const target = place === 'store' ? await openStore(tenant) : place === 'book' ? records.book(tenant) : records;
  return target as unknown as Target;
}

type Target = Readonly<Record<string, (...args: readonly unknown[]) => unknown>>;

async function perform(target: Target, { method, args }: Call): Promise<Pick<Reply, 'value' | 'error'>> {
  const value = target[method.split('.')[1] ?? '']?.(...args);
  return isAsyncIterable(value) ? collect(value) : { value: await value };
}

/** What goes over the wire is one message: all that was found, and what went wrong then. */
async function collect(found: AsyncIterable<unknown>): Promise<Pick<Reply, 'value' | 'error'>> {
  const value: unknown[] = [];
  try {
    for await (const item of found) value.push(item);
  } catch (error) {
    return { value, error: toWireError(error) };
  }
  return { value };
}

const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;

function hear(
  worker: WorkerChannel,
  { records }: Owned,
  { about, tenant, value }: Note,
  watches: Map<string, () => void>,
): void {
  if (about === 'finished') records.finish(value as Finished);
  if (about === 'unwatch') watches.get(tenant)?.();
  if (about === 'watch')
    watches.set(
      tenant,
      records
        .book(tenant)
        .watch((entered) => send(worker, { type: 'palimpsest-note', about: 'entered', tenant, value: entered })),
    );
}

/** Tells a worker. One that is going at this moment need not hear it: without `done` that would be an error of this process. */
export function send(worker: WorkerChannel, message: Reply | Note | Stop): void {
  if (worker.isConnected()) worker.send(message, () => {});
}

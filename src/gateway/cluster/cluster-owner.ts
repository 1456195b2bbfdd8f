import type { RequestRecord } from '../../report/request-record.ts';
import { kindOf } from '../../store/kind-of.ts';
import type { RecordRange, SearchOptions, Store } from '../../store/store.ts';
import { headsOf } from '../../store/text-heads.ts';
import type { Finished, Records } from '../receipts/records.ts';
import { type Call, isWire, type Note, type Reply, type Stop, toWireError } from './cluster-wire.ts';

/** The store and records that the owner keeps for all workers. */
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

/** Answers the calls of a worker to the store and the records, which only this process has. */
export function serveWorker(worker: WorkerChannel, owned: Owned): void {
  const watches = new Map<string, () => void>();
  const lists: Lists = new Map();
  const searches: Searches = new Map();
  worker.on('message', (message: unknown) => {
    if (!isWire(message)) return;
    if (message.type === 'palimpsest-call') void answer(worker, { ...owned, searches }, lists, message);
    if (message.type === 'palimpsest-note') hear(worker, owned, message, watches);
  });
  worker.once('exit', () => {
    for (const stop of watches.values()) stop();
    for (const id of lists.keys()) endList(lists, id);
    for (const search of searches.values()) search.abort();
  });
}

/** The lists that a worker reads, by the call that began each. */
type Lists = Map<number, AsyncIterator<unknown>>;

/** Searches that a worker may stop at any time, by the key that it gave each. */
type Searches = Map<string, AbortController>;

interface Asking extends Owned {
  readonly searches: Searches;
}

async function answer(worker: WorkerChannel, owned: Asking, lists: Lists, call: Call): Promise<void> {
  const reply: Reply = { type: 'palimpsest-reply', id: call.id };
  try {
    send(worker, { ...reply, ...(await perform(owned, lists, call)) });
  } catch (error) {
    send(worker, { ...reply, error: toWireError(error) });
  }
}

async function perform(owned: Asking, lists: Lists, { id, method, tenant, args }: Call): Promise<Part> {
  const [place, name = ''] = method.split('.');
  const list = Number(args[0]);
  if (method === 'list.more') return nextPart(lists, list);
  if (method === 'list.end') return endList(lists, list);
  if (method === 'search.stop') return stopSearch(owned.searches, String(args[0]));
  const value = await ask(owned, { place, name, tenant, args });
  if (!isAsyncIterable(value)) return { value: await value };
  lists.set(id, value[Symbol.asyncIterator]());
  return nextPart(lists, id);
}

interface Asked extends Pick<Call, 'tenant' | 'args'> {
  readonly place: string | undefined;
  readonly name: string;
}

async function ask(owned: Asking, asked: Asked): Promise<unknown> {
  const { openStore, records } = owned;
  const { place, name, tenant, args } = asked;
  if (place === 'search') return searchUntilStopped(owned, asked);
  if (place !== 'store') return call(place === 'receipts' ? records.receipts(tenant) : records, name, args);
  const store = await openStore(tenant);
  if (name === 'kind') return kindOf(store);
  if (name === 'records') return recordsAndDamaged(store, args[0] as RecordRange | undefined);
  return name === 'heads' ? headsOf(store, String(args[0])) : call(store, name, args);
}

/** The records, then the number of damaged ones: a worker cannot pass a function. */
async function* recordsAndDamaged(store: Store, range: RecordRange = {}): AsyncGenerator<RequestRecord | number> {
  let damaged = 0;
  const onDamaged = (): void => void damaged++;
  yield* store.records?.({ ...range, onDamaged }) ?? [];
  yield damaged;
}

/** Registers the key before the store is open: the worker may stop the search at once. */
function searchUntilStopped({ openStore, searches }: Asking, { tenant, args }: Asked): AsyncGenerator<unknown> {
  const [key, query, options] = args as [string, string, SearchOptions];
  const controller = new AbortController();
  searches.set(key, controller);
  const search = async function* (): AsyncGenerator<unknown> {
    try {
      yield* (await openStore(tenant)).search(query, { ...options, signal: controller.signal });
    } finally {
      searches.delete(key);
    }
  };
  return search();
}

function stopSearch(searches: Searches, key: string): Part {
  searches.get(key)?.abort();
  return {};
}

type Target = Readonly<Record<string, (...args: readonly unknown[]) => unknown>>;

const call = (target: object, name: string, args: readonly unknown[]): unknown => (target as Target)[name]?.(...args);

type Part = Pick<Reply, 'value' | 'error' | 'goesOn'>;

/** A message to a worker has at most this many items of a list, or ends with the item that exceeds the characters below. */
const PART_ITEMS = 256;
const PART_CHARS = 1_000_000;

/** The next part of a list, or its error. */
async function nextPart(lists: Lists, id: number): Promise<Part> {
  const value: unknown[] = [];
  let chars = 0;
  try {
    while (value.length < PART_ITEMS && chars < PART_CHARS) {
      const next = await lists.get(id)?.next();
      if (!next || next.done) {
        lists.delete(id);
        return { value };
      }
      value.push(next.value);
      chars += charsOf(next.value);
    }
    return { value, goesOn: true };
  } catch (error) {
    lists.delete(id);
    return { value, error: toWireError(error) };
  }
}

/** The characters of its texts. All other fields are short. */
const charsOf = (item: unknown): number =>
  Object.values(item as object).reduce((sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0);

function endList(lists: Lists, id: number): Part {
  void lists.get(id)?.return?.();
  lists.delete(id);
  return {};
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
        .receipts(tenant)
        .watch((entered) => send(worker, { type: 'palimpsest-note', about: 'entered', tenant, value: entered })),
    );
}

/** Sends a message to a worker. A worker that is just ending need not get it: without `done` that would be an error of this process. */
export function send(worker: WorkerChannel, message: Reply | Note | Stop): void {
  if (worker.isConnected()) worker.send(message, () => {});
}

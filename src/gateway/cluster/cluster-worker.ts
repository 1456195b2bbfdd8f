import { randomUUID } from 'node:crypto';
import type { RequestRecord } from '../../report/request-record.ts';
import { closedError } from '../../store/check-input.ts';
import type { RemoteKind } from '../../store/kind-of.ts';
import type { Match, RecordRange, SearchOptions, Store, Stored } from '../../store/store.ts';
import type { RemoteHeads, TextHead } from '../../store/text-heads.ts';
import type { ConversationSummary, Totals } from '../receipts/receipt.ts';
import type { ConversationDetail, Entered, ReceiptLogReader } from '../receipts/receipt-log.ts';
import type { Records } from '../receipts/records.ts';
import { fromWireError, isWire, type Reply, type Wire } from './cluster-wire.ts';

/** The connection of a worker to the process that owns store and records: `process` in a worker. */
interface Channel {
  send?(message: Wire): unknown;
  on(event: 'message', listener: (message: unknown) => void): unknown;
}

/** The owner's store and records, as a worker uses them. */
export interface Remote {
  store(tenant: string): Store;
  readonly records: Records;
  /** Resolves when the owner asks this worker to stop. */
  readonly stopAsked: Promise<void>;
}

/** Connects a worker to the owner of store and records. */
export function connectToOwner(channel: Channel): Remote {
  const waiting = new Map<number, (reply: Reply) => void>();
  const watchers = new Map<string, Set<(entered: Entered) => void>>();
  let lastId = 0;
  // Listens at once: the owner may stop a worker that has just started.
  let stop = (): void => {};
  const stopAsked = new Promise<void>((resolve) => {
    stop = resolve;
  });
  channel.on('message', (message) => {
    if (!isWire(message)) return;
    if (message.type === 'palimpsest-reply') {
      waiting.get(message.id)?.(message);
      waiting.delete(message.id);
    }
    if (message.type === 'palimpsest-stop') stop();
    if (message.type === 'palimpsest-note')
      for (const watcher of watchers.get(message.tenant) ?? []) watcher(message.value as Entered);
  });
  const ask: Ask = (method, tenant, ...args) =>
    new Promise((resolve, reject) => {
      const id = ++lastId;
      waiting.set(id, ({ error, value, goesOn }) => {
        if (error && value === undefined) reject(fromWireError(error));
        else resolve({ id, value, error, goesOn } as never);
      });
      channel.send?.({ type: 'palimpsest-call', id, method, tenant, args });
    });
  const note = (about: 'finished' | 'watch' | 'unwatch', tenant: string, value?: unknown): void => {
    channel.send?.({ type: 'palimpsest-note', about, tenant, value });
  };
  return {
    stopAsked,
    store: (tenant) => remoteStore(ask, tenant),
    records: {
      finish: (finished) => note('finished', finished.tenant, finished),
      metrics: async () => (await ask<string>('records.metrics', '')).value,
      receipts: (tenant) => remoteReceipts(ask, tenant, (watcher) => watch(tenant, watcher)),
    },
  };

  /** The owner notifies this worker once, however many pages watch here. */
  function watch(tenant: string, watcher: (entered: Entered) => void): () => void {
    const all = watchers.get(tenant) ?? new Set();
    watchers.set(tenant, all.add(watcher));
    if (all.size === 1) note('watch', tenant);
    return () => {
      if (all.delete(watcher) && all.size === 0) note('unwatch', tenant);
    };
  }
}

interface Answered<T> {
  /** The id of the call. */
  readonly id: number;
  readonly value: T;
  /** Whether the list has more parts. */
  readonly goesOn?: boolean;
  /** The error that ended the list early. */
  readonly error?: Reply['error'];
}

type Ask = <T>(method: string, tenant: string, ...args: readonly unknown[]) => Promise<Answered<T>>;

function remoteReceipts(ask: Ask, tenant: string, watch: ReceiptLogReader['watch']): ReceiptLogReader {
  return {
    totals: async () => (await ask<Totals>('receipts.totals', tenant)).value,
    conversations: async (limit) => (await ask<ConversationSummary[]>('receipts.conversations', tenant, limit)).value,
    conversation: async (id) => (await ask<ConversationDetail | undefined>('receipts.conversation', tenant, id)).value,
    watch,
  };
}

/** Only the owner writes. Closing the store in a worker closes nothing. */
function remoteStore(ask: Ask, tenant: string): Store & RemoteHeads & RemoteKind {
  let isClosed = false;
  const askOpen = <T>(method: string, args: readonly unknown[]): Promise<Answered<T>> =>
    isClosed ? Promise.reject(closedError()) : ask<T>(method, tenant, ...args);
  const call = async <T>(name: string, ...args: readonly unknown[]): Promise<T> =>
    (await askOpen<T>(`store.${name}`, args)).value;
  const each = <T>(name: string, ...args: readonly unknown[]): AsyncGenerator<T> => parts(`store.${name}`, args);
  async function* parts<T>(method: string, args: readonly unknown[]): AsyncGenerator<T> {
    const { id, ...first } = await askOpen<T[]>(method, args);
    let part: Omit<Answered<T[]>, 'id'> = first;
    try {
      for (;;) {
        yield* part.value;
        if (part.error) throw fromWireError(part.error);
        if (!part.goesOn) return;
        part = await ask<T[]>('list.more', tenant, id);
      }
    } finally {
      if (part.goesOn) void ask('list.end', tenant, id);
    }
  }
  async function* records({ onDamaged, ...range }: RecordRange = {}): AsyncGenerator<RequestRecord> {
    for await (const item of each<RequestRecord | number>('records', range)) {
      if (typeof item !== 'number') yield item;
      else for (let i = 0; i < item; i++) onDamaged?.();
    }
  }
  async function* search(query: string, { signal, ...options }: SearchOptions = {}): AsyncGenerator<Match> {
    signal?.throwIfAborted();
    const key = randomUUID();
    const stop = (): unknown => ask('search.stop', tenant, key);
    signal?.addEventListener('abort', stop, { once: true });
    try {
      yield* parts<Match>('search.begin', [key, query, options]);
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', stop);
    }
  }
  return {
    askKind: () => call('kind'),
    put: (text, about) => call('put', text, about),
    putMany: (items) => call('putMany', items),
    get: (handle) => call('get', handle),
    getMany: (handles) => call('getMany', handles),
    putTurn: (record) => call('putTurn', record),
    putTurns: (records) => call('putTurns', records),
    turn: (session, turn) => call('turn', session, turn),
    turns: (session) => each('turns', session),
    putNote: (note) => call('putNote', note),
    note: (session, name) => call('note', session, name),
    putRecords: (records) => call('putRecords', records),
    records,
    list: (session) => each<Stored>('list', session),
    heads: (session) => each<TextHead>('heads', session),
    search,
    sessions: () => each('sessions'),
    touch: (session) => call('touch', session),
    delete: (session, options) => call('delete', session, options),
    prune: (options) => call('prune', options),
    deletions: () => call('deletions'),
    stats: () => call('stats'),
    verify: () => call('verify'),
    gc: (options) => call('gc', options),
    export: () => each('export'),
    secret: () => call('secret'),
    close: async () => {
      isClosed = true;
    },
  };
}

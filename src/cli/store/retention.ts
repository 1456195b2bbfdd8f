import type { Log } from '../../gateway/index.ts';
import { codeOf } from '../../gateway/receipts/log.ts';
import { readSize } from '../../manager/config/read-size.ts';
import type { PruneOptions, Store } from '../../store/store.ts';
import { UsageError } from '../io.ts';
import { readCount } from '../parse-options.ts';
import type { Stores } from './stores.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** The limits of a store. Without either, it keeps everything. */
export type Retention = Pick<PruneOptions, 'maxAgeMs' | 'maxBytes'>;

interface RetentionFields {
  readonly max_age_days?: number | undefined;
  readonly max_bytes?: number | string | undefined;
}

/** Undefined if no limit is set. */
export function retentionOf({ max_age_days: days, max_bytes: size }: RetentionFields): Retention | undefined {
  const maxBytes = size === undefined ? undefined : readSize(size);
  if (days === undefined && maxBytes === undefined) return undefined;
  return {
    ...(days === undefined ? {} : { maxAgeMs: days * DAY_MS }),
    ...(maxBytes === undefined ? {} : { maxBytes }),
  };
}

/** The limits on the command line. Those that are not given are left out. */
export function readRetention(flags: {
  readonly 'max-age-days'?: string | undefined;
  readonly 'max-bytes'?: string | undefined;
}): RetentionFields {
  const { 'max-age-days': days, 'max-bytes': size } = flags;
  if (size !== undefined && readSize(size) === undefined)
    throw new UsageError(`expected --max-bytes to be a size such as 500MB or 10GB but found '${size}'`);
  return {
    ...(days === undefined ? {} : { max_age_days: readCount('--max-age-days', days) }),
    ...(size === undefined ? {} : { max_bytes: size }),
  };
}

/** `12h`, `30d` or `8w`. */
export function readAge(flag: string, value: string): number {
  const [, amount = '', unit = ''] = /^(\d+)([hdw])$/.exec(value) ?? [];
  const ms = Number(amount) * ({ h: HOUR_MS, d: DAY_MS, w: 7 * DAY_MS }[unit] ?? 0);
  if (ms > 0) return ms;
  throw new UsageError(`expected ${flag} to be an age such as 12h, 30d or 8w but found '${value}'`);
}

export interface Pruning {
  readonly stores: Pick<Stores, 'open' | 'tenants'>;
  readonly retention: Retention | undefined;
  readonly log: Log;
  readonly everyMs?: number;
  readonly now?: () => number;
}

/** Prunes the stores of all tenants now and every hour, if that is configured. Returns a function that stops it. */
export function startPruning({ stores, retention, log, everyMs = HOUR_MS, now = Date.now }: Pruning): () => void {
  if (!retention) return () => {};
  let isBusy = false;
  let last = { clock: now(), elapsed: performance.now() };
  const run = async (): Promise<void> => {
    if (isBusy) return;
    isBusy = true;
    try {
      const next = { clock: now(), elapsed: performance.now() };
      const jump = next.clock - last.clock - (next.elapsed - last.elapsed);
      last = next;
      // All sessions would look too old at once. The next run trusts the clock if it has not jumped again.
      if (Math.abs(jump) > HOUR_MS) log({ level: 'warn', message: 'the clock jumped: nothing is removed this time' });
      else await pruneAll(stores, retention, log);
    } finally {
      isBusy = false;
    }
  };
  void run();
  const timer = setInterval(() => void run(), everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

async function pruneAll(stores: Pruning['stores'], retention: Retention, log: Log): Promise<void> {
  try {
    const done = new Set<Store>();
    for (const tenant of await stores.tenants()) {
      const store = await stores.open(tenant);
      if (!done.has(store)) await pruneOne(store, tenant, retention, log);
      done.add(store);
    }
  } catch (error) {
    log({ level: 'error', message: 'the store could not be pruned', code: codeOf(error) });
  }
}

async function pruneOne(store: Store, tenant: string, retention: Retention, log: Log): Promise<void> {
  const { sessions, texts, records = 0, bytes, inUse } = await store.prune(retention);
  if (sessions + texts + records > 0)
    log({ level: 'info', message: 'old sessions were removed', tenant, sessions, texts, records, bytes });
  if (inUse === 0) return;
  const message = 'store.max_bytes could only be met by removing sessions in use: what they masked is stored again';
  log({ level: 'warn', message, tenant, sessions: inUse });
}

import { PalimpsestError } from '../../../errors.ts';
import type { Holder } from '../../../store/embedded/lock.ts';
import type { TimedPool } from '../../../store/postgres/connection.ts';

/** A schema, the tenant that owns the sessions, and how long a writer may be silent. */
export interface SessionRows {
  readonly pool: TimedPool;
  readonly schema: string;
  readonly tenant: string;
  readonly timeoutMs: number;
  readonly leaseMs: number;
}

/** The process that has a session open. */
export function readWriter(holder: string | null | undefined): Holder | undefined {
  try {
    const found = JSON.parse(holder ?? 'null');
    return typeof found?.pid === 'number' ? found : undefined;
  } catch {
    return undefined;
  }
}

const nameOf = (writer: Holder | undefined): string =>
  writer ? `process ${writer.pid} on ${writer.host}` : 'another process';

export function lockedError(id: string, writer: Holder | undefined, freeInMs: number): PalimpsestError {
  const seconds = Math.max(1, Math.ceil(freeInMs / 1000));
  return new PalimpsestError(
    'STORE_LOCKED',
    `Expected to open the session ${id} for writing but ${nameOf(writer)} holds it; close it there, or stop that process: ` +
      `if nothing is heard of it, the session is free in ${seconds} s`,
  );
}

export function lostError(id: string, writer: Holder | undefined): PalimpsestError {
  const how = writer ? `${nameOf(writer)} has taken it over` : 'it was deleted, or taken over and closed';
  return new PalimpsestError(
    'STORE_LOCKED',
    `Expected to hold the session ${id} for writing but ${how}; this write is not acknowledged, open it again to go on`,
  );
}

import type { TimedPool } from './connection.ts';
import { lockKey } from './migrate.ts';
import { type Statements, statementsOf } from './statements.ts';

/** A schema, and a tenant whose rows are in it. */
export interface Place {
  readonly pool: TimedPool;
  readonly schema: string;
  readonly tenant: string;
  readonly statements: Statements;
  /** The tenant's lock. Puts share it; a deletion has it alone, so that no text is removed while a reference to it is added. */
  readonly lock: string;
}

export function placeOf({ pool, schema, tenant }: Pick<Place, 'pool' | 'schema' | 'tenant'>): Place {
  const lock = String(lockKey(schema, 'tenant', tenant));
  return { pool, schema, tenant, lock, statements: statementsOf(pool, schema) };
}

export const ownLock = ({ lock }: Place): string => `SELECT pg_advisory_xact_lock(${lock})`;

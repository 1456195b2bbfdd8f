import { inTransaction, type Query, type TimedPool, withConnection } from '../../../store/postgres/connection.ts';
import { reasonOf } from './until-answered.ts';

/**
 * Runs a writing statement in one round trip. If the database is read-only or more isolated by default, the statement runs again
 * in a transaction with its own settings.
 */
export async function writeRows<T>(pool: TimedPool, work: (query: Query) => Promise<T>): Promise<T> {
  try {
    return await withConnection(pool, work);
  } catch (error) {
    if (!OTHER_DEFAULTS.has(reasonOf(error))) throw error;
    return inTransaction(pool, 'SELECT 1', work);
  }
}

/** Read-only transaction, serialization failure. */
const OTHER_DEFAULTS: ReadonlySet<string> = new Set(['25006', '40001']);

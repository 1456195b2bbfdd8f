import type { PostgresPool } from '../../../store/postgres/connection.ts';

/** Sessions in PostgreSQL: an address such as `postgres://me@host/database`, a `Pool` of the package `pg`, or either with options. */
export type SessionDatabase = string | PostgresPool | SessionDatabaseOptions;

/** Either `url` or `pool`. */
export interface SessionDatabaseOptions {
  /** The address. Each session opens its own connections and ends them when it is closed. @default none */
  readonly url?: string;
  /** Your own pool, which stays open. Better than an address for many sessions. @default none */
  readonly pool?: PostgresPool;
  /** The owner of the sessions. Tenants share the tables but never see each other's sessions. @default 'default' */
  readonly tenant?: string;
  /** The schema of the tables. It is created if missing. @default 'palimpsest' */
  readonly schema?: string;
  /** The timeout of a statement. An open session also waits this long for a server that is away. @default 30000 */
  readonly timeoutMs?: number;
  /**
   * A session can be taken over if its process was silent for this long. If the process ran on the same machine and is
   * known to be gone, there is no wait. @default 30000
   */
  readonly leaseMs?: number;
}

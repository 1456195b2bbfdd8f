import type { PostgresPool } from '../../../store/postgres/connection.ts';

/** Sessions in PostgreSQL: an address such as `postgres://me@host/database`, a `Pool` of the package `pg`, or either with options. */
export type SessionDatabase = string | PostgresPool | SessionDatabaseOptions;

/** Either `url` or `pool`. */
export interface SessionDatabaseOptions {
  /** The address. Each session opens its own connections and ends them when it is closed. */
  readonly url?: string;
  /** Your own pool, which stays open. Better than an address for many sessions. */
  readonly pool?: PostgresPool;
  /** The owner of the sessions; `default` if not given. Tenants share the tables but never see each other's sessions. */
  readonly tenant?: string;
  /** The schema of the tables; `palimpsest` if not given. It is created if missing. */
  readonly schema?: string;
  /** The timeout of a statement. An open session also waits this long for a server that is away. 30,000 if not given. */
  readonly timeoutMs?: number;
  /**
   * A session can be taken over if its process was silent for this long; 30,000 if not given. If the process ran on the same
   * machine and is known to be gone, there is no wait.
   */
  readonly leaseMs?: number;
}

import type { PostgresPool } from '../../../store/postgres/connection.ts';

/** Sessions in PostgreSQL: an address such as `postgres://me@host/database`, a `Pool` of the package `pg`, or either with options. */
export type SessionDatabase = string | PostgresPool | SessionDatabaseOptions;

/** Either `url` or `pool`. */
export interface SessionDatabaseOptions {
  /** Each session opens connections of its own and ends them when it is closed. */
  readonly url?: string;
  /** It is yours: it stays open. Better than an address for many sessions. */
  readonly pool?: PostgresPool;
  /** The owner of the sessions. Tenants share the tables, and nothing else; `default` if not given. */
  readonly tenant?: string;
  /** Where the tables are; `palimpsest` if not given. It is made if it is not there. */
  readonly schema?: string;
  /** How long an answer may take, and for how long a server that is away is waited for while a session is open; 30,000 if not given. */
  readonly timeoutMs?: number;
  /**
   * If nothing is heard of a process for so long, another may take the session over; 30,000 if not given. One that is known to be
   * gone, on the same machine, is not waited for.
   */
  readonly leaseMs?: number;
}

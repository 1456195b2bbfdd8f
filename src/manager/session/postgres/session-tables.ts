import type { Migrations } from '../../../store/postgres/migrate.ts';

/**
 * The tables of sessions. They have versions of their own, so that processes that only use the store of an older program go
 * on beside them. Events and snapshots are bytes: a database need not be in UTF-8.
 *
 * `writer` is the fence. Every writer gets a number that no other writer ever had, and each statement that writes names it.
 * `last_seq` is the last event that was acknowledged, or is about to be: it changes in the statement that inserts the event.
 */
export const SESSION_TABLES: Migrations = {
  table: 'session_migrations',
  steps: [
    (prefix) => `
      CREATE SEQUENCE ${prefix}session_writers;
      CREATE TABLE ${prefix}sessions (
        tenant text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        writer bigint NOT NULL,
        holder text,
        leased_until timestamptz NOT NULL,
        last_seq bigint NOT NULL DEFAULT 0,
        last_time text NOT NULL DEFAULT '',
        checkpoint_seq bigint NOT NULL DEFAULT 0,
        log_bytes bigint NOT NULL DEFAULT 0,
        format text NOT NULL DEFAULT 'chat',
        status text NOT NULL DEFAULT 'active',
        number bigint NOT NULL DEFAULT 1,
        written_at timestamptz NOT NULL DEFAULT now(),
        snapshot bytea,
        PRIMARY KEY (tenant, id)
      ) WITH (fillfactor = 70);
      CREATE TABLE ${prefix}session_events (
        tenant text COLLATE "C" NOT NULL,
        session text COLLATE "C" NOT NULL,
        seq bigint NOT NULL,
        line bytea NOT NULL,
        PRIMARY KEY (tenant, session, seq)
      );`,
  ],
};

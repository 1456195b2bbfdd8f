import type { Migrations } from '../../../store/postgres/migrate.ts';
import type { SessionNames } from '../session-storage.ts';

/**
 * The tables of sessions. They have their own version numbers, so an older program that only uses the store keeps working. Events
 * and snapshots are bytes, so the database need not use UTF-8.
 *
 * `writer` is the fence: every writer gets a new number, and each writing statement checks it. `last_seq` is the last event that
 * is acknowledged or about to be. It changes in the statement that inserts the event.
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

export const NAMES: SessionNames = {
  events: 'the table session_events',
  snapshot: 'the column snapshot of its row in the table sessions',
};

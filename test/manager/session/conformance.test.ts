import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sessionConformance } from '../../../src/testing/index.ts';
import { databaseSessions, diskSessions } from '../../support/manager/session-places.ts';
import { temporaryFolders } from '../../support/manager/sessions.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';

let server: PostgresServer;
let pool: Pool;
const schema = `palimpsest_sessions_${process.pid}_${Date.now().toString(36)}`;

beforeAll(async () => {
  server = await startPostgres();
  pool = new Pool({ connectionString: server.url, max: 8 });
}, 60_000);

afterAll(async () => {
  await pool?.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
  await pool?.end();
  await server?.stop();
}, 60_000);

sessionConformance({ describe, it, expect }, diskSessions(temporaryFolders()));

sessionConformance(
  { describe, it, expect },
  databaseSessions({
    name: 'in PostgreSQL',
    pool: () => pool,
    schema,
    // A session that is abandoned must not renew its lease.
    database: (tenant) => ({ pool, schema, tenant, leaseMs: 3_600_000 }),
  }),
);

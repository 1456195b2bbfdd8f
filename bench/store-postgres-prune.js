// Deletion of old rows from a large PostgreSQL store, beside puts: node bench/store-postgres-prune.js '{"rows":10000000}'
import { Pool } from 'pg';
import { createPostgresStore } from '../dist/store/postgres-store.js';
import { startPostgres } from './postgres-server.js';
import { count, time } from './tables/table.js';

const DAY_MS = 86_400_000;
/** Sessions are spread over so many days, and those of the first tenth of them are removed. */
const DAYS = 100;
const OF_A_SESSION = 500;
const { rows } = JSON.parse(process.argv[2]);
// A text and a reference are two rows.
const texts = rows / 2;
const server = await startPostgres();
const pool = new Pool({ connectionString: server.url });
const store = createPostgresStore({ pool });
try {
  await store.stats();
  await step('filled', fill);
  await printSizes();
  console.log(`put, nothing else going on: ${latencies(await putFor(({ count: done }) => done < 500))}`);
  await step('looked for old sessions, found none', () => store.prune({ maxAgeMs: 2 * DAYS * DAY_MS }));
  await pruneBesidePuts();
  await printSizes();
  await step('vacuumed', () => pool.query('VACUUM palimpsest.texts, palimpsest.refs'));
} finally {
  await store.close();
  await pool.end();
  await server.stop();
}

async function step(what, work) {
  const start = performance.now();
  const result = await work();
  console.log(`${what}: ${time(performance.now() - start)}`);
  return result;
}

/** Small texts of all sessions, oldest first. Indexes that are made afterwards are made in a fraction of the time. */
async function fill() {
  const client = await pool.connect();
  await client.query(`SET synchronous_commit = off; SET maintenance_work_mem = '512MB';
    ALTER TABLE palimpsest.texts DROP CONSTRAINT texts_pkey; DROP INDEX palimpsest.texts_by_age;
    ALTER TABLE palimpsest.refs DROP CONSTRAINT refs_pkey; DROP INDEX palimpsest.refs_by_session`);
  const handle = `'p_' || translate(left(md5(i::text) || md5('x' || i), 26), '0189', 'ghij')`;
  const at = `now() - interval '1 day' * ${DAYS} * (1 - i / ${texts}::float8)`;
  await client.query(`INSERT INTO palimpsest.texts (tenant, handle, seq, digest, bytes, body, at)
    SELECT 'default', ${handle}, i, sha256(i::text::bytea), 40, convert_to(rpad(i::text, 40, '.'), 'UTF8'), ${at}
    FROM generate_series(1, ${texts}) AS i`);
  await client.query(`INSERT INTO palimpsest.refs (tenant, handle, key, seq, session, turn, tool, at)
    SELECT 'default', ${handle}, decode(md5(i::text), 'hex'), i, 's' || i / ${OF_A_SESSION}, i % ${OF_A_SESSION}, '', ${at}
    FROM generate_series(1, ${texts}) AS i`);
  await client.query(`ALTER TABLE palimpsest.texts ADD CONSTRAINT texts_pkey PRIMARY KEY (tenant, handle);
    CREATE UNIQUE INDEX texts_by_age ON palimpsest.texts (tenant, seq);
    ALTER TABLE palimpsest.refs ADD CONSTRAINT refs_pkey PRIMARY KEY (tenant, handle, key);
    CREATE INDEX refs_by_session ON palimpsest.refs (tenant, session, seq);
    SELECT setval('palimpsest.batches', ${texts}); ANALYZE palimpsest.texts, palimpsest.refs; CHECKPOINT; RESET ALL`);
  client.release();
}

async function printSizes() {
  for (const table of ['texts', 'refs']) {
    const { rows: found } = await pool.query(
      `SELECT count(*) AS rows, pg_size_pretty(pg_table_size($1)) AS size, pg_size_pretty(pg_indexes_size($1)) AS indexes
       FROM palimpsest.${table}`,
      [`palimpsest.${table}`],
    );
    const [{ rows: held, size, indexes }] = found;
    console.log(`${table}: ${count(Number(held))} rows, ${size}, indexes ${indexes}`);
  }
}

/** A tenth of the sessions is removed while one client puts without a pause. */
async function pruneBesidePuts() {
  let isOver = false;
  const putting = putFor(() => !isOver);
  const start = performance.now();
  const report = await store.prune({ maxAgeMs: 0.9 * DAYS * DAY_MS });
  const seconds = (performance.now() - start) / 1000;
  isOver = true;
  const removed = 2 * report.texts;
  console.log(
    `pruned: ${count(report.sessions)} sessions, ${count(removed)} rows in ${seconds.toFixed(1)} s, ${count(Math.round(removed / seconds))} rows/s`,
  );
  console.log(`put meanwhile: ${latencies(await putting)}`);
}

async function putFor(goesOn) {
  const times = [];
  const text = `text ${process.hrtime.bigint()} `;
  while (goesOn({ count: times.length })) {
    const start = performance.now();
    await store.put(text + times.length, { session: 'live', turn: times.length });
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b);
}

function latencies(times) {
  const at = (share) => time(times[Math.min(times.length - 1, Math.floor(times.length * share))]);
  return `${count(times.length)} puts, median ${at(0.5)}, 99 % within ${at(0.99)}, longest ${at(1)}`;
}

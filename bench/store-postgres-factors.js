// Processor time of each step from one bare table to the store, in PostgreSQL: node bench/store-postgres-factors.js '{"rounds":20}'
// Needs Linux: the time of the server's process is read from /proc.
import { readFileSync } from 'node:fs';
import { Pool } from 'pg';
import { handleOf } from '../dist/store/handle.js';
import { statementsOf } from '../dist/store/postgres/statements.js';
import { createPostgresStore } from '../dist/store/postgres-store.js';
import { startPostgres } from './postgres-server.js';
import { median, textOf } from './store-texts.js';
import { printTable } from './tables/table.js';

const BATCH = 1000;
const RAW = { getTypeParser: () => (value) => value };
const { rounds } = JSON.parse(process.argv[2]);
const server = await startPostgres();
// One connection: the process behind it is the one whose time is read.
const pool = new Pool({ connectionString: server.url, max: 1 });
const store = createPostgresStore({ pool });
const statements = statementsOf({}, 'palimpsest');
try {
  await store.stats();
  await pool.query(`CREATE TABLE bare (id text PRIMARY KEY, text text);
    CREATE TABLE keyed (tenant text COLLATE "C", handle text COLLATE "C", body bytea, PRIMARY KEY (tenant, handle));
    CREATE TABLE careful (tenant text COLLATE "C", handle text COLLATE "C", body bytea, PRIMARY KEY (tenant, handle))`);
  const { rows } = await pool.query('SELECT pg_backend_pid() AS pid');
  const clock = clockOf(rows[0].pid);
  console.log(printTable(await race('load of 1,000, per text', clock, loads, batchOf, BATCH)));
  console.log(printTable(await race('put of one', clock, puts, (round) => itemOf(1e6 + round), 1, 20)));
  console.log(printTable(await race('recall of 100, per text', clock, manyReads, idsOf, 100, 5)));
  console.log(printTable(await race('recall of one', clock, reads, (round) => idsOf(round)[0], 1, 20)));
} finally {
  await store.close();
  await pool.end();
  await server.stop();
}

function itemOf(id) {
  const text = textOf(id);
  return { id, text, handle: handleOf(text) };
}

function batchOf(round) {
  return Array.from({ length: BATCH }, (_, i) => itemOf(round * BATCH + i));
}

function idsOf(round) {
  return Array.from({ length: 100 }, (_, i) => itemOf((round * 31 + i * 173) % (rounds * BATCH)));
}

function bodiesOf(items) {
  const starts = [];
  let start = 1;
  for (const { text } of items) {
    starts.push(start);
    start += text.length;
  }
  return [Buffer.from(items.map(({ text }) => text).join('')), starts, items.map(({ text }) => text.length)];
}

function insert(table, end = '') {
  return (items) =>
    pool.query({
      name: table,
      text: `INSERT INTO ${table} SELECT 'default', handle, substring($2::bytea FROM start FOR length)
        FROM unnest($1::text[], $3::int[], $4::int[]) AS item (handle, start, length) ${end}`,
      // The key is a hash of the text, and is made here.
      values: [items.map(({ text }) => handleOf(text)), ...bodiesOf(items)],
    });
}

function about({ id }) {
  return { session: `s${id % 100}`, turn: id };
}

function loads() {
  return {
    'one bare table': (items) =>
      pool.query({
        name: 'load',
        text: 'INSERT INTO bare SELECT * FROM unnest($1::text[], $2::text[])',
        values: [items.map(({ id }) => `p${id}`), items.map(({ text }) => text)],
      }),
    'under handles, as bytes': insert('keyed'),
    'and once only': insert('careful', 'ON CONFLICT DO NOTHING'),
    'the store: and references, their indexes': (items) =>
      store.putMany(items.map((item) => ({ text: item.text, about: about(item) }))),
  };
}

function puts() {
  return {
    'one bare table': ({ id, text }) =>
      pool.query({ name: 'put', text: 'INSERT INTO bare VALUES ($1, $2)', values: [`p${id}`, text] }),
    'under a handle, as bytes': (item) => insert('keyed')([item]),
    'and once only': (item) => insert('careful', 'ON CONFLICT DO NOTHING')([item]),
    'the store: and a reference': (item) => store.put(item.text, about(item)),
  };
}

function manyReads() {
  const keyed = 'SELECT handle, body FROM keyed WHERE tenant = $1 AND handle = ANY ($2)';
  return {
    'one bare table': (items) =>
      pool.query({
        name: 'many',
        text: 'SELECT text FROM bare WHERE id = ANY ($1)',
        values: [items.map(({ id }) => `p${id}`)],
      }),
    'under handles, as bytes': (items) => askBinary('keyedMany', keyed, items),
    'and references': (items) => askBinary('ours', statements.getMany.text, items),
    'the store: and every text hashed again': (items) => store.getMany(items.map(({ handle }) => handle)),
  };
}

/** As the store asks: see `askBinary` of its connection. */
function askBinary(name, text, items) {
  const values = ['default', items.map(({ handle }) => handle)];
  return pool.query({ name, text, values, types: RAW, binary: true, rowMode: 'array' });
}

function reads() {
  return {
    'one bare table': ({ id }) =>
      pool.query({ name: 'one', text: 'SELECT text FROM bare WHERE id = $1', values: [`p${id}`] }),
    'under a handle, with references': ({ handle }) =>
      pool.query({
        name: 'ourOne',
        text: statements.getOne.text,
        values: ['default', handle],
        types: RAW,
        binary: true,
        rowMode: 'array',
      }),
    'the store: and hashed again': ({ handle }) => store.get(handle),
  };
}

/** Microseconds that the server's process and this one have worked. */
function clockOf(pid) {
  return () => {
    const { user, system } = process.cpuUsage();
    return [Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1000, user + system];
  };
}

/** In turns. The first tenth is not counted. */
async function race(title, clock, contenders, itemFor, size, repeats = 1) {
  const found = Object.entries(contenders()).map(([name, run]) => ({ name, run, server: [], client: [] }));
  for (let round = 0; round < rounds; round++) {
    const items = Array.from({ length: repeats }, (_, i) => itemFor(round * repeats + i));
    for (const { run, server: served, client } of found) {
      const before = clock();
      for (const item of items) await run(item);
      const after = clock();
      served.push((after[0] - before[0]) / repeats / size);
      client.push((after[1] - before[1]) / repeats / size);
    }
  }
  const middle = (times) => median(times.slice(Math.ceil(rounds / 10)));
  const floor = middle(found[0].server) + middle(found[0].client);
  return {
    title: `PostgreSQL: ${title}`,
    note: 'processor time; each row does what the row above does, and more',
    columns: ['what', 'server', 'client', 'sum / bare', ''],
    rows: found.map(({ name, server: served, client }) => {
      const [atServer, atClient] = [middle(served), middle(client)];
      const quotient = (atServer + atClient) / floor;
      return {
        cells: [name, `${atServer.toFixed(1)} µs`, `${atClient.toFixed(1)} µs`, quotient.toFixed(2)],
        values: {},
      };
    }),
  };
}

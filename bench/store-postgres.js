// PostgreSQL over loopback, ours and bare, with a server of its own: node bench/store-postgres.js '{"records":20000}'
import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Pool } from 'pg';
import { createPostgresStore } from '../dist/store/postgres-store.js';
import { createRandom } from './random.js';
import { median, textOf } from './store-texts.js';

const BATCH = 1000;
const MANY = 100;
const { records } = JSON.parse(process.argv[2]);
const server = await startPostgres();
const pool = new Pool({ connectionString: server.url });
try {
  const ours = await measure(await openOurs());
  const bare = await measure(await openBare());
  console.log(JSON.stringify({ ours, bare }));
} finally {
  await pool.end();
  await server.stop();
}

/** The server of the tests, which are TypeScript. */
async function startPostgres() {
  const repository = dirname(dirname(fileURLToPath(import.meta.url)));
  const out = join(repository, 'node_modules/.cache/palimpsest-bench');
  const options = ['--module', 'nodenext', '--target', 'es2023', '--types', 'node', '--skipLibCheck', '--outDir', out];
  execFileSync('npx', ['tsc', 'test/support/postgres.ts', '--ignoreConfig', ...options], {
    cwd: repository,
    stdio: ['ignore', 2, 2],
  });
  const { startPostgres: start } = await import(join(out, 'postgres.js'));
  return start();
}

async function measure(store) {
  const loaded = await load(store);
  const random = createRandom(7);
  const ids = Array.from({ length: 4000 }, () => random(records));
  for (const id of ids.slice(0, 500)) await store.get(store.key(id));
  const get = median(await timesOf(ids, (id) => store.get(store.key(id))));
  const groups = Array.from({ length: 60 }, () => Array.from({ length: MANY }, () => store.key(random(records))));
  const getMany = median(await timesOf(groups, (keys) => store.getMany(keys))) / MANY;
  const fresh = Array.from({ length: 300 }, (_, i) => ({ id: records + i, text: textOf(records + i) }));
  const put = median(await timesOf(fresh, (item) => store.putMany([item])));
  return { perSecond: (1000 * records) / loaded, get, getMany, put };
}

async function load(store) {
  let milliseconds = 0;
  for (let from = 0; from < records; from += BATCH) {
    const batch = Array.from({ length: BATCH }, (_, i) => ({ id: from + i, text: textOf(from + i) }));
    milliseconds += await timeOf(() => store.putMany(batch));
  }
  return milliseconds;
}

async function timeOf(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

async function timesOf(items, work) {
  const times = [];
  for (const item of items) times.push(await timeOf(() => work(item)));
  return times;
}

async function openOurs() {
  const { handleOf } = await import('../dist/store/handle.js');
  const store = createPostgresStore({ pool });
  const handles = new Map();
  return {
    key(id) {
      if (!handles.has(id)) handles.set(id, handleOf(textOf(id)));
      return handles.get(id);
    },
    get: (handle) => store.get(handle),
    getMany: (list) => store.getMany(list),
    putMany: (items) =>
      store.putMany(items.map(({ id, text }) => ({ text, about: { session: `s${id % 100}`, turn: id } }))),
  };
}

/** One table, prepared statements: the least that a client of this server can do. */
async function openBare() {
  await pool.query('create table bare (id text primary key, text text)');
  const insert = 'insert into bare select * from unnest($1::text[], $2::text[])';
  const select = 'select text from bare where id = any($1)';
  return {
    key: (id) => `p${id}`,
    get: (key) => pool.query({ name: 'one', text: 'select text from bare where id = $1', values: [key] }),
    getMany: (keys) => pool.query({ name: 'many', text: select, values: [keys] }),
    putMany: (items) =>
      pool.query({
        name: 'insert',
        text: insert,
        values: [items.map(({ id }) => `p${id}`), items.map(({ text }) => text)],
      }),
  };
}

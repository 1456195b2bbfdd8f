// PostgreSQL over loopback, ours and bare in turns, with a server of its own: node bench/store-postgres.js '{"records":20000}'
import { Pool } from 'pg';
import { createPostgresStore } from '../dist/store/postgres-store.js';
import { startPostgres } from './postgres-server.js';
import { createRandom } from './random.js';
import { median, textOf } from './store-texts.js';

const BATCH = 1000;
const MANY = 100;
const { records } = JSON.parse(process.argv[2]);
const server = await startPostgres();
const pool = new Pool({ connectionString: server.url });
try {
  console.log(JSON.stringify(await measure({ ours: await openOurs(), bare: await openBare() })));
} finally {
  await pool.end();
  await server.stop();
}

/** The stores take turns with every call, so that a machine that is busy for a while is so for both. */
async function measure(stores) {
  const random = createRandom(7);
  const load = await inTurns(stores, batches(0, records), (store, batch) => store.putMany(batch));
  const ids = Array.from({ length: 4000 }, () => random(records));
  const get = await inTurns(stores, ids, (store, id) => store.get(store.key(id)));
  const groups = Array.from({ length: 200 }, () => Array.from({ length: MANY }, () => random(records)));
  for (const store of Object.values(stores)) for (const group of groups) group.forEach(store.key);
  const getMany = await inTurns(stores, groups, (store, group) => store.getMany(group.map(store.key)));
  const fresh = Array.from({ length: 500 }, (_, i) => ({ id: records + i, text: textOf(records + i) }));
  const put = await inTurns(stores, fresh, (store, item) => store.put(item));
  const many = await inTurns(stores, batches(records + 500, 20 * MANY, MANY), (store, batch) =>
    Promise.all(batch.map((item) => store.put(item))),
  );
  return Object.fromEntries(
    Object.keys(stores).map((name) => [
      name,
      {
        perSecond: (1000 * BATCH) / median(load[name]),
        get: median(get[name]),
        getMany: median(getMany[name]) / MANY,
        put: median(put[name]),
        putsAtOnce: median(many[name]) / MANY,
      },
    ]),
  );
}

/** Milliseconds of each call, for each store. The first tenth is not counted: code is compiled, statements are prepared. */
async function inTurns(stores, items, work) {
  const times = Object.fromEntries(Object.keys(stores).map((name) => [name, []]));
  let turn = 0;
  for (const item of items) {
    const names = Object.keys(stores);
    for (const name of turn++ % 2 === 0 ? names : names.toReversed()) {
      const start = performance.now();
      await work(stores[name], item);
      times[name].push(performance.now() - start);
    }
  }
  return Object.fromEntries(Object.entries(times).map(([name, all]) => [name, all.slice(Math.ceil(all.length / 10))]));
}

function batches(first, count, size = BATCH) {
  return Array.from({ length: count / size }, (_, batch) =>
    Array.from({ length: size }, (_, i) => {
      const id = first + batch * size + i;
      return { id, text: textOf(id) };
    }),
  );
}

async function openOurs() {
  const { handleOf } = await import('../dist/store/handle.js');
  const store = createPostgresStore({ pool });
  const handles = new Map();
  const about = (id) => ({ session: `s${id % 100}`, turn: id });
  return {
    key(id) {
      if (!handles.has(id)) handles.set(id, handleOf(textOf(id)));
      return handles.get(id);
    },
    get: (handle) => store.get(handle),
    getMany: (list) => store.getMany(list),
    put: ({ id, text }) => store.put(text, about(id)),
    putMany: (items) => store.putMany(items.map(({ id, text }) => ({ text, about: about(id) }))),
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
    put: ({ id, text }) =>
      pool.query({ name: 'put', text: 'insert into bare values ($1, $2)', values: [`p${id}`, text] }),
    putMany: (items) =>
      pool.query({
        name: 'insert',
        text: insert,
        values: [items.map(({ id }) => `p${id}`), items.map(({ text }) => text)],
      }),
  };
}

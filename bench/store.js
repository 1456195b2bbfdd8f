// One store, measured in a fresh process: node bench/store.js '{"store":"palimpsest","task":"load","records":100000,"folder":"…"}'
import { createHash } from 'node:crypto';
import { closeSync, fdatasync, mkdirSync, openSync, readdirSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createRandom } from './random.js';

const BATCH = 1000;

const stores = { palimpsest: openPalimpsest, lmdb: openLmdb, 'better-sqlite3': openSqlite, file: openFile };
const tasks = { load, single, read, open: openOnly, shared };
const request = JSON.parse(process.argv[2]);
console.log(JSON.stringify(await tasks[request.task](request)));

/** All records, a thousand to a transaction. */
async function load({ store: name, records, folder }) {
  mkdirSync(folder, { recursive: true });
  const store = await stores[name](folder);
  const start = performance.now();
  let textBytes = 0;
  for (let from = 0; from < records; from += BATCH) {
    const batch = [];
    for (let i = from; i < Math.min(records, from + BATCH); i++) batch.push({ id: i, text: textOf(i) });
    for (const { text } of batch) textBytes += text.length;
    await store.putMany(batch);
  }
  await store.close();
  const milliseconds = performance.now() - start;
  return {
    perSecond: (1000 * records) / milliseconds,
    diskRatio: sizeOf(folder) / textBytes,
    rss: process.memoryUsage.rss() / 1e6,
  };
}

/** One after the other, each durable before the next. Beside it, what one fdatasync costs on this disk. */
async function single({ store: name, records, folder }) {
  const store = await stores[name](folder);
  const times = [];
  for (let i = 0; i < 300; i++) {
    const text = textOf(records + i);
    const start = performance.now();
    await store.put({ id: records + i, text });
    times.push(performance.now() - start);
  }
  await store.close();
  return { median: median(times) };
}

/** Many at once, each acknowledged when it is durable. */
async function shared({ store: name, records, folder }) {
  const store = await stores[name](folder);
  const count = 2000;
  const texts = Array.from({ length: count }, (_, i) => ({ id: 2 * records + i, text: textOf(2 * records + i) }));
  const start = performance.now();
  await Promise.all(texts.map((item) => store.put(item)));
  const perSecond = (1000 * count) / (performance.now() - start);
  await store.close();
  return { perSecond };
}

/** Uniform random gets of whole texts. */
async function read({ store: name, records, folder }) {
  const store = await stores[name](folder, 'read');
  const random = createRandom(7);
  const ids = Array.from({ length: 20_000 }, () => random(records));
  const keys = ids.map((id) => store.key(id));
  for (const key of keys.slice(0, 2000)) await store.get(key);
  const times = [];
  for (let i = 2000; i < keys.length; i++) {
    const start = performance.now();
    const text = await store.get(keys[i]);
    times.push(performance.now() - start);
    if (i % 997 === 0 && text !== textOf(ids[i])) throw new Error(`Expected the text of ${ids[i]}`);
  }
  const rss = process.memoryUsage.rss() / 1e6;
  await store.close();
  return { median: median(times), rss };
}

async function openOnly({ store: name, folder }) {
  // To load the code is not to open the store.
  await (await stores[name](`${folder}-empty`, 'write').catch(() => ({ close: () => {} }))).close();
  const start = performance.now();
  const store = await stores[name](folder, 'read');
  const milliseconds = performance.now() - start;
  await store.close();
  return { milliseconds };
}

async function openPalimpsest(folder, mode = 'write') {
  const { openStore } = await import('../dist/store/index.js');
  const { handleOf } = await import('../dist/index.js');
  const store = await openStore({ path: folder, mode });
  const about = (id) => ({ session: `s${id % 100}`, turn: id });
  return {
    key: (id) => handleOf(textOf(id)),
    get: async (handle) => (await store.get(handle)).text,
    put: ({ id, text }) => store.put(text, about(id)),
    putMany: (batch) => store.putMany(batch.map(({ id, text }) => ({ text, about: about(id) }))),
    close: () => store.close(),
  };
}

async function openLmdb(folder) {
  mkdirSync(folder, { recursive: true });
  const { open } = await import('lmdb');
  // Strict: a commit is on disk when it resolves.
  const database = open({ path: join(folder, 'data.mdb'), overlappingSync: false, encoding: 'string' });
  return {
    key: (id) => `p${id}`,
    get: async (key) => database.get(key),
    put: ({ id, text }) => database.put(`p${id}`, text),
    putMany: (batch) =>
      database.transaction(() => {
        for (const { id, text } of batch) database.put(`p${id}`, text);
      }),
    close: () => database.close(),
  };
}

async function openSqlite(folder) {
  mkdirSync(folder, { recursive: true });
  const { default: Database } = await import('better-sqlite3');
  const database = new Database(join(folder, 'data.db'));
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.exec('create table if not exists texts (id text primary key, text text)');
  const insert = database.prepare('insert or replace into texts values (?, ?)');
  const select = database.prepare('select text from texts where id = ?').pluck();
  return {
    key: (id) => `p${id}`,
    get: async (key) => select.get(key),
    put: async ({ id, text }) => insert.run(`p${id}`, text),
    putMany: async (batch) =>
      database.transaction(() => {
        for (const { id, text } of batch) insert.run(`p${id}`, text);
      })(),
    close: async () => database.close(),
  };
}

/** The floor of a put: one write and one fdatasync. */
async function openFile(folder) {
  mkdirSync(folder, { recursive: true });
  const descriptor = openSync(join(folder, 'log'), 'a');
  return {
    put: ({ text }) =>
      new Promise((resolve, reject) => {
        writeSync(descriptor, text);
        fdatasync(descriptor, (error) => (error ? reject(error) : resolve()));
      }),
    close: async () => closeSync(descriptor),
  };
}

/** 1.2 to 2.8 KB, one in a hundred 50 KB, all different. */
function textOf(id) {
  const seed = createHash('sha256').update(String(id)).digest('hex');
  const length = id % 100 === 0 ? 50_000 : 1200 + ((id * 7919) % 1600);
  return `${id} ${seed}\n`.repeat(Math.ceil(length / (seed.length + String(id).length + 2))).slice(0, length);
}

function sizeOf(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath ?? entry.path, entry.name)).size, 0);
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

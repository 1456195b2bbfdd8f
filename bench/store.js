// One store, measured in a fresh process: node bench/store.js '{"store":"palimpsest","task":"load","records":100000,"folder":"…"}'
import {
  closeSync,
  fdatasync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { createRandom } from './random.js';
import { itemOf, median, textOf } from './store-texts.js';

const BATCH = 1000;
/** Before any is measured, as with the reads. */
const WARM_PUTS = 300;

const stores = {
  palimpsest: openPalimpsest,
  lmdb: (folder) => openLmdb(folder, ({ handle }) => handle),
  'better-sqlite3': openSqlite,
  'lmdb, in order': (folder) => openLmdb(folder, ({ id }) => String(id).padStart(9, '0')),
  file: openFile,
};
const tasks = { load, single, read, open: openOnly, shared };
const request = JSON.parse(process.argv[2]);
console.log(JSON.stringify(await tasks[request.task](request)));

/**
 * All records, a thousand to a transaction. To make the texts is not to store them. The peers are given the handles, by
 * which they are to find the texts too; ours has to make them.
 */
async function load({ store: name, records, folder }) {
  mkdirSync(folder, { recursive: true });
  const store = await stores[name](folder);
  let milliseconds = 0;
  let textBytes = 0;
  for (let from = 0; from < records; from += BATCH) {
    const batch = [];
    for (let i = from; i < Math.min(records, from + BATCH); i++) batch.push(itemOf(i));
    for (const { text } of batch) textBytes += text.length;
    milliseconds += await timeOf(() => store.putMany(batch));
  }
  milliseconds += await timeOf(() => store.close());
  return {
    perSecond: (1000 * records) / milliseconds,
    diskRatio: sizeOf(folder) / textBytes,
    rss: process.memoryUsage.rss() / 1e6,
  };
}

async function timeOf(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** One after the other, each durable before the next. In turns with it, one bare write and fdatasync on the same disk. */
async function single({ store: name, records, folder }) {
  const store = await stores[name](folder);
  const bare = await openFile(`${folder}-bare`);
  const times = [];
  const floors = [];
  for (let i = 0; i < WARM_PUTS + 600; i++) {
    const item = itemOf(records + i);
    times.push(await timeOf(() => store.put(item)));
    floors.push(await timeOf(() => bare.put({ ...item, id: i })));
  }
  await store.close();
  await bare.close();
  rmSync(`${folder}-bare`, { recursive: true });
  return { median: median(times.slice(WARM_PUTS)), floor: median(floors.slice(WARM_PUTS)) };
}

/** Many at once, each acknowledged when it is durable; the second time counts. */
async function shared({ store: name, records, folder }) {
  const store = await stores[name](folder);
  const count = 2000;
  let milliseconds = 0;
  for (const first of [2 * records, 2 * records + count]) {
    const texts = Array.from({ length: count }, (_, i) => itemOf(first + i));
    milliseconds = await timeOf(() => Promise.all(texts.map((item) => store.put(item))));
  }
  await store.close();
  return { perSecond: (1000 * count) / milliseconds };
}

/** Uniform random gets of whole texts, one after the other; where the peer answers at once, through one promise too. */
async function read({ store: name, records, folder }) {
  const store = await stores[name](folder, 'read');
  const random = createRandom(7);
  const ids = Array.from({ length: 20_000 }, () => random(records));
  const keys = ids.map((id) => store.key(itemOf(id)));
  for (const key of keys.slice(0, 2000)) await store.get(key);
  const times = [];
  for (let i = 2000; i < keys.length; i++) {
    const start = performance.now();
    const found = await store.get(keys[i]);
    times.push(performance.now() - start);
    if (i % 997 === 0 && (found.text ?? found) !== textOf(ids[i])) throw new Error(`Expected the text of ${ids[i]}`);
  }
  const rss = process.memoryUsage.rss() / 1e6;
  const many = store.getMany && (await timeOf(() => getMany(store, keys))) / keys.length;
  await store.close();
  return { median: median(times), rss, many };
}

async function getMany(store, keys) {
  for (let from = 0; from < keys.length; from += 100) await store.getMany(keys.slice(from, from + 100));
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
  const store = await openStore({ path: folder, mode });
  const about = (id) => ({ session: `s${id % 100}`, turn: id });
  return {
    key: ({ handle }) => handle,
    get: (handle) => store.get(handle),
    getMany: (handles) => store.getMany(handles),
    put: ({ id, text }) => store.put(text, about(id)),
    putMany: (batch) => store.putMany(batch.map(({ id, text }) => ({ text, about: about(id) }))),
    close: () => store.close(),
  };
}

/** Random keys cost it more than those that come in order. */
async function openLmdb(folder, key) {
  mkdirSync(folder, { recursive: true });
  const { open } = await import('lmdb');
  // Strict: a commit is on disk when it resolves.
  const database = open({ path: join(folder, 'data.mdb'), overlappingSync: false, encoding: 'string' });
  return {
    key,
    get: async (name) => database.get(name),
    put: (item) => database.put(key(item), item.text),
    putMany: (batch) =>
      database.transaction(() => {
        for (const item of batch) database.put(key(item), item.text);
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
  database.exec('create table if not exists texts (handle text primary key, text text)');
  const insert = database.prepare('insert or replace into texts values (?, ?)');
  const select = database.prepare('select text from texts where handle = ?').pluck();
  return {
    key: ({ handle }) => handle,
    get: async (handle) => select.get(handle),
    put: async ({ handle, text }) => insert.run(handle, text),
    putMany: async (batch) =>
      database.transaction(() => {
        for (const { handle, text } of batch) insert.run(handle, text);
      })(),
    close: async () => database.close(),
  };
}

/**
 * The floor: texts behind each other in a file, one write and one fdatasync for each put or batch; to read one, a pread into
 * the same memory, its CRC-32, and a string. Where they stand is in memory. No handle, no index, nothing to recover from.
 */
async function openFile(folder) {
  mkdirSync(folder, { recursive: true });
  const table = join(folder, 'table.json');
  const descriptor = openSync(join(folder, 'log'), 'a+');
  const places = statSync(table, { throwIfNoEntry: false }) ? JSON.parse(readFileSync(table, 'utf8')) : [];
  const bytes = Buffer.allocUnsafeSlow(1 << 16);
  let end = statSync(join(folder, 'log')).size;
  const append = (texts) => {
    const batch = Buffer.from(texts.map(({ text }) => text).join(''));
    for (const { id, text } of texts) {
      places[id] = [end, text.length, crc32(text)];
      end += text.length;
    }
    writeSync(descriptor, batch);
    return new Promise((resolve, reject) => fdatasync(descriptor, (error) => (error ? reject(error) : resolve())));
  };
  return {
    key: ({ id }) => places[id],
    get: async ([position, length, checksum]) => {
      readSync(descriptor, bytes, 0, length, position);
      if (crc32(bytes.subarray(0, length)) !== checksum) throw new Error('Expected another checksum');
      return bytes.latin1Slice(0, length);
    },
    put: (text) => append([text]),
    putMany: append,
    close: async () => {
      closeSync(descriptor);
      if (places.length > 0) writeFileSync(table, JSON.stringify(places));
    },
  };
}

function sizeOf(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath ?? entry.path, entry.name)).size, 0);
}

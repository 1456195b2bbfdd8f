import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { count, ratio, time } from './table.js';

const STORES = ['palimpsest', 'lmdb', 'better-sqlite3', 'lmdb, in order'];

/** @returns {Generator<import('./table.js').Table>} */
export function* storeTables({ measure, quick }) {
  const records = quick ? 10_000 : 100_000;
  const root = mkdtempSync(join(tmpdir(), 'palimpsest-stores-'));
  try {
    const found = measureInTurns({ measure, records, root, rounds: quick ? 1 : 3 });
    const { file: _floor, ...peers } = found;
    yield table('bulk load, 1,000 to a transaction', found, (f) => `${count(Math.round(f.load.perSecond))}/s`, {
      value: (f) => 1 / f.load.perSecond,
      targets: { lmdb: 1 },
    });
    yield table('random recall of a whole text, checksum verified, warm', found, (f) => time(f.read.median), {
      value: (f) => f.read.median,
      targets: { lmdb: 1.6, 'better-sqlite3': 1 },
    });
    yield syncTable(peers);
    yield sizeTable(peers, records);
    yield* growthTables({ measure, quick, root });
    yield postgresTable(measure('store-postgres.js', { records: quick ? 2000 : 20_000 }));
  } finally {
    rmSync(root, { recursive: true });
  }
}

/** The stores take turns, so that a machine that is busy for a while is so for all; of each number the best round counts. */
function measureInTurns({ measure, records, root, rounds }) {
  const runs = Array.from({ length: rounds }, (_, round) =>
    [...STORES, 'file'].map((store) => {
      const folder = join(root, `${store}-${round}`);
      const found = measureStore({ measure, store, records, folder });
      rmSync(folder, { recursive: true });
      return [store, found];
    }),
  ).map(Object.fromEntries);
  return Object.fromEntries(Object.keys(runs[0]).map((store) => [store, bestOf(runs.map((run) => run[store]))]));
}

/** The most for what is counted by the second, the least for all else. Of puts and what stands beside them, the middle. */
function bestOf(runs) {
  if (runs[0].floor !== undefined) return middleOf(runs, ({ median, floor }) => median / floor);
  return Object.fromEntries(
    Object.keys(runs[0]).map((key) => {
      const values = runs.map((run) => run[key]);
      if (typeof values[0] === 'object') return [key, bestOf(values)];
      return [key, (key === 'perSecond' ? Math.max : Math.min)(...values)];
    }),
  );
}

function middleOf(runs, quotientOf) {
  return [...runs].sort((a, b) => quotientOf(a) - quotientOf(b))[Math.floor(runs.length / 2)];
}

function measureStore({ measure, store, records, folder }) {
  const run = (task) => measure('store.js', { store, task, records, folder });
  return { load: run('load'), open: run('open'), read: run('read'), single: run('single'), shared: run('shared') };
}

function table(title, found, show, { value, targets = {} }) {
  const ours = value(found.palimpsest);
  return {
    title: `store: ${title}`,
    note: '2 KB texts, one in a hundred 50 KB, by their handles; every commit is on disk when it resolves. In order: under keys that ascend, its best case. file: the floor, see bench/store.js',
    columns: ['store', 'found', 'ours / this', 'target', ''],
    rows: Object.entries(found).map(([store, measured]) => {
      const target = targets[store];
      const quotient = ours / value(measured);
      return {
        cells: [store, show(measured), ratio(quotient), target === undefined ? '-' : `<= ${target}`],
        met: target === undefined ? undefined : quotient <= target,
        values: { store, quotient, target },
      };
    }),
  };
}

function syncTable(found) {
  return {
    title: 'store: one acknowledged put beside one write and fdatasync, in turns',
    note: 'many at once share a sync',
    columns: ['store', 'put', 'write + fdatasync', 'put / bare', 'target', 'many at once', ''],
    rows: Object.entries(found).map(([store, { single, shared }]) => {
      const quotient = single.median / single.floor;
      const isOurs = store === 'palimpsest';
      return {
        cells: [
          store,
          time(single.median),
          time(single.floor),
          ratio(quotient),
          isOurs ? '<= 1.3' : '-',
          `${count(Math.round(shared.perSecond))}/s`,
        ],
        met: isOurs ? quotient <= 1.3 : undefined,
        values: { store, quotient, target: 1.3 },
      };
    }),
  };
}

function sizeTable(found, records) {
  return {
    title: `store: open, disk and memory at ${count(records)} records`,
    note: 'disk beside the text; resident memory of a process that reads',
    columns: ['store', 'open', 'disk / text', 'target', 'memory', ''],
    rows: Object.entries(found).map(([store, { open, load, read }]) => {
      const isOurs = store === 'palimpsest';
      return {
        cells: [
          store,
          time(open.milliseconds),
          ratio(load.diskRatio),
          isOurs ? '<= 1.25' : '-',
          `${read.rss.toFixed(0)} MB`,
        ],
        met: isOurs ? load.diskRatio <= 1.25 : undefined,
        values: { store, open: open.milliseconds, disk: load.diskRatio, rss: read.rss },
      };
    }),
  };
}

/** Cost per operation, from 10,000 records to 1,000,000. More texts leave the processor's caches, the bare file's too. */
function* growthTables({ measure, quick, root }) {
  const sizes = quick ? [1000, 10_000] : [10_000, 100_000, 1_000_000];
  const [first, ...more] = sizes.map((records) => measureGrowth({ measure, records, root }));
  yield {
    title: 'store: growth',
    note: 'beside the first row; memory of a process that reads, and of one that just wrote them all, with all it made for that; target: 150 MB for the first, and recall at most 1.5 times as much as the bare file grows',
    columns: [
      'records',
      'load',
      'recall',
      'recall / first',
      'bare / first',
      'load / first',
      'put',
      'open',
      'disk / text',
      'reader',
      'writer',
      '',
    ],
    rows: [first, ...more].map(({ records, load, open, read, single, bare }) => {
      const [recall, floor] = [read.median / first.read.median, bare.median / first.bare.median];
      const loading = first.load.perSecond / load.perSecond;
      return {
        cells: [
          count(records),
          `${count(Math.round(load.perSecond))}/s`,
          time(read.median),
          ratio(recall),
          ratio(floor),
          ratio(loading),
          time(single.median),
          time(open.milliseconds),
          ratio(load.diskRatio),
          `${read.rss.toFixed(0)} MB`,
          `${load.rss.toFixed(0)} MB`,
        ],
        met: read.rss <= 150 && load.diskRatio <= 1.25 && recall <= 1.5 * floor && loading <= 1.5,
        values: { records, recall, floor, loading, open: open.milliseconds, rss: read.rss, disk: load.diskRatio },
      };
    }),
  };
}

/** Of what is read the best of three processes counts. */
function measureGrowth({ measure, records, root }) {
  const folder = (store) => join(root, `growth-${store}`);
  const run = (task, store = 'palimpsest') => measure('store.js', { store, task, records, folder: folder(store) });
  const load = run('load');
  run('load', 'file');
  const reads = Array.from({ length: 3 }, () => ({ read: run('read'), bare: run('read', 'file') }));
  const measured = {
    records,
    load,
    open: run('open'),
    read: bestOf(reads.map(({ read }) => read)),
    bare: bestOf(reads.map(({ bare }) => bare)),
    single: run('single'),
  };
  for (const store of ['palimpsest', 'file']) rmSync(folder(store), { recursive: true });
  return measured;
}

/** One table and prepared statements are the least that a client of this server can do. */
function postgresTable({ ours, bare }) {
  const row = (what, show, value, target) => {
    const quotient = value(ours) / value(bare);
    return {
      cells: [what, show(ours), show(bare), ratio(quotient), target === undefined ? '-' : `<= ${target}`],
      met: target === undefined ? undefined : quotient <= target,
      values: { what, quotient, target },
    };
  };
  const timeOf = (what, key, target) =>
    row(
      what,
      (f) => time(f[key]),
      (f) => f[key],
      target,
    );
  return {
    title: 'store: PostgreSQL over loopback',
    note: 'a server of its own, synchronous commit; bare: one table, prepared statements; in turns, medians',
    columns: ['what', 'ours', 'bare', 'ours / bare', 'target', ''],
    rows: [
      row(
        'bulk load, 1,000 to a batch',
        (f) => `${count(Math.round(f.perSecond))}/s`,
        (f) => 1 / f.perSecond,
        1.3,
      ),
      timeOf('one put, acknowledged', 'put', 1.5),
      timeOf('recall of one text', 'get', 1.5),
      timeOf('recall of 100 at once, each', 'getMany', 1.5),
      timeOf('100 puts at once, each', 'putsAtOnce'),
    ],
  };
}

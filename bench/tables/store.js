import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { count, ratio, time } from './table.js';

const STORES = ['palimpsest', 'lmdb', 'better-sqlite3'];

/** @returns {Generator<import('./table.js').Table>} */
export function* storeTables({ measure, quick }) {
  const records = quick ? 10_000 : 100_000;
  const root = mkdtempSync(join(tmpdir(), 'palimpsest-stores-'));
  try {
    const found = Object.fromEntries(STORES.map((store) => [store, measureStore({ measure, store, records, root })]));
    const floor = measure('store.js', { store: 'file', task: 'single', records, folder: join(root, 'file') });
    yield table('bulk load, 1,000 to a transaction', found, (f) => `${count(Math.round(f.load.perSecond))}/s`, {
      value: (f) => 1 / f.load.perSecond,
      targets: { lmdb: 1 },
    });
    yield table('random recall of a whole text, warm', found, (f) => time(f.read.median), {
      value: (f) => f.read.median,
      targets: { lmdb: 1.6, 'better-sqlite3': 1 },
    });
    yield table('one put, acknowledged', found, (f) => time(f.single.median), { value: (f) => f.single.median });
    yield syncTable(found.palimpsest, floor);
    yield sizeTable(found, records);
    yield* growthTables({ measure, quick, root });
  } finally {
    rmSync(root, { recursive: true });
  }
}

function measureStore({ measure, store, records, root }) {
  const folder = join(root, store);
  const run = (task) => measure('store.js', { store, task, records, folder });
  return { load: run('load'), open: run('open'), read: run('read'), single: run('single'), shared: run('shared') };
}

function table(title, found, show, { value, targets = {} }) {
  const ours = value(found.palimpsest);
  return {
    title: `store: ${title}`,
    note: '2 KB texts, one in a hundred 50 KB; every commit is on disk when it resolves',
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

function syncTable(ours, floor) {
  const quotient = ours.single.median / floor.median;
  return {
    title: 'store: one acknowledged put beside one write and fdatasync',
    note: 'many at once share a sync',
    columns: ['put', 'write + fdatasync', 'ours / floor', 'target', 'many at once', ''],
    rows: [
      {
        cells: [
          time(ours.single.median),
          time(floor.median),
          ratio(quotient),
          '<= 1.3',
          `${count(Math.round(ours.shared.perSecond))}/s`,
        ],
        met: quotient <= 1.3,
        values: { quotient, target: 1.3 },
      },
    ],
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

/** Cost per operation, from 10,000 records to 1,000,000. */
function* growthTables({ measure, quick, root }) {
  const sizes = quick ? [1000, 10_000] : [10_000, 100_000, 1_000_000];
  const rows = sizes.map((records) => {
    const folder = join(root, `growth-${records}`);
    const run = (task) => measure('store.js', { store: 'palimpsest', task, records, folder });
    const measured = { records, load: run('load'), open: run('open'), read: run('read') };
    rmSync(folder, { recursive: true });
    return measured;
  });
  const [first] = rows;
  yield {
    title: 'store: growth',
    note: 'the same texts, more of them',
    columns: ['records', 'load', 'recall', 'recall / first', 'open', 'memory', 'target', ''],
    rows: rows.map(({ records, load, open, read }) => ({
      cells: [
        count(records),
        `${count(Math.round(load.perSecond))}/s`,
        time(read.median),
        ratio(read.median / first.read.median),
        time(open.milliseconds),
        `${read.rss.toFixed(0)} MB`,
        '<= 150 MB',
      ],
      met: read.rss <= 150,
      values: { records, perSecond: load.perSecond, read: read.median, open: open.milliseconds, rss: read.rss },
    })),
  };
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { count, ratio, time } from './table.js';

/** @returns {Generator<import('./table.js').Table>} */
export function* sessionTables({ measure, quick }) {
  const root = mkdtempSync(join(tmpdir(), 'palimpsest-bench-sessions-'));
  try {
    yield growthTable({ measure, sizes: quick ? [1000, 10_000] : [1000, 10_000, 100_000], root });
    yield tailTable({ measure, sizes: quick ? [100, 1000] : [100, 1000, 10_000], root });
    yield addTable({ measure, root });
  } finally {
    rmSync(root, { recursive: true });
  }
}

/** The memory of a session, and the time to open it, must not grow with its log. */
function growthTable({ measure, sizes, root }) {
  const rows = sizes.map((events) => {
    const folder = join(root, `growth-${events}`);
    const fill = measure('session.js', { task: 'fill', events, folder });
    const open = quickest(() => measure('session.js', { task: 'open', folder }));
    const replay = quickest(() => measure('session.js', { task: 'open', folder, withoutSnapshot: true }));
    rmSync(folder, { recursive: true });
    return { events, fill, open, replay };
  });
  // The first one is still below the most messages that stay in memory.
  const first = rows[Math.min(1, rows.length - 1)];
  return {
    title: 'session: memory and opening, by the length of the log',
    note: 'calls, results of 2 KB, log entries; at most 1,000 messages in memory; heap after a collection',
    columns: [
      'events',
      'added',
      'in memory',
      'heap',
      'heap / 10,000',
      'open',
      'open / 10,000',
      'without snapshot',
      'target',
      '',
    ],
    rows: rows.map(({ events, fill, open, replay }) => {
      const heap = fill.heap / first.fill.heap;
      const opening = open.milliseconds / first.open.milliseconds;
      return {
        cells: [
          count(events),
          `${count(Math.round(fill.perSecond))}/s`,
          count(fill.messages),
          `${fill.heap.toFixed(0)} MB`,
          ratio(heap),
          time(open.milliseconds),
          ratio(opening),
          time(replay.milliseconds),
          '<= 1.5',
        ],
        met: heap <= 1.5 && opening <= 1.5,
        values: { events, heap: fill.heap, peak: fill.peak, open: open.milliseconds, replay: replay.milliseconds },
      };
    }),
  };
}

/** Noise only ever adds. */
function quickest(open) {
  return [open(), open(), open()].reduce((a, b) => (a.milliseconds <= b.milliseconds ? a : b));
}

/** A process that was killed left events behind the last snapshot: only those are read. */
function tailTable({ measure, sizes, root }) {
  const rows = sizes.map((events) => {
    const folder = join(root, `tail-${events}`);
    const options = { compaction: 'off', snapshotEvery: 1_000_000 };
    measure('session.js', { task: 'fill', events: 20_000, folder, options });
    measure('session.js', { task: 'fill', events, folder, options, isKilled: true });
    const open = measure('session.js', { task: 'open', folder, options });
    rmSync(folder, { recursive: true });
    return { events, open };
  });
  return {
    title: 'session: opening after a kill, by what came after the last snapshot',
    note: '20,000 events before it',
    columns: ['events after it', 'read', 'open', 'each', 'target', ''],
    rows: rows.map(({ events, open }) => ({
      cells: [
        count(events),
        count(open.events),
        time(open.milliseconds),
        time(open.milliseconds / open.events),
        'read <= 1.1 ×',
      ],
      met: open.from === 'snapshot' && open.events <= 1.1 * events + 10,
      values: { events, read: open.events, open: open.milliseconds },
    })),
  };
}

function addTable({ measure, root }) {
  const { ours, floor } = measure('session.js', { task: 'single', folder: join(root, 'single') });
  const quotient = ours / floor;
  return {
    title: 'session: one acknowledged message beside one write and fdatasync',
    note: 'snapshots and the policy included',
    columns: ['add', 'write + fdatasync', 'ours / floor', 'target', ''],
    rows: [
      {
        cells: [time(ours), time(floor), ratio(quotient), '<= 2'],
        met: quotient <= 2,
        values: { quotient, target: 2 },
      },
    ],
  };
}

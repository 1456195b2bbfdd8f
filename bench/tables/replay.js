import { count, least, ratio, time } from './table.js';

const GROWTH_TARGET = 13;

/** @returns {Generator<import('./table.js').Table>} */
export function* replayTables({ measure, quick }) {
  const lengths = quick ? [100, 1000] : [100, 1000, 10_000];
  const rows = lengths.map((turns) => ({
    turns,
    ...least(quick ? 1 : 3, () => measure('replay.js', { turns, rounds: quick ? 1 : 3 })),
  }));
  yield {
    title: 'replay of one run: eight policies, six price lists, evidence misses',
    note: 'one thread; floor: the file read and parsed, nothing else; growth by ten turns to ten times the time is linear',
    columns: ['turns', 'file', 'ours', 'floor', 'ours / floor', 'MB/s', 'growth', 'target', ''],
    rows: rows.map(({ turns, ours, floor, megabytes }, i) => {
      const before = rows[i - 1];
      const growth = before ? ours / before.ours : undefined;
      const hasTarget = growth !== undefined && before.turns >= 1000;
      return {
        cells: [
          count(turns),
          `${megabytes.toFixed(1)} MB`,
          time(ours),
          time(floor),
          ratio(ours / floor),
          ((1000 * megabytes) / ours).toFixed(1),
          growth === undefined ? '-' : ratio(growth),
          hasTarget ? `<= ${GROWTH_TARGET}` : '-',
        ],
        met: hasTarget ? growth <= GROWTH_TARGET : undefined,
        values: { turns, ours, floor, megabytes, growth },
      };
    }),
  };
}

import { count, least, ratio, time } from './table.js';

const POLICIES = [
  'sliding-window',
  'polling',
  'protect-tokens',
  'clear-tool-uses',
  'first-and-last',
  'oldest-batch',
  'break-even',
];
const TARGET = 1.5;

/** @returns {Generator<import('./table.js').Table>} */
export function* plannerTables({ measure, quick }) {
  const sizes = quick ? [1000, 10_000] : [1000, 10_000, 100_000];
  const adds = quick ? 500 : 1500;
  const rows = POLICIES.flatMap((policy) => {
    const times = sizes.map((size) => least(quick ? 1 : 3, () => measure('planner.js', { size, policy, adds })));
    return times.map((found, i) => rowOf({ policy, size: sizes[i], found, first: times[0] }));
  });
  yield {
    title: 'planner.add of one turn (a reply and its result)',
    note: 'median of many adds, and the mean of the quietest 100 in a row; beside the same at 1,000 messages',
    columns: ['policy', 'messages', 'median', 'mean', 'median / first', 'mean / first', 'target', ''],
    rows,
  };
}

function rowOf({ policy, size, found, first }) {
  const ratios = { median: found.median / first.median, mean: found.mean / first.mean };
  const isFirst = found === first;
  return {
    cells: [
      policy,
      count(size),
      time(found.median),
      time(found.mean),
      ratio(ratios.median),
      ratio(ratios.mean),
      isFirst ? '-' : `<= ${TARGET}`,
    ],
    met: isFirst ? undefined : ratios.median <= TARGET,
    values: { policy, size, ...found, ratios, target: isFirst ? undefined : TARGET },
  };
}

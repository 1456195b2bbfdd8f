import { count, least, ratio, time } from './table.js';

const SIZES = [100, 300, 1000, 3000];
/** The size at which the share of a step counts. */
const TYPICAL = 1000;
const STEP_MS = 2000;
const SHARE = 0.01;
const GROWTH = 1.5;

/** @returns {Generator<import('./table.js').Table>} */
export function* adapterTables({ measure, quick }) {
  const found = SIZES.map((size) => least(quick ? 1 : 3, () => measure('adapter.js', { size, steps: 50 })));
  const typical = found[SIZES.indexOf(TYPICAL)].median / TYPICAL;
  yield {
    title: 'adapter: palimpsest/ai-sdk in generateText, added to a step',
    note: `49 steps with a store on disk, beside a step of ${time(STEP_MS)}; the first step of a run has the whole history`,
    columns: [
      'messages',
      'first step',
      'of the next run',
      'step, median',
      'step, mean',
      'of a step',
      'per message',
      '/ 1,000',
      'target',
      '',
    ],
    rows: SIZES.map((size, i) => rowOf({ size, ...found[i], typical })),
  };
}

function rowOf({ size, first, next, median, mean, typical }) {
  const share = mean / STEP_MS;
  const growth = median / size / typical;
  const targets = {
    [TYPICAL]: { text: `< ${SHARE * 100} %`, met: share < SHARE },
    [SIZES.at(-1)]: { text: `<= ${GROWTH}`, met: growth <= GROWTH },
  };
  const { text = '-', met } = targets[size] ?? {};
  return {
    cells: [
      count(size),
      time(first),
      time(next),
      time(median),
      time(mean),
      `${(share * 100).toFixed(2)} %`,
      time(median / size),
      ratio(growth),
      text,
    ],
    met,
    values: { size, first, next, median, mean, share, growth },
  };
}

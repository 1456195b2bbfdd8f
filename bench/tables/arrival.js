import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { count, ratio, time } from './table.js';

const CORPUS = fileURLToPath(new URL('../../../shared/corpus', import.meta.url));
/** Of a first call of `fit` without arrival; of `planner.add` at 100 turns. */
const TARGET = 1.5;

/** @returns {Generator<import('./table.js').Table>} */
export function* arrivalTables({ measure, quick }) {
  const sizes = quick ? [1000] : [100, 1000, 10_000];
  const rounds = quick ? 9 : 25;
  const runs = sizes.map((size) => ({ name: `${count(size)} messages`, request: { size, rounds } }));
  if (existsSync(CORPUS)) runs.push({ name: 'real runs', request: { corpus: CORPUS, rounds: quick ? 5 : 11 } });
  yield {
    title: 'fit with results made smaller on arrival, first call, compiled code',
    note: 'processor time, beside fit without arrival in the same process, in turn: least times, their ratio, and that of the medians',
    columns: ['history', 'characters', 'shapers', 'time', 'without', 'least / least', 'medians', 'target', ''],
    rows: runs.flatMap(({ name, request }) => {
      const found = measure('arrival.js', request);
      return ['clean', 'references', 'both'].map((shapers) => rowOf(name, shapers, found));
    }),
  };
  yield addsTable({ measure, quick });
}

function addsTable({ measure, quick }) {
  const turns = quick ? [100, 1000] : [100, 1000, 10_000];
  const times = turns.map((count) => measure('arrival-adds.js', { turns: count, adds: quick ? 400 : 1000 }).mean);
  return {
    title: 'planner.add of one more turn, where every result repeats lines of older ones',
    note: 'processor time, mean of the quietest 100 in a row; beside the same at 100 turns',
    columns: ['turns', 'time', '/ first', 'target', ''],
    rows: times.map((mean, i) => {
      const grown = mean / times[0];
      const [target, met] = i === 0 ? ['-', undefined] : [`<= ${TARGET}`, grown <= TARGET];
      return {
        cells: [count(turns[i]), time(mean), ratio(grown), target],
        met,
        values: { turns: turns[i], mean, grown },
      };
    }),
  };
}

function rowOf(name, shapers, { off, chars, ...found }) {
  const ours = found[shapers];
  const ratios = { least: ours.least / off.least, median: ours.median / off.median };
  const isTarget = shapers === 'both';
  return {
    cells: [
      name,
      count(chars),
      shapers,
      time(ours.least),
      time(off.least),
      ratio(ratios.least),
      ratio(ratios.median),
      isTarget ? `<= ${TARGET}` : '-',
    ],
    met: isTarget ? ratios.least <= TARGET : undefined,
    values: { name, shapers, chars, off, ours, ratios, target: isTarget ? TARGET : undefined },
  };
}

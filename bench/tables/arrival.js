import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { count, least, ratio, time } from './table.js';

const CORPUS = fileURLToPath(new URL('../../../shared/corpus', import.meta.url));
/** Of a first call of `fit`. Both together may add a half. */
const TARGETS = { clean: 0.1, references: 0.3, both: 0.5 };

/** @returns {Generator<import('./table.js').Table>} */
export function* arrivalTables({ measure, quick }) {
  const sizes = quick ? [1000] : [100, 1000, 10_000];
  const rounds = quick ? 5 : 9;
  const runs = sizes.map((size) => ({ name: `${count(size)} messages`, request: { size, rounds } }));
  if (existsSync(CORPUS)) runs.push({ name: 'real runs', request: { corpus: CORPUS, rounds: quick ? 3 : 5 } });
  yield {
    title: 'results made smaller on arrival, texts never seen, compiled code',
    note: 'medians; beside countTokens of every text, and a first call of fit without arrival',
    columns: ['history', 'characters', 'shaper', 'time', '/ countTokens', 'fit', '/ fit', 'target', ''],
    rows: runs.flatMap(({ name, request }) => {
      const found = least(quick ? 1 : 3, () => measure('arrival.js', request));
      return Object.keys(TARGETS).map((shaper) => rowOf(name, shaper, found));
    }),
  };
}

function rowOf(name, shaper, found) {
  const [ours, target] = [found[shaper], TARGETS[shaper]];
  const ratios = { count: ours / found.count, fit: ours / found.fit };
  const chars = count(found.chars);
  return {
    cells: [name, chars, shaper, time(ours), ratio(ratios.count), time(found.fit), ratio(ratios.fit), `<= ${target}`],
    met: ratios.fit <= target,
    values: { name, shaper, ...found, ratios, target },
  };
}

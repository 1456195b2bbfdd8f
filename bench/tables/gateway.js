import { count, ratio, time } from './table.js';

/** @returns {Generator<import('./table.js').Table>} */
export function* gatewayTables({ measure, quick }) {
  yield throughputTable(
    measure('gateway.js', { task: 'throughput', rounds: quick ? 7 : 31, roundMs: quick ? 300 : 450 }),
  );
  const rounds = quick ? 220 : 880;
  const run = (bodyBytes, isNew) => measure('gateway.js', { task: 'latency', bodyBytes, rounds, isNew });
  yield latencyTable([
    { what: '100 KB, a turn more each time', ...run(100_000, false), target: TARGETS.bare },
    { what: '100 KB, never seen before', ...run(100_000, true) },
    { what: '1 MB, a turn more each time', ...run(1_000_000, false), target: TARGETS.rewrite },
    { what: '1 MB, never seen before', ...run(1_000_000, true), target: TARGETS.fourRewrites },
  ]);
  // A store in memory keeps 20,000 records of requests: until then it grows.
  yield memoryTable(measure('gateway.js', { task: 'memory', requests: 50_000 }), 50_000);
}

/** What a gateway may add to the time of the bare proxy, by what the rewriting one adds. */
const TARGETS = {
  bare: { shown: '<= 1 ms', most: () => 1 },
  rewrite: { shown: '< rewrite', most: (byRewrite) => byRewrite },
  fourRewrites: { shown: '<= 4 rewrites', most: (byRewrite) => 4 * byRewrite },
};

function throughputTable({ bodyBytes, bare, palimpsest, quotient }) {
  return {
    title: 'gateway: requests per second',
    note: `bodies of ${count(bodyBytes)} bytes, 16 at a time; bare is node:http on both sides and nothing else; median of pairs`,
    columns: ['palimpsest', 'bare', 'ours / bare', 'target', ''],
    rows: [
      {
        cells: [count(Math.round(palimpsest)), count(Math.round(bare)), ratio(quotient), '>= 0.7'],
        met: quotient >= 0.7,
        values: { palimpsest, bare, quotient, target: 0.7 },
      },
    ],
  };
}

function latencyTable(found) {
  return {
    title: 'gateway: time to the first byte',
    note: 'one request at a time, median; rewrite parses the JSON, masks it and writes it again',
    columns: ['body', 'palimpsest', 'bare', 'rewrite', 'added', 'added by rewrite', 'target', ''],
    rows: found.map(({ what, palimpsest, bare, rewrite, target }) => {
      const [added, byRewrite] = [palimpsest - bare, rewrite - bare];
      return {
        cells: [
          what,
          time(palimpsest),
          time(bare),
          time(rewrite),
          signed(added),
          signed(byRewrite),
          target?.shown ?? '-',
        ],
        met: target && added <= target.most(byRewrite),
        values: { what, palimpsest, bare, rewrite },
      };
    }),
  };
}

const signed = (milliseconds) => `${milliseconds < 0 ? '-' : '+'}${time(Math.abs(milliseconds))}`;

function memoryTable({ first, last }, requests) {
  const quotient = last / first;
  return {
    title: 'gateway: memory',
    note: `resident, after ${count(requests / 2)} requests and after ${count(requests)} more`,
    columns: ['before', 'after', 'growth', 'target', ''],
    rows: [
      {
        cells: [`${first.toFixed(0)} MB`, `${last.toFixed(0)} MB`, ratio(quotient), '<= 1.2'],
        met: quotient <= 1.2,
        values: { first, last, quotient },
      },
    ],
  };
}

import { count, least, ratio, time } from './table.js';

const SECOND_TARGET = 3;
const FIRST_TARGET = 1.5;
/** Times what the floor grows, a plain loop over the messages: its time grows with the heap too. */
const GROWTH_TARGET = 1.3;
const PEER_LIMIT_MS = 60_000;

/** @returns {Generator<import('./table.js').Table>} */
export function* reduceTables({ measure, quick }) {
  const sizes = quick ? [100, 1000, 10_000] : [100, 1000, 10_000, 100_000];
  const plan = { rounds: quick ? 5 : 9, processes: quick ? 1 : 3 };
  const times = (task, placeholder, { processes } = plan) =>
    sizes.map((size) => timeAt({ measure, task, size, placeholder, ...plan, processes }));

  const second = times('second', 'house');
  yield againstFloor({
    title: 'fit, second call (sizes and handles known)',
    note: 'polling({ turns: 10, every: 1 }), openai-chat; floor: the same masks and placeholders by hand',
    rows: second,
    target: SECOND_TARGET,
  });
  const later = times('later', 'house');
  yield againstFloor({
    title: 'fit, from the third call on (the list is remembered)',
    note: 'bare: a constant text, nothing else',
    rows: later,
    target: SECOND_TARGET,
  });
  yield againstFloor({
    title: 'fit, from the third call on, slidingWindow({ turns: 10 }): for information',
    note: 'its placeholder is a constant text, so the floor reads no text at all',
    rows: times('later', 'constant'),
  });
  // Garbage collections fall into some samples and not into others.
  const first = times('first', 'house', { processes: quick ? 1 : 5 });
  yield againstFloor({
    title: 'fit, first call (texts never seen, compiled code)',
    note: 'floor: the same by hand, counting every text with countTokens and hashing each hidden one with SHA-256',
    rows: first,
    target: FIRST_TARGET,
  });
  yield growth({ first, second, later });
  yield againstPruneMessages({ sizes, measure, ...plan });
  yield againstClearToolUses({ sizes, measure, ...plan });
}

function timeAt({ measure, task, size, placeholder, rounds, processes }) {
  const isLarge = size >= 100_000;
  const request = { task, size, placeholder, rounds: isLarge ? 3 : rounds };
  return { size, ...least(processes, () => measure('reduce.js', request)) };
}

function againstFloor({ title, note, rows, target }) {
  const hasBare = rows[0].bare !== undefined;
  return {
    title,
    note,
    columns: ['messages', 'ours', 'floor', ...(hasBare ? ['bare'] : []), 'ours / floor', 'target', ''],
    rows: rows.map(({ size, ours, floor, bare }) => ({
      cells: [
        count(size),
        time(ours),
        time(floor),
        ...(hasBare ? [time(bare)] : []),
        ratio(ours / floor),
        goal(target),
      ],
      met: target === undefined ? undefined : ours / floor <= target,
      values: { size, ours, floor, bare, ratio: ours / floor, target },
    })),
  };
}

const goal = (target) => (target === undefined ? '-' : `<= ${target}`);

function growth(calls) {
  const pairs = Object.entries(calls).flatMap(([call, rows]) => [
    ...rows.slice(1).map((row, i) => ({ call, from: rows[i], to: row })),
    { call, from: rows.find(({ size }) => size === 1000), to: rows.at(-1), isJudged: true },
  ]);
  return {
    title: 'fit, growth: more messages',
    note: 'linear is what the floor grows: longer histories leave the caches of the processor, for both; judged over the whole range',
    columns: ['call', 'from', 'to', 'time × ours', 'time × floor', 'ours / floor', 'target', ''],
    rows: pairs.map(({ call, from, to, isJudged = false }) => {
      const [ours, floor] = [to.ours / from.ours, to.floor / from.floor];
      const cells = [call, count(from.size), count(to.size), ratio(ours), ratio(floor), ratio(ours / floor)];
      return {
        cells: [...cells, isJudged ? goal(GROWTH_TARGET) : '-'],
        met: isJudged ? ours / floor <= GROWTH_TARGET : undefined,
        values: { call, from: from.size, to: to.size, ours, floor, target: isJudged ? GROWTH_TARGET : undefined },
      };
    }),
  };
}

function againstPruneMessages({ sizes, measure, rounds, processes }) {
  const rows = sizes.map((size) => timeAt({ measure, task: 'prune', size, rounds, processes }));
  return {
    title: 'fit, second and later calls, beside pruneMessages of the AI SDK',
    note: "the same ModelMessages, the same conditions; pruneMessages removes calls and results, ours masks; window: its cheapest call, { toolCalls: 'before-last-20-messages' }, for information",
    columns: ['messages', 'call', 'ours', 'pruneMessages', 'window', 'ours / peer', 'ours / window', 'target', ''],
    rows: rows.flatMap(({ size, second, secondPeer, secondWindow, later, peer, window }) => [
      pruneRow(size, 'second', { ours: second, peer: secondPeer, window: secondWindow }),
      pruneRow(size, 'later', { ours: later, peer, window }),
    ]),
  };
}

function pruneRow(size, call, { ours, peer, window }) {
  return {
    cells: [count(size), call, ...[ours, peer, window].map(time), ratio(ours / peer), ratio(ours / window), '<= 1'],
    met: ours <= peer,
    values: { size, call, ours, peer, window, target: 1 },
  };
}

function againstClearToolUses({ sizes, measure, rounds }) {
  const rows = [];
  let last;
  for (const size of sizes) {
    // It recounts the whole history for each result that it clears: ten times the messages, a hundred times the time.
    const expected = last ? last.peer * 100 * (size / (10 * last.size)) ** 2 : 0;
    const found =
      expected > PEER_LIMIT_MS
        ? undefined
        : measure('reduce.js', clearRequest(size, rounds), { limitMs: 3 * PEER_LIMIT_MS });
    rows.push(found && found.peer <= PEER_LIMIT_MS ? clearRow(size, found) : skippedRow(size, found?.peer ?? expected));
    if (found) last = { size, peer: found.peer };
    else break;
  }
  return {
    title: 'fit, any call, beside ClearToolUsesEdit of LangChain',
    note: 'the same message instances; new ClearToolUsesEdit({ trigger: { tokens: 1 }, keep: { messages: 10 } }) with its approximate counter',
    columns: [
      'messages',
      'ours, first',
      'ours, second',
      'ClearToolUsesEdit',
      'first / peer',
      'second / peer',
      'target',
      '',
    ],
    rows,
  };
}

const clearRequest = (size, rounds) => ({ task: 'clear', size, rounds: size >= 10_000 ? 3 : rounds });

function clearRow(size, { first, second, peer }) {
  return {
    cells: [count(size), time(first), time(second), time(peer), ratio(first / peer), ratio(second / peer), '< 1'],
    met: first < peer && second < peer,
    values: { size, first, second, peer, target: 1 },
  };
}

function skippedRow(size, expected) {
  const why = expected > 0 ? `skipped: would take about ${time(expected)}` : 'skipped: more than 60 s';
  return { cells: [count(size), '-', '-', why, '-', '-', '< 1'], values: { size, skipped: why } };
}

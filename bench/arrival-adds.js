// Processor time of planner.add of one more turn, where every result repeats lines of older ones:
// node --expose-gc bench/arrival-adds.js '{"turns":1000,"adds":400}'
import { breakEven, createPlanner } from '../dist/index.js';
import { collectGarbage, processorTime } from './measure.js';

const FILES = 20;
const LINES = 60;
const BLOCK = 100;

const { turns, adds } = JSON.parse(process.argv[2]);
// The code is compiled before anything counts.
timeAdds(3000, 400);
console.log(JSON.stringify({ mean: timeAdds(turns, adds) }));

/** Milliseconds per add in the quietest block. Policies act in bursts, every few dozen turns: a block holds several of them. */
function timeAdds(start, count) {
  const planner = createPlanner({ format: 'openai-chat', policy: breakEven() });
  planner.add({ role: 'user', content: 'Fix the failing test.' });
  for (let i = 0; i < start; i++) planner.add(...turnOf(i));
  collectGarbage();
  let best = Number.POSITIVE_INFINITY;
  for (let from = start; from < start + count; from += BLOCK) {
    const block = Array.from({ length: BLOCK }, (_, i) => turnOf(from + i));
    const before = processorTime();
    for (const turn of block) planner.add(...turn);
    best = Math.min(best, (processorTime() - before) / BLOCK);
  }
  return best;
}

/** A file is read again and again, each time up to another line. */
function turnOf(i) {
  const [id, file] = [`call_${i}`, i % FILES];
  const call = { name: 'read_file', arguments: JSON.stringify({ path: `src/file-${file}.ts` }) };
  const lines = Array.from({ length: LINES - (i % 25) }, (_, n) => `${n + 1}→const value${n} = compute(${file * n});`);
  return [
    { role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: call }] },
    { role: 'tool', tool_call_id: id, content: lines.join('\n') },
  ];
}

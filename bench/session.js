// One session, measured in a fresh process: node bench/session.js '{"task":"fill","events":100000,"folder":"…"}'
import { closeSync, fdatasync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { median } from './measure.js';

const { openSession } = await import('../dist/manager/session/open-session.js');

const tasks = { fill, open, single };
const request = JSON.parse(process.argv[2]);
console.log(JSON.stringify(await tasks[request.task](request)));

function optionsOf(folder, options = {}) {
  return { directory: folder, id: 'bench', ...options };
}

/** A task, then turns of a call, a result of 2 KB and what the provider counted; 30 turns share a moment. */
async function fill({ events, folder, options }) {
  const session = await openSession(optionsOf(folder, options));
  const start = performance.now();
  let peak = 0;
  await session.add({ role: 'user', content: 'the task' });
  for (let written = 2, turn = 0; written < events; ) {
    const adding = [];
    for (let i = 0; i < 30 && written < events; i++, turn++, written += 3) {
      adding.push(session.add(callOf(turn), resultOf(turn)));
      session.record({ type: 'x_turn', turn });
    }
    await Promise.all(adding);
    peak = Math.max(peak, process.memoryUsage.rss());
  }
  const milliseconds = performance.now() - start;
  globalThis.gc?.();
  const { heapUsed } = process.memoryUsage();
  const messages = session.messages().length;
  if (request.isKilled) process.exit(tell({ messages }));
  await session.close();
  return { perSecond: (1000 * events) / milliseconds, heap: heapUsed / 1e6, peak: peak / 1e6, messages };
}

function tell(found) {
  writeSync(1, `${JSON.stringify(found)}\n`);
  return 0;
}

/** The time to open it, and how many events were read for that. */
async function open({ folder, options, withoutSnapshot }) {
  if (withoutSnapshot) rmSync(join(folder, 'bench/state.yaml'), { force: true });
  globalThis.gc?.();
  const start = performance.now();
  const session = await openSession(optionsOf(folder, options));
  const milliseconds = performance.now() - start;
  const { from, events } = session.recovery;
  const rss = process.memoryUsage.rss() / 1e6;
  await session.close();
  return { milliseconds, from, events, rss };
}

/** One after the other, each durable before the next; in turn with one write and fdatasync of the same line. */
async function single({ folder }) {
  const session = await openSession(optionsOf(folder));
  const file = openSync(join(folder, 'floor'), 'w');
  const [ours, floor] = [[], []];
  for (let i = 0; i < 400; i++) {
    const message = i % 2 === 0 ? callOf(i) : resultOf(i - 1);
    ours.push(await timeOf(() => session.add(message)));
    floor.push(
      await timeOf(() => writeAndSync(file, { seq: i, time: new Date().toISOString(), type: 'message', message })),
    );
  }
  closeSync(file);
  await session.close();
  return { ours: median(ours), floor: median(floor) };
}

async function timeOf(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function writeAndSync(file, event) {
  writeSync(file, `${JSON.stringify(event)}\n`);
  return new Promise((resolve, reject) => fdatasync(file, (error) => (error ? reject(error) : resolve())));
}

function callOf(turn) {
  const path = JSON.stringify({ path: `src/file-${turn}.ts` });
  return {
    role: 'assistant',
    content: `Looking at ${turn}.`,
    toolCalls: [{ id: `c${turn}`, name: 'read_file', arguments: path }],
  };
}

function resultOf(turn) {
  return { role: 'tool', name: 'read_file', toolCallId: `c${turn}`, content: `line of file ${turn}\n`.repeat(100) };
}

// Kills a process that writes to a session, again and again, and looks at what it left behind:
// `node scripts/session-crash.js 300` three hundred times, `node scripts/session-crash.js 50 7` fifty times with the seed 7.
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pick, randomFrom, runAndKill, say, whenKilled } from './kill-child.js';

const { openSession } = await import('../dist/manager/session/open-session.js');
const { readSessionEvents } = await import('../dist/manager/session/read-session-events.js');
const { chat } = await import('../dist/formats/chat.js');
const { slidingWindow } = await import('../dist/plan/policies/sliding-window.js');

const ID = 'crash';
const ROUNDS_PER_SESSION = 20;
const MODES = ['archive', 'archive', 'off', 'discard'];
/** Snapshots and compactions all the time, and little in memory. */
const optionsOf = (directory, compaction) => ({
  directory,
  id: ID,
  compaction,
  snapshotEvery: 4,
  compactAfterBytes: 4000,
  maxInputTokens: 1000,
  maxToolResultTokens: 200,
  maxRestarts: 1_000_000,
  policy: slidingWindow({ turns: 5 }),
  onProblem: (problem) => {
    throw problem;
  },
});
/** The word after which the child is killed, and how many milliseconds later at most. */
const MOMENTS = new Map([
  ['started', 15],
  ['opened', 60],
  ['add', 30],
  ['compact', 6],
  ['restart', 6],
]);

// The child: writes, and says what it is about to do and what is done.

async function write(directory, compaction, first) {
  const random = randomFrom(first);
  let number = first * 100_000;
  say({ is: 'started' });
  const session = await openSession(optionsOf(directory, compaction));
  say({ is: 'opened' });
  const acknowledge = async (numbers, work) => {
    say({ begun: 'add', numbers });
    await work();
    say({ done: 'add', numbers });
  };
  const add = (...messages) =>
    acknowledge(
      messages.map(({ n }) => n),
      () => session.add(...messages.map(({ message }) => message)),
    );
  const next = (role, about = {}) => ({ n: number, message: { role, content: textOf(number++, random), ...about } });
  const turn = async () => {
    const ids = Array.from({ length: 1 + Math.floor(random() * 3) }, (_, i) => `c${number}-${i}`);
    await add(next('assistant', { toolCalls: ids.map((id) => ({ id, name: 'bash', arguments: '{}' })) }));
    // The user does not always wait until the tools are done.
    if (random() < 0.2) await add(next('user'));
    for (const id of ids) {
      const { n, message } = next('tool');
      const call = { id, name: 'bash', arguments: {} };
      await acknowledge([n], () => session.answer({ call, text: message.content, isError: false }));
    }
  };
  const tell = async (what, work) => {
    say({ begun: what });
    await work();
    say({ done: what });
  };
  for (;;) {
    const dice = random();
    if (dice < 0.45) await turn();
    else if (dice < 0.6) await add(next('user'));
    else if (dice < 0.75) await Promise.all(Array.from({ length: 5 }, () => add(next('user'), next('assistant'))));
    else if (dice < 0.8) session.record({ type: 'x_note', text: 'nobody waits for this' });
    else if (dice < 0.86) await tell('mask', () => session.mask(2));
    else if (dice < 0.92) await tell('compact', () => session.compact());
    else if (dice < 0.96) await tell('restart', () => session.restart('test'));
    else if (dice < 0.97) await tell('reset', () => session.reset());
    else session.manager.recordUsage({ promptTokens: 1000, completionTokens: 10 });
  }
}

const textOf = (n, random) => `<<${n}>>${'words and more '.repeat(Math.floor(random() ** 3 * 400))}`;

// The parent: kills it, opens the session, and compares.

async function main(times, seed) {
  const random = randomFrom(seed);
  const seen = {};
  let directory;
  let model;
  for (let round = 0; round < times; round++) {
    if (round % ROUNDS_PER_SESSION === 0) {
      if (directory) rmSync(directory, { recursive: true });
      directory = mkdtempSync(join(tmpdir(), 'palimpsest-session-crash-'));
      model = new Model(MODES[Math.floor(round / ROUNDS_PER_SESSION) % MODES.length]);
    }
    try {
      const [word, mostMs] = pick([...MOMENTS], random);
      const args = [
        fileURLToPath(import.meta.url),
        '--child',
        directory,
        model.compaction,
        String(seed * 1000 + round),
      ];
      const lines = await runAndKill(args, { word, delayMs: random() * mostMs });
      for (const line of lines) model.take(line);
      const when = whenKilled(lines);
      seen[when] = (seen[when] ?? 0) + 1;
      await model.check(directory);
    } catch (error) {
      console.error(`round ${round} of seed ${seed}, in ${directory}:`);
      throw error;
    }
  }
  if (directory) rmSync(directory, { recursive: true });
  console.log(`${times} kills with seed ${seed}, nothing lost: ${JSON.stringify(seen)}`);
}

/** What must be in the log, and what may be. */
class Model {
  #begun = new Set();
  #sure = new Set();
  /** Acknowledged since the conversation last began: the newest of these are in memory. */
  #recent = [];

  constructor(compaction) {
    this.compaction = compaction;
  }

  take({ begun, done, numbers = [] }) {
    if (begun === 'add') for (const number of numbers) this.#begun.add(number);
    else if (begun === 'restart' || begun === 'reset') this.#recent = [];
    if (done !== 'add') return;
    for (const number of numbers) this.#sure.add(number);
    this.#recent.push(...numbers);
  }

  async check(directory) {
    const before = await eventsIn(directory);
    const alone = await this.#openWithoutSnapshot(directory);
    const session = await openSession(optionsOf(directory, this.compaction));
    if (session.recovery.damagedLines > 0) throw new Error(`damage: ${JSON.stringify(session.recovery)}`);
    const found = stateOf(session);
    if (JSON.stringify(found) !== JSON.stringify(alone)) throw new Error('snapshot and events tell different stories');
    for (const list of [session.messages(), session.view()]) {
      const violations = chat.check([...list, { role: 'user', content: 'next' }]);
      if (violations.length > 0) throw new Error(`not to be sent: ${JSON.stringify(violations)}`);
    }
    await session.close();
    this.#checkEvents(before);
    this.#checkEvents(await eventsIn(directory));
  }

  #checkEvents(events) {
    const seqs = events.map(({ seq }) => seq);
    if (seqs.some((seq, i) => i > 0 && seq <= seqs[i - 1])) throw new Error('events out of order, or twice');
    const numbers = events.flatMap(({ type, message, recovered }) =>
      type === 'message' && !recovered ? [Number(/^<<(\d+)>>/.exec(message.content)?.[1])] : [],
    );
    if (numbers.some((number, i) => i > 0 && number <= numbers[i - 1]))
      throw new Error('messages out of order, or twice');
    const strange = numbers.filter((number) => !this.#begun.has(number));
    if (strange.length > 0) throw new Error(`nobody added ${strange}`);
    const there = new Set(numbers);
    // What may be discarded is what is no longer in memory.
    const must = this.compaction === 'discard' ? this.#recent.slice(-50) : [...this.#sure];
    const lost = must.filter((number) => !there.has(number));
    if (lost.length > 0) throw new Error(`acknowledged and not there: ${lost}`);
  }

  /** What the events alone say, in a copy. */
  async #openWithoutSnapshot(directory) {
    const copy = mkdtempSync(join(tmpdir(), 'palimpsest-session-copy-'));
    try {
      if (existsSync(join(directory, ID))) cpSync(join(directory, ID), join(copy, ID), { recursive: true });
      rmSync(join(copy, ID, 'state.yaml'), { force: true });
      const session = await openSession(optionsOf(copy, this.compaction));
      const found = stateOf(session);
      await session.close();
      return found;
    } finally {
      rmSync(copy, { recursive: true });
    }
  }
}

const stateOf = (session) => ({
  messages: session.messages(),
  view: session.view(),
  number: session.number,
  turns: session.turns,
});

async function eventsIn(directory) {
  const events = [];
  for await (const event of readSessionEvents({ directory, id: ID })) events.push(event);
  return events;
}

if (process.argv[2] === '--child') await write(process.argv[3], process.argv[4], Number(process.argv[5]));
else await main(Number(process.argv[2] ?? 300), Number(process.argv[3] ?? Date.now() % 100_000));

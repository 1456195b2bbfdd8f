// Kills a process that writes to a store, again and again, and looks at what it left behind: `npm run crash` a thousand
// times, `node scripts/crash.js 50 7` fifty times with the seed 7.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pick, randomFrom, runAndKill, say, whenKilled } from './kill-child.js';

const { openWithLimits } = await import('../dist/store/embedded/open-with-limits.js');
const { handleOf } = await import('../dist/store/handle.js');

/** Checkpoints, splits and compactions all the time. */
const RESTLESS = { checkpointBytes: 20_000, checkpointPages: 3, cachePages: 3, leastDead: 50_000 };
const SESSIONS = ['a', 'b', 'c', 'd'];
/** Of these nothing is ever deleted, so that the index grows. */
const KEPT = 'kept';
const ROUNDS_PER_STORE = 25;
/** The word after which the child is killed, and how many milliseconds later at most. */
const MOMENTS = new Map([
  ['started', 15],
  ['opened', 100],
  ['put', 60],
  ['gc', 8],
  ['delete', 8],
]);

// The child: writes, and says what it is about to do and what is done.

async function write(path, first, often) {
  const random = randomFrom(first);
  let number = first * 100_000;
  say({ is: 'started' });
  const store = await openWithLimits({ path }, RESTLESS);
  say({ is: 'opened' });
  const put = async (session) => {
    const one = { number: number++, size: sizeOf(random), session };
    say({ begun: 'put', ...one });
    await store.put(textOf(one), { session });
    say({ done: 'put', ...one });
  };
  const share = async () => {
    const one = { number: number++, size: 300, session: pick(SESSIONS, random) };
    say({ begun: 'put', ...one });
    say({ begun: 'put', ...one, session: KEPT });
    await store.put(textOf(one), { session: one.session });
    await store.put(textOf(one), { session: KEPT });
    say({ done: 'put', ...one });
    say({ done: 'put', ...one, session: KEPT });
  };
  const many = async (session) => {
    const all = Array.from({ length: 30 }, () => ({ number: number++, size: 60, session }));
    for (const one of all) say({ begun: 'put', ...one });
    await store.putMany(all.map((one) => ({ text: textOf(one), about: { session } })));
    for (const one of all) say({ done: 'put', ...one });
  };
  const remove = async (session, purge) => {
    say({ begun: 'delete', session });
    await store.delete(session, { purge });
    say({ done: 'delete', session, purge });
  };
  for (;;) {
    const dice = random() < 0.25 ? ({ gc: 0.99, delete: 0.9 }[often] ?? random()) : random();
    const session = dice < 0.3 ? KEPT : pick(SESSIONS, random);
    if (dice < 0.5) await Promise.all(Array.from({ length: 1 + Math.floor(random() * 8) }, () => put(session)));
    else if (dice < 0.7) await put(session);
    else if (dice < 0.8) await many(KEPT);
    else if (dice < 0.85) await share();
    else if (dice < 0.93) await remove(session, false);
    else if (dice < 0.96) await remove(session, true);
    else {
      say({ begun: 'gc' });
      await store.gc({ force: true });
      say({ done: 'gc' });
    }
  }
}

const sizeOf = (random) => pick([0, 20, 500, 2000, 2000, 5000, 60_000, random() < 0.1 ? 2_000_000 : 100], random);

// The parent: kills it, opens the store, and compares.

async function main(times, seed) {
  const random = randomFrom(seed);
  let path;
  let model;
  const seen = {};
  for (let round = 0; round < times; round++) {
    if (round % ROUNDS_PER_STORE === 0) {
      if (path) rmSync(path, { recursive: true });
      path = mkdtempSync(join(tmpdir(), 'palimpsest-crash-'));
      model = new Model();
    }
    try {
      // While it opens; some time while it works; soon after it began to compact or to delete.
      const [word, mostMs] = pick([...MOMENTS], random);
      const args = [fileURLToPath(import.meta.url), '--child', path, String(seed * 1000 + round), word];
      const lines = await runAndKill(args, { word, delayMs: random() * mostMs });
      for (const line of lines) model.take(line);
      const when = whenKilled(lines);
      seen[when] = (seen[when] ?? 0) + 1;
      await model.check(path, random);
    } catch (error) {
      console.error(`round ${round} of seed ${seed}, in ${path}:`);
      throw error;
    }
  }
  if (path) rmSync(path, { recursive: true });
  console.log(`${times} kills with seed ${seed}, nothing lost: ${JSON.stringify(seen)}`);
}

/** What must be there, what may be there, and what must not. */
class Model {
  /** By session: each text that was acknowledged, or only begun. */
  #sessions = new Map([...SESSIONS, KEPT].map((session) => [session, new Map()]));
  #isBeingDeleted = new Set();
  #deleted = new Map();
  #purged = [];

  take(line) {
    const { session, number, size } = line;
    if (line.begun === 'put') this.#sessions.get(session).set(number, { number, size, session, isSure: false });
    else if (line.done === 'put') this.#sessions.get(session).get(number).isSure = true;
    else if (line.begun === 'delete') this.#isBeingDeleted.add(session);
    else if (line.done === 'delete') {
      this.#forget(session);
      if (line.purge) this.#purged = [...this.#deleted.values()].slice(-40);
    }
  }

  #forget(session) {
    for (const one of this.#sessions.get(session).values()) this.#deleted.set(one.number, one);
    this.#sessions.set(session, new Map());
    this.#isBeingDeleted.delete(session);
  }

  async check(path, random) {
    this.#checkPurged(path);
    // A reader must get along with what was left, as well as the writer who repairs it.
    const modes = random() < 0.5 ? ['read', 'write'] : ['write', 'read'];
    for (const mode of modes) {
      const store = await this.#open(path, mode);
      if (!store) continue;
      await this.#checkStore(store);
      await store.close();
    }
  }

  /** A reader finds no store where the writer was killed before there was one. */
  async #open(path, mode) {
    try {
      return await openWithLimits({ path, mode }, RESTLESS);
    } catch (error) {
      if (error.code === 'BAD_INPUT' && this.#isEmpty()) return undefined;
      throw error;
    }
  }

  #isEmpty() {
    return [...this.#sessions.values()].every((texts) => [...texts.values()].every(({ isSure }) => !isSure));
  }

  async #checkStore(store) {
    const problems = await store.verify();
    if (problems.length > 0) throw new Error(`verify: ${JSON.stringify(problems)}`);
    for (const session of this.#sessions.keys()) await this.#checkSession(store, session);
    const kept = this.#sessions.get(KEPT);
    for (const one of [...this.#deleted.values()].slice(-100)) {
      const stored = await store.get(handleOf(textOf(one)));
      if (stored && !kept.has(one.number)) throw new Error(`text ${one.number} was deleted and is back`);
    }
    const { texts } = await store.stats();
    const all = new Set([...this.#sessions.values()].flatMap((known) => [...known.keys()]));
    if (texts !== all.size) throw new Error(`expected ${all.size} texts but stats say ${texts}`);
  }

  async #checkSession(store, session) {
    const listed = new Set();
    for await (const { text } of store.list(session)) listed.add(text);
    const known = this.#sessions.get(session);
    if (this.#isBeingDeleted.has(session)) {
      // All of it or nothing.
      if (listed.size === 0) this.#forget(session);
      this.#isBeingDeleted.delete(session);
    }
    for (const [number, one] of this.#sessions.get(session)) {
      const text = textOf(one);
      const stored = await store.get(handleOf(text));
      const isThere =
        listed.has(text) && stored?.text === text && stored.refs.some((about) => about.session === session);
      if (!isThere && one.isSure) throw new Error(`text ${number} of ${session} was acknowledged and is not there`);
      if (isThere) one.isSure = true;
      else known.delete(number);
      listed.delete(text);
    }
    if (listed.size > 0) throw new Error(`${listed.size} texts of ${session} that should not be there`);
  }

  #checkPurged(path) {
    const marks = this.#purged
      .filter(({ number, size }) => size > 0 && !this.#sessions.get(KEPT).has(number))
      .map(markOf);
    this.#purged = [];
    if (marks.length === 0) return;
    const folder = join(path, 'default');
    for (const name of readdirSync(folder)) {
      const bytes = readFileSync(join(folder, name));
      for (const mark of marks) if (bytes.includes(mark)) throw new Error(`${mark} was purged and stands in ${name}`);
    }
  }
}

const markOf = ({ number }) => `<<${number}>>`;
const textOf = (one) => markOf(one) + `${one.number} `.repeat(one.size).slice(0, one.size);
if (process.argv[2] === '--child') await write(process.argv[3], Number(process.argv[4]), process.argv[5]);
else await main(Number(process.argv[2] ?? 1000), Number(process.argv[3] ?? Date.now() % 100_000));

/** Keeps results alive, so that no work is optimised away. */
export const sink = { last: undefined };

/**
 * Times contenders in turn, so that whatever else the machine does hits all alike.
 * Answers the median of each in milliseconds per call.
 * @param {Record<string, () => unknown>} contenders
 */
export function raceWarm(contenders, { rounds, leastMs = 2 }) {
  return race(contenders, rounds, (run) => {
    const warm = warmUp({ run }, { milliseconds: 150 });
    return timeOf(run, Math.max(1, Math.ceil(leastMs / warm)));
  });
}

/**
 * Times first calls: each sample gets a history of its own, made of texts never seen before.
 * @param {Record<string, (fresh: unknown) => unknown>} contenders
 */
export function raceCold(contenders, { rounds, makeFresh, makeWarm, summarise = median, clock = wallTime }) {
  const sample = (run) => {
    const fresh = makeFresh();
    collectGarbage();
    warmUp({ run }, { milliseconds: 150, make: makeWarm, clock });
    return timeOf(() => run(fresh), 1, clock);
  };
  return race(contenders, rounds, sample, summarise);
}

function race(contenders, rounds, sample, summarise = median) {
  const entries = Object.entries(contenders).map(([name, run]) => ({ name, run, times: [] }));
  for (let round = 0; round < rounds; round++) {
    for (const entry of round % 2 === 0 ? entries : entries.toReversed()) {
      collectGarbage();
      entry.times.push(sample(entry.run));
    }
  }
  return Object.fromEntries(entries.map(({ name, times }) => [name, summarise(times)]));
}

/**
 * Calls until the compiler has seen all of it; answers the shortest call in milliseconds.
 * Needed after each collection too: V8 throws compiled code away when no object of its shapes is left.
 * @param {Record<string, (fresh: any) => unknown>} contenders
 */
export function warmUp(contenders, { milliseconds, make = () => undefined, clock = wallTime }) {
  let best = Number.POSITIVE_INFINITY;
  const end = clock() + milliseconds;
  do {
    for (const run of Object.values(contenders)) {
      const fresh = make();
      best = Math.min(
        best,
        timeOf(() => run(fresh), 1),
      );
    }
  } while (clock() < end);
  return best;
}

function timeOf(run, repeats, clock = wallTime) {
  const start = clock();
  for (let i = 0; i < repeats; i++) sink.last = run();
  return Math.max(1e-5, (clock() - start) / repeats);
}

const wallTime = () => performance.now();

/** Milliseconds that all threads of this process have worked. Other processes disturb it less than the wall clock. */
export function processorTime() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Without --expose-gc the times are only noisier. */
export function collectGarbage() {
  globalThis.gc?.();
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

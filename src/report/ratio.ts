import type { Sampled } from './interval.ts';

/** One session's part in a ratio of sums, such as its cost and its requests. */
export interface Part {
  readonly part: number;
  readonly whole: number;
}

/**
 * The logarithm of a ratio of sums over sessions. Its variance is the jackknife's: each session is left out once. This stays right
 * even if one session has most of the cost. Undefined if there is nothing to divide.
 */
export function logRatio(parts: readonly Part[]): Sampled | undefined {
  const all = sumOf(parts);
  if (parts.length < 2 || all.part <= 0 || all.whole <= 0) return undefined;
  // The ratio without the session, divided by the ratio of all.
  const scale = all.whole / all.part;
  const values = parts.map(({ part, whole }) => Math.log((scale * (all.part - part)) / (all.whole - whole)));
  // If a single session has all of it, the spread is unknown.
  return values.every(Number.isFinite) ? fromJackknife(-Math.log(scale), values) : undefined;
}

/**
 * The mean of logarithms over sessions: the logarithm of a typical session's value. A few huge sessions hardly move it, so
 * it shows a change of the usual session much sooner than the mean does.
 */
export function logTypical(values: readonly number[]): Sampled | undefined {
  const n = values.length;
  if (n < 2) return undefined;
  const logs = values.map((value) => Math.log(Math.max(value, 1)));
  const mean = logs.reduce((sum, one) => sum + one, 0) / n;
  const { second, freedom } = spreadOf(logs.map((one) => one - mean));
  return { value: mean, variance: second / (n * (n - 1)), freedom, sessions: n };
}

/** A ratio of sums over sessions that may be zero, such as the share of failed results. */
export function share(parts: readonly Part[]): Sampled | undefined {
  const all = sumOf(parts);
  if (parts.length < 2 || all.whole <= 0) return undefined;
  const values = parts.map(({ part, whole }) => (all.part - part) / (all.whole - whole));
  return values.every(Number.isFinite) ? fromJackknife(all.part / all.whole, values) : undefined;
}

function fromJackknife(value: number, values: readonly number[]): Sampled {
  const n = values.length;
  const mean = values.reduce((sum, one) => sum + one, 0) / n;
  const { second, freedom } = spreadOf(values.map((one) => one - mean));
  return { value, variance: ((n - 1) / n) * second, freedom, sessions: n };
}

/**
 * The shares of two arms. No arm may have a smaller variance than both together: otherwise an arm in which the event has not happened
 * yet would look certain.
 */
export function sharesOf(a: readonly Part[], b: readonly Part[]): readonly [Sampled, Sampled] | undefined {
  const [first, second, both] = [share(a), share(b), share([...a, ...b])];
  // An event that never happened says nothing about its spread.
  if (!first || !second || !both || both.variance === 0) return undefined;
  const atLeast = (one: Sampled): Sampled => {
    const variance = (both.variance * both.sessions) / one.sessions;
    if (one.variance >= variance) return one;
    return { ...one, variance, freedom: Math.max(1, (both.freedom * one.sessions) / both.sessions) };
  };
  return [atLeast(first), atLeast(second)];
}

/**
 * The sum of squares, and the degrees of freedom it has as an estimate of variance. They are 2 / (relative variance of the
 * sum), which is n for normal deviations and falls as a few of them make up the sum (Satterthwaite, 1946). A sample shows too
 * little of a heavy tail, so the factor is 1.5: `npm run report-coverage` shows that the intervals then hold as stated.
 */
function spreadOf(deviations: readonly number[]): { readonly second: number; readonly freedom: number } {
  const n = deviations.length;
  let [second, fourth] = [0, 0];
  for (const deviation of deviations) {
    const square = deviation * deviation;
    second += square;
    fourth += square * square;
  }
  const excess = second > 0 ? fourth / second ** 2 - 1 / n : 0;
  return { second, freedom: Math.max(1, Math.min(n - 1, excess > 0 ? FREEDOM / excess : n - 1)) };
}

const FREEDOM = 1.5;

function sumOf(parts: readonly Part[]): Part {
  let [part, whole] = [0, 0];
  for (const one of parts) {
    part += one.part;
    whole += one.whole;
  }
  return { part, whole };
}

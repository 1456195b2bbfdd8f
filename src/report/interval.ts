/** An estimate from a sample of sessions: how far it may be off, and the amount of data behind it. */
export interface Sampled {
  readonly value: number;
  readonly variance: number;
  /** Degrees of freedom of the variance: few if few sessions carry most of it. */
  readonly freedom: number;
  readonly sessions: number;
}

export interface Interval {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** The difference of two independent estimates. */
export function difference(a: Sampled, b: Sampled): Sampled {
  const value = a.value - b.value;
  const variance = a.variance + b.variance;
  // Satterthwaite: the variances are added, so are their errors.
  const spread = a.variance ** 2 / a.freedom + b.variance ** 2 / b.freedom;
  return {
    // Equal values that were added in another order differ in the last digits. Without a spread that would be a difference.
    value: Math.abs(value) < ROUNDING ? 0 : value,
    variance,
    freedom: spread > 0 ? variance ** 2 / spread : Math.min(a.freedom, b.freedom),
    sessions: 1 / (1 / a.sessions + 1 / b.sessions),
  };
}

const ROUNDING = 1e-9;

/**
 * An interval that holds at all looks together, however often you look while sessions arrive: the chance that it ever misses the
 * truth is `alpha`.
 */
export function intervalOf(sampled: Sampled, alpha: number): Interval {
  const reach = halfWidth(sampled, alpha);
  return { value: sampled.value, low: sampled.value - reach, high: sampled.value + reach };
}

export function halfWidth({ variance, freedom, sessions }: Sampled, alpha: number): number {
  return toStudent(boundary(sessions, alpha), freedom) * Math.sqrt(variance);
}

/** The interval is narrowest, in standard errors, at this many sessions. */
const TUNED_TO_SESSIONS = 60;

/**
 * Standard errors to both sides: the mixture boundary of Robbins, as an asymptotic confidence sequence
 * (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, 2024).
 */
function boundary(sessions: number, alpha: number): number {
  const log = -2 * Math.log(alpha);
  const scale = (sessions * (log + Math.log(log + 1))) / TUNED_TO_SESSIONS;
  return Math.sqrt((1 + 1 / scale) * (Math.log(1 + scale) + log));
}

/** The point of Student's distribution with the tail that the normal one has at `z` (Wallace, 1959). */
function toStudent(z: number, freedom: number): number {
  const least = Math.max(freedom, 1);
  const scaled = (z * (8 * least + 3)) / (8 * least + 1);
  return Math.sqrt(least * Math.expm1(scaled ** 2 / least));
}

/**
 * The factor by which the number of sessions must grow until the interval excludes zero, if the estimate stays the same. For an
 * estimate below `least`, until one of that size would show.
 */
export function growthToTell(sampled: Sampled, alpha: number, least: number): number {
  const aim = Math.max(Math.abs(sampled.value), least);
  const tells = (growth: number): boolean => {
    const { variance, freedom, sessions } = sampled;
    const grown = { ...sampled, variance: variance / growth, freedom: freedom * growth, sessions: sessions * growth };
    return halfWidth(grown, alpha) < aim;
  };
  let [low, high] = [1, 1];
  while (!tells(high) && high < MOST_GROWTH) [low, high] = [high, high * 2];
  for (let i = 0; i < 20; i++) {
    const middle = (low + high) / 2;
    if (tells(middle)) high = middle;
    else low = middle;
  }
  return high;
}

const MOST_GROWTH = 1024;

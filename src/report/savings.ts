import { difference, growthToTell, type Interval, intervalOf, type Sampled } from './interval.ts';
import { logRatio, type Part } from './ratio.ts';
import type { EstimateError, Level, Saving, Savings } from './report.ts';
import type { Drawn, SessionFigures } from './sessions.ts';

/** Sessions that each arm needs before an interval is shown. `npm run report-coverage` shows why: with fewer they miss too often. */
export const LEAST_SESSIONS = {
  /** Most of the spread between sessions cancels out against the estimate. */
  sameWork: 20,
  /** Signs of harm: shares and typical sessions, which no single session can move far. */
  harm: 30,
  /** Cost per session, where one large session counts as much as a hundred small ones. */
  perSession: 50,
} as const;

type Sessions = readonly SessionFigures[];
type ToPart = (session: SessionFigures) => Part;

/** Billed cost for one unit of cost that the gateway expected without masks. Without a price, both are in tokens. */
const perExpected: ToPart = ({ costs }) => ({ part: costs.billed, whole: costs.expectedWithout });
const perSession: ToPart = ({ costs }) => ({ part: costs.billed, whole: 1 });
const perRequest: ToPart = ({ costs, billedRequests }) => ({ part: costs.billed, whole: billedRequests });

export function savingsOf(treated: Sessions, heldOut: Sessions, alpha: number): Savings {
  const saving = (toPart: ToPart, leastSessions: number): Saving => {
    const change = changeOf(treated.map(toPart), heldOut.map(toPart));
    if (!change) return { leastSessions };
    const { value, low, high } = toChange(intervalOf(change, alpha));
    if (Math.min(treated.length, heldOut.length) < leastSessions) return { value: -value, leastSessions };
    const interval = { value: -value, low: -high, high: -low };
    const growth = growthToTell(change, alpha, LEAST_SAVING);
    if (growth === 1) return { value: -value, interval, leastSessions };
    const moreSessions = roundUp((growth - 1) * (treated.length + heldOut.length));
    return { value: -value, interval, leastSessions, moreSessions };
  };
  return {
    sameWork: saving(perExpected, LEAST_SESSIONS.sameWork),
    perSession: saving(perSession, LEAST_SESSIONS.perSession),
    perRequest: saving(perRequest, LEAST_SESSIONS.perSession),
  };
}

/** The report does not ask for more sessions to see a smaller saving. */
const LEAST_SAVING = 0.1;

/** Sessions until both arms have enough, if sessions keep arriving and the same share is held out. */
export function sessionsUntil(least: number, { share, treated, heldOut }: Drawn): number {
  const until = (sessions: number, part: number): number => Math.max(0, least - sessions) / Math.max(part, LEAST_PART);
  return roundUp(Math.max(until(treated, 1 - share), until(heldOut, share)));
}

/** Below this share, the number of sessions to wait for is meaningless. */
const LEAST_PART = 0.001;

/** Rounds up to two digits, because the number is a guess. */
function roundUp(n: number): number {
  const step = 10 ** Math.max(0, Math.floor(Math.log10(n)) - 1);
  return Math.ceil(n / step) * step;
}

/** The logarithm of the ratio of two ratios. */
export function changeOf(treated: readonly Part[], heldOut: readonly Part[]): Sampled | undefined {
  const [a, b] = [logRatio(treated), logRatio(heldOut)];
  return a && b && difference(a, b);
}

/** From logarithms of ratios to relative changes. */
export const toChange = ({ value, low, high }: Interval): Interval => ({
  value: Math.expm1(value),
  low: Math.expm1(low),
  high: Math.expm1(high),
});

/** Costs per session and per request of one arm. */
export function levelsOf(sessions: Sessions, alpha: number): { costPerSession: Level; costPerRequest: Level } {
  const level = (toPart: ToPart): Level => {
    const parts = sessions.map(toPart);
    const whole = parts.reduce((sum, one) => sum + one.whole, 0);
    const value = whole > 0 ? parts.reduce((sum, one) => sum + one.part, 0) / whole : 0;
    const sampled = sessions.length < LEAST_SESSIONS.perSession ? undefined : logRatio(parts);
    if (!sampled) return { value };
    const { low, high } = intervalOf(sampled, alpha);
    return { value, interval: { value, low: Math.exp(low), high: Math.exp(high) } };
  };
  return { costPerSession: level(perSession), costPerRequest: level(perRequest) };
}

/** How far the estimate of the cost without masks is off, measured on sessions that were not masked. */
export function estimateErrorOf(heldOut: Sessions, alpha: number): EstimateError | undefined {
  const sampled = logRatio(heldOut.map(perExpected));
  if (!sampled) return undefined;
  const { value, low, high } = intervalOf(sampled, alpha);
  const off = toChange({ value: -value, low: -high, high: -low });
  const errors = heldOut
    .filter(({ costs }) => costs.billed > 0 && costs.expectedWithout > 0)
    .map(({ costs }) => Math.expm1(Math.abs(Math.log(costs.billed / costs.expectedWithout) - value)))
    .sort((a, b) => a - b);
  return {
    offBy: off.value,
    ...(heldOut.length < LEAST_SESSIONS.sameWork ? {} : { interval: off }),
    typicalError: errors[Math.floor(errors.length / 2)] ?? 0,
    sessions: heldOut.length,
  };
}

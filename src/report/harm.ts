import { difference, halfWidth, intervalOf, type Sampled } from './interval.ts';
import { FREEDOM, logTypical, type Part, sharesOf } from './ratio.ts';
import type { Harm, HarmMeasure, HarmName } from './report.ts';
import { changeOf, LEAST_SESSIONS, toChange } from './savings.ts';
import type { SessionFigures } from './sessions.ts';

interface Measure {
  readonly name: HarmName;
  readonly title: string;
  readonly kind: HarmMeasure['kind'];
  readonly toPart: (session: SessionFigures) => Part;
  readonly leastSessions?: number;
  /** Why the arms cannot be compared. */
  readonly note?: string;
}

const each = (part: number): Part => ({ part, whole: 1 });

const MEASURES: readonly Measure[] = [
  { name: 'requests', title: 'requests in a typical session', kind: 'typical', toPart: (s) => each(s.requests) },
  {
    name: 'size',
    title: 'cost of a session without masks',
    kind: 'mean',
    toPart: (s) => each(s.costs.expectedWithout),
    leastSessions: LEAST_SESSIONS.perSession,
  },
  { name: 'output', title: 'output tokens in a typical session', kind: 'typical', toPart: (s) => each(s.output) },
  {
    name: 'failed',
    title: 'failed tool results',
    kind: 'share',
    toPart: (s) => ({ part: s.failed, whole: s.results }),
  },
  {
    name: 'repeated',
    title: 'repeated tool calls',
    kind: 'share',
    toPart: (s) => ({ part: s.repeated, whole: s.results }),
  },
  {
    name: 'refused',
    title: 'requests that the provider refused',
    kind: 'share',
    toPart: (s) => ({ part: s.refused, whole: s.attempts }),
  },
  {
    name: 'unfinished',
    title: 'sessions without a final answer',
    kind: 'share',
    toPart: (s) => ({ part: s.isFinished === false ? 1 : 0, whole: s.isFinished === undefined ? 0 : 1 }),
  },
  {
    name: 'recalls',
    title: 'recalls of masked results',
    kind: 'share',
    toPart: (s) => ({ part: s.recalls, whole: s.results }),
    note: 'held-out sessions have nothing to recall',
  },
];

/** Measures that are compared. The number is fixed, so that nothing in the data can change it. */
const COMPARED = MEASURES.filter(({ note }) => note === undefined).length;

/** Looks for increases. Each measure gets an equal part of `alpha` (Bonferroni), so that all intervals hold together. */
export function harmOf(treated: readonly SessionFigures[], heldOut: readonly SessionFigures[], alpha: number): Harm {
  const measures = MEASURES.map((measure) => compare(measure, treated, heldOut, alpha / COMPARED));
  const isJudged = Math.min(treated.length, heldOut.length) >= LEAST_SESSIONS.harm;
  const verdict = !isJudged ? 'not-judged' : measures.some(({ isHarm }) => isHarm) ? 'seen' : 'none-seen';
  return { verdict, compared: COMPARED, measures };
}

function compare(
  { name, title, kind, toPart, note, leastSessions = LEAST_SESSIONS.harm }: Measure,
  treated: readonly SessionFigures[],
  heldOut: readonly SessionFigures[],
  alpha: number,
): HarmMeasure {
  const [a, b] = [treated.map(toPart), heldOut.map(toPart)];
  const [ofTreated, ofHeldOut] = [levelOf(a, kind), levelOf(b, kind)];
  const shown = {
    ...{ name, title, kind, isHarm: false },
    ...(ofTreated === undefined ? {} : { treated: ofTreated }),
    ...(ofHeldOut === undefined ? {} : { heldOut: ofHeldOut }),
  };
  if (note !== undefined) return { ...shown, note };
  if (Math.min(a.length, b.length) < leastSessions)
    return { ...shown, note: `needs ${leastSessions} sessions in each arm` };
  const change = CHANGES[kind](a, b);
  if (!change) return { ...shown, note: 'none so far' };
  const interval = intervalOf(change, alpha);
  const reach = halfWidth(change, alpha) + POWER * Math.sqrt(change.variance);
  return {
    ...shown,
    change: kind === 'share' ? interval : toChange(interval),
    wouldShow: kind === 'share' ? reach : Math.expm1(reach),
    isHarm: interval.low > 0,
  };
}

/** Standard errors above the half width at which an increase is seen four times out of five. */
const POWER = 0.8416;

type Parts = readonly Part[];

const CHANGES: Readonly<Record<HarmMeasure['kind'], (a: Parts, b: Parts) => Sampled | undefined>> = {
  typical: (a, b) => minus(logTypical(a.map(({ part }) => part)), logTypical(b.map(({ part }) => part))),
  mean: (a, b) => changeOf(a, b, FREEDOM.skewed),
  share: (a, b) => minus(...(sharesOf(a, b) ?? [])),
};

const minus = (a?: Sampled, b?: Sampled): Sampled | undefined => a && b && difference(a, b);

function levelOf(parts: Parts, kind: HarmMeasure['kind']): number | undefined {
  const whole = parts.reduce((sum, one) => sum + one.whole, 0);
  if (whole === 0) return undefined;
  if (kind === 'typical') return Math.exp(logTypical(parts.map(({ part }) => part))?.value ?? Number.NaN);
  return parts.reduce((sum, one) => sum + one.part, 0) / whole;
}

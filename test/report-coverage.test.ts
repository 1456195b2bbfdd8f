import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { harmOf } from '../src/report/harm.ts';
import type { Interval } from '../src/report/interval.ts';
import { LEAST_SESSIONS, savingsOf } from '../src/report/savings.ts';
import { createSessionReader, type SessionFigures } from '../src/report/sessions.ts';
import {
  createRandom,
  dollarsOf,
  type Effect,
  type Lengths,
  lengths,
  NO_EFFECT,
  simulateSession,
} from './support/simulated-traffic.ts';

/**
 * How often the intervals of the report hold, on simulated traffic whose truth is known. `npm run report-coverage` runs all of it
 * and writes the tables of docs/report.md.
 */
const isFull = process.env.PALIMPSEST_REPORT_COVERAGE === 'write';
const DOC = new URL('../docs/report.md', import.meta.url);

const ALPHA = 0.05;
const HOLDOUT = 0.1;
/** Days with a look at the end. Sessions go on after them, up to the last single look. */
const LOOK_DAYS = 30;
const DAYS = isFull ? 75 : LOOK_DAYS;
const SESSIONS_A_DAY = 50;
/** Signs of harm take most of the time: they are looked at every fifth day. */
const HARM_DAYS = 5;
const NO_HARM = { measures: [], verdict: 'not-judged' } as const;
/** Held-out sessions at which single looks are counted. */
const LOOKS = [20, 30, 100, 300];
const POOL = isFull ? 6000 : 3000;
const REPEATS = isFull ? 100 : 20;

const effects: Readonly<Record<string, Effect>> = {
  'A/A': NO_EFFECT,
  // Saves, makes sessions longer, and does harm: every measure has a difference to find.
  'A/B': { hides: 0.5, lengthens: 1.3, harms: 0.05 },
};

/** A kind of traffic. */
interface World {
  readonly name: string;
  readonly effect: string;
  readonly of: Lengths;
  readonly what: Effect;
  /** How much more a session costs after `LOOK_DAYS`, in both arms: prices, models and tasks change. */
  readonly growth: number;
}

const { 'rare giants': giant, ...ordinary } = lengths;
const worldsOf = ([name, of]: readonly [string, Lengths]): World[] =>
  Object.entries(effects).map(([effect, what]) => ({ name, effect, of, what, growth: 0 }));
const steady = Object.entries(ordinary).flatMap(worldsOf);
const common = steady.filter(({ name }) => name === 'lognormal');
const growing = common.map((world) => ({ ...world, name: 'lognormal, costs grow by 50 %', growth: 0.5 }));
const chosen = isFull ? [...steady, ...growing] : [...common, ...growing];

const MEASURES = ['sameWork', 'perSession', 'perRequest', 'harm'] as const;
type Name = (typeof MEASURES)[number];

interface Counted {
  readonly name: string;
  readonly effect: string;
  /** Repeats in which a single look at this many held-out sessions held, and of how many. */
  readonly single: Record<Name, { held: number; of: number }[]>;
  /** Repeats in which every daily look held. */
  readonly daily: Record<Name, number>;
  /** Repeats in which every daily look at the last seven days held. */
  readonly moving: Record<Name, number>;
  /** Repeats in which harm was ever reported. */
  alarms: number;
}

const counted: Counted[] = [];
/** The intervals do not cover this traffic: it is counted apart. */
const countedGiants: Counted[] = [];

describe('the intervals of the report', () => {
  it.each(chosen)('hold as often as stated: $name, $effect', { timeout: 3_600_000 }, (world) => {
    const { what } = world;
    const result = runWorld(world);
    counted.push(result);
    // By chance a share is lower in a few repeats; the seeds make it the same at every run.
    const least = 0.9 * REPEATS;
    for (const measure of MEASURES) expect({ measure, held: result.daily[measure] }).toSatisfy(heldIn(least));
    if (what === NO_EFFECT) expect(result.alarms).toBeLessThanOrEqual(REPEATS - least);
  });

  it.runIf(isFull).each(worldsOf(['rare giants', giant]))(
    'are counted where a few sessions cost nearly all: $name, $effect',
    { timeout: 3_600_000 },
    (world) => void countedGiants.push(runWorld(world)),
  );

  it.runIf(isFull)('are written down', () => {
    const text = readFileSync(DOC, 'utf8');
    const tables = { single: singleTable(counted), daily: dailyTable(), giants: singleTable(countedGiants) };
    const written = Object.entries(tables).reduce(
      (all, [table, rows]) =>
        all.replace(new RegExp(`(<!-- ${table} -->\n)[\\s\\S]*?(<!-- /${table} -->)`), `$1\n${rows}\n\n$2`),
      text,
    );
    writeFileSync(DOC, written);
  });
});

const heldIn = (least: number) => (found: { held: number }) => found.held >= least;

function runWorld({ name, effect, of, what, growth }: World): Counted {
  const pools = { treated: poolOf('treated', of, what), heldOut: poolOf('held-out', of, what) };
  const truth = intervalsOf(pools.treated, pools.heldOut);
  const none = () => Object.fromEntries(MEASURES.map((measure) => [measure, 0])) as Record<Name, number>;
  const looks = () => LOOKS.map(() => ({ held: 0, of: 0 }));
  const single = Object.fromEntries(MEASURES.map((measure) => [measure, looks()])) as Counted['single'];
  const result: Counted = { name, effect, single, daily: none(), moving: none(), alarms: 0 };
  for (let repeat = 0; repeat < REPEATS; repeat++)
    runRepeat({ random: createRandom(repeat + 1), growth }, pools, truth, result);
  return result;
}

/** Sessions to draw from: what is true of them all is the truth. */
function poolOf(arm: 'treated' | 'held-out', of: Lengths, effect: Effect): readonly SessionFigures[] {
  const reader = createSessionReader({ since: 0, until: Number.POSITIVE_INFINITY }, { dollarsOf });
  for (let seed = 0; seed < POOL; seed++)
    for (const record of simulateSession({ seed, arm, effect, lengths: of, at: 0 })) reader.add(record);
  return reader.read().sessions;
}

type Intervals = Record<Name, readonly (Interval | undefined)[]> & { readonly isHarm: boolean };

function intervalsOf(
  treated: readonly SessionFigures[],
  heldOut: readonly SessionFigures[],
  { withHarm = true } = {},
): Intervals {
  const { sameWork, perSession, perRequest } = savingsOf(treated, heldOut, ALPHA);
  const { measures, verdict } = withHarm ? harmOf(treated, heldOut, ALPHA) : NO_HARM;
  return {
    sameWork: [sameWork.interval],
    perSession: [perSession.interval],
    perRequest: [perRequest.interval],
    harm: measures.map(({ change }) => change),
    isHarm: verdict === 'seen',
  };
}

interface Repeat {
  random(): number;
  readonly growth: number;
}

function runRepeat(
  { random, growth }: Repeat,
  pools: { readonly treated: readonly SessionFigures[]; readonly heldOut: readonly SessionFigures[] },
  truth: Intervals,
  result: Counted,
): void {
  // The same for all sessions of a day, whatever their arm: so the truth about the change stays what it is in the pools.
  const draw = (pool: readonly SessionFigures[], day: number): SessionFigures =>
    dearer(pool[Math.floor(random() * pool.length)] as SessionFigures, 1 + (growth * day) / LOOK_DAYS);
  const days: { treated: SessionFigures[]; heldOut: SessionFigures[] }[] = [];
  const [treated, heldOut]: [SessionFigures[], SessionFigures[]] = [[], []];
  const missed = { daily: new Set<Name>(), moving: new Set<Name>() };
  let isAlarmed = false;
  for (let day = 0; day < DAYS; day++) {
    const today = { treated: [] as SessionFigures[], heldOut: [] as SessionFigures[] };
    for (let i = 0; i < SESSIONS_A_DAY; i++) {
      if (random() < HOLDOUT) {
        today.heldOut.push(draw(pools.heldOut, day));
        heldOut.push(today.heldOut.at(-1) as SessionFigures);
        const look = LOOKS.indexOf(heldOut.length);
        if (look >= 0) countSingle(intervalsOf(treated, heldOut), truth, result, look);
      } else {
        today.treated.push(draw(pools.treated, day));
        treated.push(today.treated.at(-1) as SessionFigures);
      }
    }
    if (day >= LOOK_DAYS) continue;
    days.push(today);
    const found = intervalsOf(treated, heldOut, { withHarm: day % HARM_DAYS === HARM_DAYS - 1 });
    isAlarmed ||= found.isHarm;
    for (const measure of MEASURES) if (!holds(found, truth, measure)) missed.daily.add(measure);
    if (!isFull) continue;
    const week = days.slice(-7);
    const moving = intervalsOf(
      week.flatMap((one) => one.treated),
      week.flatMap((one) => one.heldOut),
      { withHarm: day % HARM_DAYS === HARM_DAYS - 1 },
    );
    for (const measure of MEASURES) if (!holds(moving, truth, measure)) missed.moving.add(measure);
  }
  for (const measure of MEASURES) {
    if (!missed.daily.has(measure)) result.daily[measure]++;
    if (!missed.moving.has(measure)) result.moving[measure]++;
  }
  if (isAlarmed) result.alarms++;
}

function dearer(session: SessionFigures, times: number): SessionFigures {
  if (times === 1) return session;
  const { billed, expectedWithout, expectedSent, receiptWithout } = session.costs;
  const costs = {
    billed: billed * times,
    expectedWithout: expectedWithout * times,
    expectedSent: expectedSent * times,
    receiptWithout: receiptWithout * times,
  };
  return { ...session, costs };
}

function countSingle(found: Intervals, truth: Intervals, { single }: Counted, look: number): void {
  for (const measure of MEASURES) {
    const count = single[measure][look];
    if (!count || found[measure].every((interval) => interval === undefined)) continue;
    count.of++;
    if (holds(found, truth, measure)) count.held++;
  }
}

/** No interval says nothing, so it cannot be wrong. */
const holds = (found: Intervals, truth: Intervals, measure: Name): boolean =>
  found[measure].every((interval, i) => {
    const value = truth[measure][i]?.value;
    return !interval || value === undefined || (interval.low <= value && value <= interval.high);
  });

const TITLES: Readonly<Record<Name, string>> = {
  sameWork: 'same work',
  perSession: 'per session',
  perRequest: 'per request',
  harm: 'all signs of harm',
};

const percent = (held: number, of: number): string => (of === 0 ? 'too few' : `${((100 * held) / of).toFixed(1)} %`);

/** The worst and the mean over the kinds of traffic. */
function singleTable(worlds: readonly Counted[]): string {
  const rows = MEASURES.map((measure) =>
    LOOKS.map((_, look) => {
      const shares = worlds.flatMap(({ single }) => {
        const { held = 0, of = 0 } = single[measure][look] ?? {};
        return of === 0 ? [] : [held / of];
      });
      return shares.length === 0 ? 'too few' : `${percent(Math.min(...shares), 1)}`;
    }),
  );
  return [
    `| held-out sessions | ${LOOKS.join(' | ')} |`,
    `| --- | ${LOOKS.map(() => '---').join(' | ')} |`,
    ...rows.map((row, i) => `| ${TITLES[MEASURES[i] as Name]} | ${row.join(' | ')} |`),
  ].join('\n');
}

function dailyTable(): string {
  const head = ['traffic', ...MEASURES.map((measure) => TITLES[measure]), 'harm reported'];
  const rows = [...counted, ...countedGiants].map(({ name, effect, daily, alarms }) => [
    `${name}, ${effect}`,
    ...MEASURES.map((measure) => percent(daily[measure], REPEATS)),
    percent(alarms, REPEATS),
  ]);
  const moving = MEASURES.map((measure) => percent(Math.min(...counted.map((one) => one.moving[measure])), REPEATS));
  return [head, head.map(() => '---'), ...rows, ['the last 7 days only, worst without giants', ...moving, '']]
    .map((row) => `| ${row.join(' | ')} |`)
    .join('\n');
}

it('counts as stated in the docs', () => {
  expect(LEAST_SESSIONS).toEqual({ sameWork: 20, harm: 30, perSession: 50 });
});

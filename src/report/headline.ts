import { counted, grouped } from '../text.ts';
import type { Interval } from './interval.ts';
import type { ArmFigures, Headline, Report, Saving, Savings } from './report.ts';
import { LEAST_SESSIONS, sessionsUntil } from './savings.ts';
import type { Drawn } from './sessions.ts';
import { cost, costRange, measureChangeWords, percent, percentRange } from './words.ts';

type Figures = Omit<Report, 'headline'>;

/** The report in one sentence, and details that a reader needs to judge it. */
export function headlineOf(figures: Figures): Headline {
  if (figures.arms.length === 0) return nothing(figures);
  const { savings, drawn } = figures;
  return savings && drawn ? measured(figures, savings, drawn) : notMeasured(figures);
}

function nothing({ leftOut: { justBegan, neverBilled, beganBefore, severalArms } }: Figures): Headline {
  const others = beganBefore + severalArms;
  const details = [
    ...(justBegan > 0 ? [`${counted(justBegan, 'session')} began in the last hour and may still run.`] : []),
    ...(neverBilled > 0 ? [`For ${counted(neverBilled, 'session')} the provider told no usage.`] : []),
    ...(others > 0 ? [`${counted(others, 'session')} cannot be compared.`] : []),
  ];
  return { verdict: 'nothing', sentence: 'No sessions to report on.', details };
}

function notMeasured({ arms, unit, drawn }: Figures): Headline {
  const sum = (pick: (arm: ArmFigures) => number): number => arms.reduce((total, arm) => total + pick(arm), 0);
  const total = sum(({ sessions }) => sessions);
  const [spent, sessions] = [
    cost(
      sum((arm) => arm.cost),
      unit,
    ),
    counted(total, 'session'),
  ];
  const estimated = arms.find(({ arm }) => arm !== 'held-out');
  const estimate = estimated ? estimateWords(estimated, total) : undefined;
  // Waiting does not help if all sessions are held out, or in shadow mode, where none is drawn.
  if (drawn && drawn.share < 1 && estimated?.arm !== 'shadow') {
    const moreSessions = sessionsUntil(LEAST_SESSIONS.sameWork, drawn);
    const soFar = `${drawnWords(drawn)} were drawn with ${percent(drawn.share)} held out`;
    return {
      verdict: 'too-few',
      sentence: `Too few sessions to tell: about ${grouped(moreSessions)} more; so far, ${spent} of input was spent in ${sessions}.`,
      details: [
        ...(estimate ? [`By estimate, ${estimate}`] : []),
        `${soFar}; a comparison needs ${LEAST_SESSIONS.sameWork} of each.`,
      ],
      moreSessions,
    };
  }
  const start = `Spent ${spent} of input in ${sessions}`;
  return {
    verdict: 'not-measured',
    sentence: estimate
      ? `${start}; by estimate, ${estimate}`
      : `${start}, all of them held out, so there is nothing to compare.`,
    details: estimate ? [REMEDY] : [],
  };
}

const REMEDY = 'For a measured figure, start the gateway with --holdout 10%: one session in ten then passes untouched.';

function estimateWords({ arm, sessions, estimatedSaving = 0 }: ArmFigures, total: number): string {
  const saving = `${percent(estimatedSaving)}${sessions < total ? ` in ${grouped(sessions)} of them` : ''}`;
  return arm === 'shadow'
    ? `masking would save ${saving}. Nothing was masked (shadow).`
    : `masking saved ${saving}. This is not measured.`;
}

const drawnWords = ({ treated, heldOut }: Drawn): string =>
  `${counted(treated, 'masked session')} and ${counted(heldOut, 'held-out session')}`;

function measured(figures: Figures, { sameWork, perSession }: Savings, drawn: Drawn): Headline {
  const harm = harmWords(figures, drawn);
  if (!sameWork.interval) return tooFew(sameWork, drawn, harm);
  const isLarger = figures.harm.measures.some(({ name, isHarm }) => isHarm && (name === 'requests' || name === 'size'));
  // Larger sessions have more to save on. Then only the whole cost shows whether anything was saved.
  const isPerSession = isLarger || (perSession.interval !== undefined && perSession.interval.high < 0);
  const told = isPerSession ? perSessionTold(perSession, drawn) : savingTold(sameWork, 'for the same work');
  const saving = `${told.words}${isPerSession ? '' : doubtWords(sameWork, perSession)}`;
  const other = isPerSession ? sameWorkWords(sameWork, isLarger) : perSessionWords(perSession);
  return {
    verdict: told.verdict,
    sentence: toSentence(figures.harm.verdict === 'seen' ? `${harm}; ${saving}` : `${saving}; ${harm}`),
    details: detailsOf(figures, other, isPerSession ? perSession : sameWork),
    ...(told.moreSessions === undefined ? {} : { moreSessions: told.moreSessions }),
  };
}

type Told = Pick<Headline, 'verdict' | 'moreSessions'> & { readonly words: string };

function perSessionTold(saving: Saving, drawn: Drawn): Told {
  if (saving.interval) return savingTold(saving, 'per session');
  const moreSessions = sessionsUntil(saving.leastSessions, drawn);
  const words = `too few sessions to tell what a session costs: about ${grouped(moreSessions)} more`;
  return { verdict: 'too-few', words, moreSessions };
}

function savingTold({ interval, moreSessions }: Saving, of: string): Told {
  const saving = interval ?? NO_INTERVAL;
  const { value, low, high } = saving;
  const range = percentRange(saving);
  if (low > 0) return { verdict: 'saves', words: `saves ${percent(value)} of input cost ${of} (${range})` };
  if (high < 0) {
    const words = `costs ${percent(-value)} more input ${of} (${percentRange(turned(saving))})`;
    return { verdict: 'costs-more', words };
  }
  if (moreSessions === undefined)
    return { verdict: 'no-difference', words: `no difference in input cost seen ${of} (${range})` };
  const soFar =
    value >= 0
      ? `saves ${percent(value)} ${of} (${range})`
      : `costs ${percent(-value)} more ${of} (${percentRange(turned(saving))})`;
  const words = `too few sessions to tell: about ${grouped(moreSessions)} more; so far it ${soFar}`;
  return { verdict: 'too-few', words, moreSessions };
}

/** A saving as a cost. */
const turned = ({ value, low, high }: Interval): Interval => ({ value: -value, low: -high, high: -low });

const NO_INTERVAL: Interval = { value: 0, low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY };

/** Adds a doubt to a saving for the same work if sessions seem to have cost more. */
function doubtWords({ interval: same }: Saving, { interval }: Saving): string {
  if (!same || !interval || interval.value >= same.low) return '';
  const { value } = interval;
  return `, but per session ${value >= 0 ? `only ${percent(value)}` : `it costs ${percent(-value)} more`} so far`;
}

function tooFew({ leastSessions }: Saving, drawn: Drawn, harm: string): Headline {
  const moreSessions = sessionsUntil(leastSessions, drawn);
  if (moreSessions === 0) {
    const sentence = 'Nothing was billed in one of the arms, so there is nothing to compare.';
    return { verdict: 'not-measured', sentence, details: [] };
  }
  return {
    verdict: 'too-few',
    sentence: `Too few sessions to tell: about ${grouped(moreSessions)} more.`,
    details: [`There are ${drawnWords(drawn)}; a comparison needs ${leastSessions} of each.`, toSentence(harm)],
    moreSessions,
  };
}

function harmWords({ harm }: Figures, drawn: Drawn): string {
  const sessions = counted(drawn.treated + drawn.heldOut, 'session');
  if (harm.verdict === 'none-seen') return `no sign of harm in ${sessions}${wouldShowWords(harm)}`;
  if (harm.verdict === 'not-judged')
    return `too early to judge harm: about ${counted(sessionsUntil(LEAST_SESSIONS.harm, drawn), 'more session')}`;
  const signs = harm.measures
    .filter(({ isHarm }) => isHarm)
    .map((measure) => `${measure.title} ${measureChangeWords(measure)}`);
  const others = signs.length > 1 ? ` and ${counted(signs.length - 1, 'other sign')}` : '';
  return `harm seen in ${sessions}: ${signs[0]}${others}`;
}

/** "No sign of harm" says little if only a large increase would be seen. */
function wouldShowWords({ measures }: Report['harm']): string {
  const wouldShow = measures.find(({ name }) => name === 'requests')?.wouldShow;
  if (wouldShow === undefined) return '';
  const size = percent(wouldShow);
  const missed = size.startsWith('above')
    ? `even an increase in requests ${size}`
    : `an increase in requests below ${size}`;
  return ` (${missed} could still be missed)`;
}

function detailsOf({ arms, unit }: Figures, other: string, { interval }: Saving): string[] {
  const treated = arms.find(({ arm }) => arm === 'treated');
  return [
    ...(treated && interval && interval.low > 0 ? [moneyWords(treated.cost, interval, unit)] : []),
    other,
    ...(treated?.estimatedSaving === undefined
      ? []
      : [`The receipts, which only estimate, claim ${percent(treated.estimatedSaving)}.`]),
  ];
}

/** The saving as an amount, from the cost that was billed with masks. */
function moneyWords(billed: number, { value, low, high }: Interval, unit: Report['unit']): string {
  const saved = (share: number): number => (billed * share) / (1 - share);
  const range = { value: saved(value), low: saved(low), high: saved(high) };
  return `That is about ${cost(range.value, unit)} in this time (${costRange(range, unit)}).`;
}

function perSessionWords({ interval, leastSessions }: Saving): string {
  if (!interval) return `Cost per session varies more and needs ${leastSessions} sessions in each arm.`;
  return `Cost per session, whatever its length: ${changeWords(interval)}.`;
}

function sameWorkWords({ interval }: Saving, isLarger: boolean): string {
  const why = isLarger ? 'Sessions became larger, so their whole cost counts. ' : '';
  return interval ? `${why}Cost for the same work: ${changeWords(interval)}.` : why;
}

/** `24 % less (−4 to 40 %)` */
function changeWords(saving: Interval): string {
  const { value } = saving;
  if (value >= 0) return `${percent(value)} less (${percentRange(saving)})`;
  return `${percent(-value)} more (${percentRange(turned(saving))})`;
}

const toSentence = (words: string): string => `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;

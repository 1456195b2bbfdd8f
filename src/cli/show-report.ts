import type { EstimateError, Report } from '../report/report.ts';
import {
  ARM_TITLES,
  cost,
  damagedWords,
  leftOutWords,
  levelWords,
  lookWords,
  measureChangeWords,
  measureWords,
  offWords,
  percent,
  SAVING_TITLES,
  savingWords,
  unpricedWords,
  windowWords,
  wouldShow,
} from '../report/words.ts';
import { counted, grouped } from '../text.ts';

/** The report for a terminal. */
export function showReport(report: Report): string {
  const { headline } = report;
  const parts = [
    [headline.sentence, ...headline.details],
    armLines(report),
    savingLines(report),
    harmLines(report),
    noteLines(report),
  ];
  return `${parts
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

function armLines(report: Report): string[] {
  const { arms, unit, covers } = report;
  if (arms.length === 0) return [];
  const rows = arms.map(({ arm, sessions, requests, cost: spent, costPerSession, costPerRequest }) => [
    ARM_TITLES[arm],
    grouped(sessions),
    grouped(requests),
    cost(spent, unit),
    levelWords(costPerSession, unit),
    levelWords(costPerRequest, unit),
  ]);
  const dates = covers ? ` of sessions from ${dayOf(covers.from)} to ${dayOf(covers.to)} (UTC)` : '';
  return [
    `Input cost as billed${dates}:`,
    ...table([['', 'sessions', 'requests', 'cost', 'per session', 'per request'], ...rows]),
    ...[unpricedWords(report), windowWords(report)].filter((words) => words !== ''),
  ];
}

const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

function savingLines({ savings, arms }: Report): string[] {
  const shadow = arms.find(({ arm }) => arm === 'shadow')?.estimatedSaving;
  const estimated = shadow === undefined ? [] : [`Estimated for the shadow sessions, not measured: ${percent(shadow)}`];
  if (!savings) return estimated;
  const rows = (['sameWork', 'perSession', 'perRequest'] as const).map((name) => [
    SAVING_TITLES[name],
    savingWords(savings[name]),
  ]);
  return ['Saved input cost:', ...table(rows, { isText: true }), ...estimated];
}

function harmLines({ harm, savings, unit, alpha }: Report): string[] {
  if (!savings) return [];
  const rows = harm.measures.map((measure) => [
    measure.title,
    measureWords(measure, measure.treated, unit),
    measureWords(measure, measure.heldOut, unit),
    measureChangeWords(measure),
    wouldShow(measure),
  ]);
  return [
    `Signs of harm. More is worse; all ${harm.compared} intervals hold together at ${percent(1 - alpha)}.`,
    'Would show: the smallest increase that would be seen four times out of five.',
    ...table([['', 'masked', 'held out', 'change', 'would show'], ...rows]),
  ];
}

function noteLines(report: Report): string[] {
  const { estimate, leftOut, savings, alpha, range, headline, damagedRecords = 0 } = report;
  // Where nothing is left to report on, the headline says why, except for the kinds of sessions that cannot be compared.
  const isTold = headline.verdict === 'nothing' && leftOut.beganBefore + leftOut.severalArms === 0;
  const left = isTold ? [] : leftOutWords(leftOut);
  return [
    ...(estimate && savings ? [estimateWords(estimate)] : []),
    ...(left.length > 0 ? [`Left out: ${left.join('; ')}.`] : []),
    ...(damagedRecords > 0 ? [damagedWords(damagedRecords)] : []),
    ...(savings ? [`Intervals hold at ${percent(1 - alpha)}, ${lookWords(range)}.`] : []),
  ];
}

function estimateWords(estimate: EstimateError): string {
  const { typicalError, sessions } = estimate;
  return (
    `The estimate of the cost without masks is ${offWords(estimate)} in ${counted(sessions, 'held-out session')}, where the true ` +
    `cost is known. The saving for the same work corrects that. A typical session is off by another ${percent(typicalError)}.`
  );
}

/** Columns as wide as their widest cell; the first is text, the others are numbers. */
function table(rows: readonly (readonly string[])[], { isText = false } = {}): string[] {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  const pad = (cell: string, i: number): string =>
    i === 0 || isText ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0);
  return rows.map((row) => `  ${row.map(pad).join('  ')}`.trimEnd());
}

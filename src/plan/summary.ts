import { SHOWN_HANDLE, summaryHeader } from '../laws/idempotent.ts';
import { clipText, quote } from '../text.ts';

/** What a summary is made of. It can be read back from its own text, so that one may continue another. */
export interface Summary extends Omit<Told, 'outcomes'> {
  readonly outcomes: readonly string[];
  readonly failures: readonly Failure[];
}

interface Failure {
  readonly last: string;
  readonly count: number;
}

/** One tool result, told in a line. */
export interface Outcome {
  readonly line: string;
  readonly failed: boolean;
}

/** What is to be told of some messages. */
export interface Told {
  readonly objective: string;
  readonly messages: number;
  readonly unresolved: readonly string[];
  readonly outcomes: readonly Outcome[];
  readonly constraints: readonly string[];
}

/** Continues an earlier summary with what is left out now. Deterministic: no model, no clock. */
export function continueSummary(earlier: Summary | undefined, told: Told): Summary {
  return {
    objective: earlier?.objective ?? line(told.objective, 220),
    messages: (earlier?.messages ?? 0) + told.messages,
    unresolved: latest([...(earlier?.unresolved ?? []), ...told.unresolved.map((text) => line(text, 120))], 6),
    outcomes: latest(
      [...(earlier?.outcomes ?? []), ...told.outcomes.filter((o) => !o.failed).map((o) => line(o.line, 120))],
      6,
    ),
    failures: countFailures(earlier?.failures ?? [], told.outcomes).slice(-6),
    constraints: latest([...(earlier?.constraints ?? []), ...told.constraints.map((text) => line(text, 120))], 8),
  };
}

/** One line that can stand between semicolons. */
const line = (text: string, max: number): string => quote(text, max).replaceAll(';', ',').replaceAll('×', 'x');

const latest = (lines: readonly string[], max: number): string[] =>
  [...new Set(lines.filter((text) => text !== '').reverse())].slice(0, max).reverse();

/** Repeated failures are kept as such: a summary that smooths them over makes agents try again. */
function countFailures(earlier: readonly Failure[], outcomes: readonly Outcome[]): Failure[] {
  const byClass = new Map(earlier.map((failure) => [errorClass(failure.last), failure]));
  for (const outcome of outcomes) {
    if (!outcome.failed) continue;
    const last = line(outcome.line, 120);
    const key = errorClass(last);
    const count = (byClass.get(key)?.count ?? 0) + 1;
    byClass.delete(key);
    byClass.set(key, { last, count });
  }
  return [...byClass.values()];
}

function errorClass(text: string): string {
  return /[A-Za-z]+(?:Error|Exception)\b/.exec(text)?.[0] ?? text.replace(/\d+/g, '0').split(' ').slice(0, 4).join(' ');
}

interface WriteOptions {
  readonly maxChars: number;
  /** Of what it stands for: ` · recall p_…`, or nothing. */
  readonly handle?: string;
}

/** The summary in at most `maxChars`: the oldest lines go first, the objective last. */
export function writeSummary(summary: Summary, { maxChars, handle = '' }: WriteOptions): string {
  let current = summary;
  let text = render(current, handle);
  while (text.length > maxChars) {
    const shorter = shorten(current);
    if (!shorter) return clipText(text, maxChars);
    current = shorter;
    text = render(current, handle);
  }
  return text;
}

function render(summary: Summary, handle: string): string {
  const failures = summary.failures.map(({ last, count }) => `${last} × ${count}`);
  const outcomes = [...summary.outcomes, ...failures];
  return [
    `${summaryHeader}${handle}`,
    `- Covers: ${summary.messages} earlier messages`,
    `- Objective: ${summary.objective || 'Not specified.'}`,
    `- Unresolved tasks: ${summary.unresolved.join('; ') || 'None captured.'}`,
    `- Key tool outcomes: ${outcomes.join('; ') || 'No tool outcomes captured.'}`,
    `- Current constraints: ${summary.constraints.join('; ') || 'No constraints captured.'}`,
  ].join('\n');
}

function shorten(summary: Summary): Summary | undefined {
  if (summary.outcomes.length > 0) return { ...summary, outcomes: summary.outcomes.slice(1) };
  if (summary.failures.length > 0) return { ...summary, failures: summary.failures.slice(1) };
  if (summary.constraints.length > 0) return { ...summary, constraints: summary.constraints.slice(1) };
  if (summary.unresolved.length > 0) return { ...summary, unresolved: summary.unresolved.slice(1) };
  if (summary.objective.length > 0)
    return { ...summary, objective: clipText(summary.objective, summary.objective.length - 20) };
  return undefined;
}

const SHAPE = new RegExp(
  `^${summaryHeader.replace(/[()]/g, String.raw`\$&`)}${SHOWN_HANDLE}\n- Covers: (\\d+) earlier messages\n- Objective: (.*)\n- Unresolved tasks: (.*)` +
    '\n- Key tool outcomes: (.*)\n- Current constraints: (.*)$',
);

/** Reads a summary back from its text; undefined if it is not of our making. */
export function readSummary(text: string): Summary | undefined {
  const [, messages, objective, unresolved, outcomes, constraints] = SHAPE.exec(text) ?? [];
  if (messages === undefined) return undefined;
  const told = listOf(outcomes, 'No tool outcomes captured.');
  return {
    messages: Number(messages),
    objective: objective === 'Not specified.' ? '' : (objective ?? ''),
    unresolved: listOf(unresolved, 'None captured.'),
    outcomes: told.filter((item) => !FAILURE.test(item)),
    failures: told.flatMap((item) => {
      const [, last, count] = FAILURE.exec(item) ?? [];
      return last === undefined ? [] : [{ last, count: Number(count) }];
    }),
    constraints: listOf(constraints, 'No constraints captured.'),
  };
}

const FAILURE = /^(.*) × (\d+)$/;

const listOf = (text: string | undefined, none: string): string[] =>
  text === undefined || text === none ? [] : text.split('; ');

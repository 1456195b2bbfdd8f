import { SHOWN_HANDLE, summaryHeader } from '../laws/idempotent.ts';
import { badOption, kindOfValue } from '../options.ts';
import { clipText, quote } from '../text.ts';

/** The messages to summarise. */
export interface SummaryRequest {
  /** The handle of everything that the summary replaces, including the earlier summary. Empty if no handles are known. */
  readonly replaced: string;
  readonly messages: readonly unknown[];
  /** The summary so far, which the next one continues. */
  readonly earlier: string | undefined;
}

/** Writes a summary, or returns undefined: then the rules write it. */
export type Summarize = (request: SummaryRequest) => string | Failed | undefined;

/** Why there is no summary. */
export interface Failed {
  readonly failed: string;
}

/** The author of a summary: the caller's function, or the rules, and why. */
export interface SummaryAuthor {
  /** `model` for the caller's own function, `rules` for the built-in text. */
  readonly by: 'model' | 'rules';
  /** Why the caller's own function did not write it. */
  readonly because?: string;
}

/** A caller's own function that writes a summary. Only fitAndStore, sessions and runAgent await a promise. */
export type SummaryWriter<R = string> = (messages: readonly never[], earlier: string | undefined) => R;

/** Asks a caller's function now. A promise cannot be awaited here; any other answer that is not a text is a failure. */
export function summarizeNow(of: string, writer: SummaryWriter<unknown>): Summarize {
  return ({ messages, earlier }) => {
    let answer: unknown;
    try {
      answer = writer(messages as readonly never[], earlier);
    } catch (error) {
      return failedBy(error);
    }
    if (typeof (answer as PromiseLike<unknown> | null)?.then === 'function') {
      // An unhandled rejection must not end the process.
      Promise.resolve(answer).catch(() => {});
      throw badOption(
        `${of} option summarize`,
        'a function that answers a text at once; fitAndStore, openSession and runAgent can wait for one',
        'a promise',
      );
    }
    return checkSummary(answer);
  };
}

/** Longer answers are clipped before they are recorded; what is sent is clipped to `summaryMaxChars`. */
const MAX_ANSWER = 16_000;

/** The answer of a summariser, if it is one. */
export function checkSummary(answer: unknown): string | Failed {
  if (typeof answer === 'string' && answer.trim() !== '') return clipText(answer, MAX_ANSWER);
  return { failed: `summarize answered ${typeof answer === 'string' ? 'an empty text' : kindOfValue(answer)}` };
}

export function failedBy(error: unknown): Failed {
  return { failed: `summarize failed: ${quote(error instanceof Error ? error.message : String(error), 200)}` };
}

interface NextSummary {
  readonly earlier: string | undefined;
  readonly facts: SummaryFacts;
  readonly maxChars: number;
  /** As the summary shows it: ` · recall p_…`, or nothing. */
  readonly handle: string;
  /** The answer of the caller's function. */
  readonly written: ReturnType<Summarize>;
}

/** The next summary: by the caller's function if it wrote one, otherwise by the rules, which continue the earlier one. */
export function writeNextSummary({ earlier, facts, maxChars: most, handle, written }: NextSummary): {
  readonly summary: string;
  readonly author: SummaryAuthor;
} {
  // A shorter one would not be recognised when it comes back.
  const maxChars = Math.max(most, summaryHeader.length + handle.length + 3);
  if (typeof written === 'string')
    return { summary: clipText(`${summaryHeader}${handle}\n${written}`, maxChars), author: { by: 'model' } };
  const author: SummaryAuthor = written ? { by: 'rules', because: written.failed } : { by: 'rules' };
  return { summary: writeByRules(earlier, facts, { maxChars, handle }), author };
}

function writeByRules(earlier: string | undefined, facts: SummaryFacts, options: WriteOptions): string {
  const known = earlier === undefined ? undefined : readSummary(earlier);
  if (earlier === undefined || known) return writeSummary(continueSummary(known, facts), options);
  // A model wrote the earlier summary: its words stay, and take half of the room.
  const [, ...lines] = earlier.split('\n');
  const words = lines.filter((text) => !FIELD.test(text)).join('\n');
  const covered = Number(/^- Covers: (\d+) /m.exec(earlier)?.[1] ?? 0);
  const summary = continueSummary(undefined, { ...facts, messages: facts.messages + covered });
  const least = summaryHeader.length + (options.handle?.length ?? 0) + 3;
  const own = writeSummary(summary, { ...options, maxChars: Math.max(least, options.maxChars / 2) });
  const [header = '', ...fields] = own.split('\n');
  const room = options.maxChars - own.length - 1;
  return room > 0 ? [header, clipText(words, room), ...fields].join('\n') : own;
}

/** A line of the rules. */
const FIELD = /^- (?:Covers|Objective|Unresolved tasks|Key tool outcomes|Current constraints): /;

/** The parts of a summary. It can be read back from its own text, so that one may continue another. */
export interface Summary extends Omit<SummaryFacts, 'outcomes'> {
  readonly outcomes: readonly string[];
  readonly failures: readonly Failure[];
}

interface Failure {
  readonly last: string;
  readonly count: number;
}

/** One tool result in a line. */
export interface Outcome {
  readonly line: string;
  readonly failed: boolean;
}

/** The facts that a summary states about some messages. */
export interface SummaryFacts {
  readonly objective: string;
  readonly messages: number;
  readonly unresolved: readonly string[];
  readonly outcomes: readonly Outcome[];
  readonly constraints: readonly string[];
}

/** Continues an earlier summary with the messages that are left out now. Deterministic: no model, no clock. */
export function continueSummary(earlier: Summary | undefined, facts: SummaryFacts): Summary {
  const successes = facts.outcomes.filter(({ failed }) => !failed).map((outcome) => outcome.line);
  return {
    objective: earlier?.objective ?? line(facts.objective, 220),
    messages: (earlier?.messages ?? 0) + facts.messages,
    unresolved: latest(6, earlier?.unresolved, facts.unresolved),
    outcomes: latest(6, earlier?.outcomes, successes),
    failures: countFailures(earlier?.failures ?? [], facts.outcomes).slice(-6),
    constraints: latest(8, earlier?.constraints, facts.constraints),
  };
}

/** One line without semicolons: they separate items. */
const line = (text: string, max: number): string => quote(text, max).replaceAll(';', ',').replaceAll('×', 'x');

function latest(max: number, earlier: readonly string[] = [], added: readonly string[]): string[] {
  const lines = [...earlier, ...added.map((text) => line(text, 120))].filter((text) => text !== '');
  return [...new Set(lines.reverse())].slice(0, max).reverse();
}

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
  /** As the summary shows it: ` · recall p_…`, or nothing. */
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
  for (const name of ['outcomes', 'failures', 'constraints', 'unresolved'] as const)
    if (summary[name].length > 0) return { ...summary, [name]: summary[name].slice(1) };
  const { objective } = summary;
  return objective === '' ? undefined : { ...summary, objective: clipText(objective, objective.length - 20) };
}

const SHAPE = new RegExp(
  `^${summaryHeader.replace(/[()]/g, String.raw`\$&`)}${SHOWN_HANDLE}\n- Covers: (\\d+) earlier messages\n- Objective: (.*)\n- Unresolved tasks: (.*)` +
    '\n- Key tool outcomes: (.*)\n- Current constraints: (.*)$',
);

/** Reads a summary back from its text; undefined if the rules did not write it. */
export function readSummary(text: string): Summary | undefined {
  const [, messages, objective, unresolved, outcomes, constraints] = SHAPE.exec(text) ?? [];
  if (messages === undefined) return undefined;
  const lines = listOf(outcomes, 'No tool outcomes captured.');
  return {
    messages: Number(messages),
    objective: objective === 'Not specified.' ? '' : (objective ?? ''),
    unresolved: listOf(unresolved, 'None captured.'),
    outcomes: lines.filter((item) => !FAILURE.test(item)),
    failures: lines.flatMap((item) => {
      const [, last, count] = FAILURE.exec(item) ?? [];
      return last === undefined ? [] : [{ last, count: Number(count) }];
    }),
    constraints: listOf(constraints, 'No constraints captured.'),
  };
}

const FAILURE = /^(.*) × (\d+)$/;

const listOf = (text: string | undefined, none: string): string[] =>
  text === undefined || text === none ? [] : text.split('; ');

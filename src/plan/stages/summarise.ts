import { isOurs, isPlaceholder } from '../../laws/idempotent.ts';
import type { Segment } from '../../message.ts';
import { quote } from '../../text.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { type Removal, removalOf, toRemoval } from '../ledger/questions.ts';
import type { Result, Turn } from '../ledger/rows.ts';
import { MESSAGE_TOKENS } from '../ledger/totals.ts';
import { failureOf, subjectOf } from '../placeholder.ts';
import { type Outcome, type SummaryFacts, writeNextSummary } from '../summary.ts';
import { removable, sum } from './drop.ts';
import type { Budget, SummariseStage } from './stage.ts';

export function summarise<M>(ledger: Ledger<M>, { takesQuestion }: SummariseStage, budget: Budget): void {
  summariseTurns(ledger, budget, { upTo: ledger.turns - budget.window, takesQuestion });
}

export type SummaryBudget = Pick<Budget, 'summaryMaxChars' | 'summarize' | 'keepMessages'>;

export interface SummaryRange {
  /** The last turn that may be summarised. */
  readonly upTo: number;
  /** Whether to describe results as they came, not as the last request carried them. */
  readonly fromOriginals?: boolean;
  /** Whether the question of the first reply that stays is summarised too. */
  readonly takesQuestion?: boolean | undefined;
}

/** Returns whether a summary was written. */
export function summariseTurns<M>(ledger: Ledger<M>, budget: SummaryBudget, range: SummaryRange): boolean {
  const groups = removable(ledger, range.upTo, budget);
  // Groups that do not pay together may pay without the last one. Otherwise the next call would summarise them.
  for (let end = groups.length; end > 0 && end > groups.length - MOST_TRIED; end--)
    if (summariseRows(ledger, budget, groups.slice(0, end).flat(), range)) return true;
  return false;
}

const MOST_TRIED = 16;

/** The length of a summary with only its headings. */
const FRAME_CHARS = 240;

function summariseRows<M>(
  ledger: Ledger<M>,
  { summaryMaxChars = 1400, summarize }: SummaryBudget,
  rows: readonly Turn[],
  { fromOriginals = false, takesQuestion }: SummaryRange,
): boolean {
  const removed = takesQuestion ? rows.map((row) => toRemoval(ledger, row)) : removalOf(ledger, rows);
  const text = ledger.write(removed);
  if (text === undefined) return false;
  const earlier = ledger.notes.summary;
  const chars = sum(removed, 'chars') + (earlier?.length ?? 0);
  const hidden = earlier === undefined ? text : `${earlier}\n${text}`;
  const handle = ledger.showHandle(hidden);
  const written = summarize?.({
    replaced: ledger.handleOf(hidden),
    messages: removed.flatMap(({ row, to }) => [...row.messages(to)].map((message) => ledger.messages[message])),
    earlier,
  });
  // A larger summary would not pay; one smaller than its frame would say nothing.
  const maxChars = Math.min(summaryMaxChars, Math.max(FRAME_CHARS + handle.length, chars - 1));
  const tokens = sum(removed, 'tokens') + ledger.counter(earlier ?? '');
  // If a summary of the originals does not pay, one of the results as sent may: a fed-back history has only those.
  for (const isOriginal of fromOriginals ? [true, false] : [false]) {
    const facts = factsOf(ledger, removed, isOriginal);
    const { summary, author } = writeNextSummary({ earlier, facts, maxChars, handle, written });
    if (summary.length >= chars || ledger.counter(summary) + MESSAGE_TOKENS >= tokens) continue;
    ledger.remove(removed, 'summarize', hidden);
    ledger.setNotes({ ...ledger.notes, summary });
    ledger.summaryAuthor = author;
    return true;
  }
  return false;
}

function factsOf<M>(ledger: Ledger<M>, removed: readonly Removal[], fromOriginals: boolean): SummaryFacts {
  const facts = { unresolved: [] as string[], outcomes: [] as Outcome[], constraints: [] as string[] };
  for (const { row, to } of removed) {
    for (const [segment, index] of ledger.segmentsOf(row)) {
      if (segment.message >= to) break;
      const result = ledger.results[index];
      const text = (fromOriginals ? undefined : result?.sentText) ?? segment.text;
      if (segment.tags?.includes('unresolved')) facts.unresolved.push(text);
      if (segment.tags?.includes('constraint') || isInstruction(segment)) facts.constraints.push(text);
      if (result) facts.outcomes.push(outcomeOf(result, text));
    }
  }
  return { ...facts, objective: ledger.task, messages: sum(removed, 'messages') };
}

/** A system message in the middle of a conversation goes with its turn, but holds from then on. */
const isInstruction = ({ kind, text }: Segment): boolean => kind === 'system' && !isOurs(text);

/** The longest subject of a call: the outcome itself needs the room. */
const MAX_SUBJECT = 40;

function outcomeOf({ tool, call, args, isError }: Result, text: string): Outcome {
  const name = tool ?? 'result';
  // The agent's own words about a call are not its outcome.
  const subject = call?.isProse ? '' : quote(subjectOf(args), MAX_SUBJECT);
  const about = `${name} ${subject}`.trim();
  if (isPlaceholder(text)) {
    const said = /^\[(.+ (?:failed|\d+ lines?)[^·]*?) ?(?:·.*)?\]$/.exec(text)?.[1];
    return { line: said ?? about, failed: isError || / failed\b/.test(said ?? '') };
  }
  const failure = failureOf({ isError, text, tool });
  if (failure) return { line: `${name} failed: ${failure.line}`, failed: true };
  return { line: `${about}: ${text}`, failed: false };
}

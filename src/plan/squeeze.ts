import { isPlaceholder, summaryHeader } from '../laws/idempotent.ts';
import { closedGroups } from '../laws/pairs.ts';
import { userTurns } from '../laws/task.ts';
import { clipText } from '../text.ts';
import type { Ledger } from './ledger.ts';
import { noteTexts, writeNotice } from './notes.ts';
import { failureOf, subjectOf } from './placeholder.ts';
import type { Limit, Truncation } from './policy.ts';
import { MESSAGE_TOKENS, type Result, type TurnRow } from './rows.ts';
import { continueSummary, type Outcome, readSummary, type Told, writeSummary } from './summary.ts';
import { truncateResult } from './truncate-result.ts';

export type Stage = 'masking' | 'summarization' | 'fallback';

/** A cut goes down to this share of the budget, so that the next turn does not cut again. */
const ROOM = 0.8;

/** Brings the history below a limit: mask, then summarise, then drop, then clip. Answers how far it had to go. */
export function squeeze<M>(ledger: Ledger<M>, limit: Limit, outside: () => readonly number[]): Stage | undefined {
  const target = Math.floor(limit.max * ROOM);
  const stages: readonly [Stage, () => void][] = [
    ['masking', () => maskAll(ledger, limit.mask ? outside() : [])],
    ['summarization', () => summarizeTurns(ledger, limit, ledger.turns - limit.window)],
    // Where the newest turn alone is too large, dropping all others would not help: clip it first.
    ['fallback', () => leastSize(ledger, limit) <= limit.max && dropTurns(ledger, limit, target)],
    ['fallback', () => clipResults(ledger, limit, target)],
    ['fallback', () => dropTurns(ledger, limit, target)],
    ['fallback', () => clipResults(ledger, limit, limit.max)],
    [
      'fallback',
      () =>
        maskAll(
          ledger,
          ledger.observations.map((result) => result.segment),
        ),
    ],
    ['fallback', () => shedSummary(ledger)],
  ];
  let reached: Stage | undefined;
  for (const [stage, apply] of stages) {
    if (sizeOf(ledger, limit) <= limit.max) break;
    apply();
    reached = stage;
  }
  return reached;
}

type Measure = Pick<Limit, 'measure' | 'keepMessages'>;

export function sizeOf<M>(ledger: Ledger<M>, { measure }: Measure): number {
  return measure === 'tokens' ? ledger.tokens : ledger.chars;
}

export function maskAll<M>(ledger: Ledger<M>, segments: readonly number[]): number {
  let masked = 0;
  for (let i = 0; i < segments.length; i++) if (ledger.mask(segments[i] as number)) masked += 1;
  return masked;
}

/** The turns up to a number that the laws let go, in groups that can only go together, oldest first. */
export function removable<M>(ledger: Ledger<M>, upTo: number, keepMessages = 0): TurnRow[][] {
  if (!ledger.mayDrop) return [];
  const task = userTurns(ledger.rows);
  const rows = ledger.rows.slice(1, -1);
  const isKept = (row: TurnRow): boolean => task.has(row) || row.isHead || row.number > upTo || row.from < keepMessages;
  return closedGroups(rows).filter((group) => !group.some(isKept));
}

const sizeOfRows = (rows: readonly TurnRow[], { measure }: Measure): number =>
  rows.reduce((sum, row) => sum + (measure === 'tokens' ? row.tokens : row.chars), 0);

/** Replaces turns up to a number by a summary, if that is smaller. Answers whether it did. */
export function summarizeTurns<M>(ledger: Ledger<M>, limit: SummaryOptions, upTo: number): boolean {
  const groups = removable(ledger, upTo, limit.keepMessages);
  // What does not pay together may pay without the last: they would be summarised when this is fitted again.
  for (let end = groups.length; end > 0 && end > groups.length - MOST_TRIED; end--)
    if (summarizeRows(ledger, limit, groups.slice(0, end).flat())) return true;
  return false;
}

const MOST_TRIED = 16;

function summarizeRows<M>(ledger: Ledger<M>, limit: SummaryOptions, rows: readonly TurnRow[]): boolean {
  const text = ledger.write(rows);
  if (text === undefined) return false;
  const earlier = ledger.notes.summary ?? '';
  const hidden = earlier === '' ? text : `${earlier}\n${text}`;
  const summary = writeNext(ledger, limit, rows, ledger.showHandle(hidden));
  const saved = rows.reduce((sum, row) => sum + row.tokens, 0) + ledger.counter(earlier);
  const isShorter = summary.length < earlier.length + rows.reduce((sum, row) => sum + row.chars, 0);
  if (!isShorter || ledger.counter(summary) + MESSAGE_TOKENS >= saved) return false;
  ledger.remove(new Set(rows), 'summarize', hidden);
  ledger.setNotes({ ...ledger.notes, summary });
  return true;
}

export type SummaryOptions = Pick<Limit, 'summaryMaxChars' | 'summarize' | 'keepMessages'>;

function writeNext<M>(
  ledger: Ledger<M>,
  { summarize, summaryMaxChars }: SummaryOptions,
  rows: readonly TurnRow[],
  handle: string,
): string {
  // A shorter one would not be known again.
  const maxChars = Math.max(summaryMaxChars, summaryHeader.length + handle.length + 3);
  const earlier = ledger.notes.summary;
  if (summarize) {
    const messages = rows.flatMap((row) => ledger.messages.slice(row.from, row.to));
    return clipText(`${summaryHeader}${handle}\n${summarize(messages, earlier)}`, maxChars);
  }
  const summary = continueSummary(earlier === undefined ? undefined : readSummary(earlier), tell(ledger, rows));
  return writeSummary(summary, { maxChars, handle });
}

/** What a summary tells of some turns. Results are told as the last request carried them, not as masked just now. */
function tell<M>(ledger: Ledger<M>, rows: readonly TurnRow[]): Told {
  const told = { unresolved: [] as string[], outcomes: [] as Outcome[], constraints: [] as string[] };
  for (const row of rows) {
    for (const [segment, index] of ledger.segmentsOf(row)) {
      const result = ledger.resultAt(index);
      const text = result?.settled ?? segment.text;
      if (segment.tags?.includes('unresolved')) told.unresolved.push(text);
      if (segment.tags?.includes('constraint')) told.constraints.push(text);
      if (result) told.outcomes.push(outcomeOf(result));
    }
  }
  return { ...told, objective: ledger.task, messages: messagesIn(rows) };
}

function outcomeOf(result: Result): Outcome {
  const text = result.settled;
  const about = [result.tool ?? 'result', subjectOf(result.args)];
  if (isPlaceholder(text)) {
    const said = /^\[(.+ (?:failed|\d+ lines?)[^·]*?) ?(?:·.*)?\]$/.exec(text)?.[1];
    return { line: said ?? about.join(' '), failed: result.isError || / failed\b/.test(said ?? '') };
  }
  const failure = failureOf({ isError: result.isError, text });
  if (failure) return { line: `${result.tool ?? 'result'} failed: ${failure.line}`, failed: true };
  return { line: `${about.join(' ').trim()}: ${text}`, failed: false };
}

/** What is left when all that may go has gone, its notice included. */
function leastSize<M>(ledger: Ledger<M>, limit: Measure): number {
  const rows = removable(ledger, ledger.turns, limit.keepMessages).flat();
  return sizeOf(ledger, limit) - sizeOfRows(rows, limit) + noticeSize(ledger, limit, messagesIn(rows));
}

const messagesIn = (rows: readonly TurnRow[]): number => rows.reduce((sum, row) => sum + row.to - row.from, 0);

/** What a notice about so many more messages adds to the one that stands there now. */
function noticeSize<M>(ledger: Ledger<M>, { measure }: Measure, more: number): number {
  const { notice } = ledger.notes;
  const sizeOfText = (text: string): number => (measure === 'chars' ? text.length : ledger.counter(text) + NOTE_TOKENS);
  const next = writeNotice({ omitted: (notice?.omitted ?? 0) + more, handle: ledger.showHandle('') });
  return sizeOfText(next) - (notice ? sizeOfText(writeNotice(notice)) : 0);
}

/** The framing of a message, and what one handle may cost more than another. */
const NOTE_TOKENS = 2 * MESSAGE_TOKENS;

/** Leaves out whole turns, oldest first, until the target is reached; none before turn `from`. Answers how many messages went. */
export function dropTurns<M>(ledger: Ledger<M>, limit: Measure, target: number, from = 1): number {
  const rows: TurnRow[] = [];
  const texts: string[] = [];
  let size = sizeOf(ledger, limit);
  let dropped = 0;
  for (const group of removable(ledger, ledger.turns, limit.keepMessages)) {
    if (group.some((row) => row.number < from)) continue;
    if (dropped > 0 && size + noticeSize(ledger, limit, dropped) <= target) break;
    const text = ledger.write(group);
    if (text === undefined) continue;
    rows.push(...group);
    texts.push(text);
    size -= sizeOfRows(group, limit);
    dropped += messagesIn(group);
  }
  return dropped > 0 && isNoticeSmaller(ledger, rows) ? leaveOut(ledger, rows, texts) : 0;
}

/** A notice that is larger than what it stands for would make the request larger. */
const isNoticeSmaller = <M>(ledger: Ledger<M>, rows: readonly TurnRow[]): boolean =>
  (['tokens', 'chars'] as const).every(
    (measure) => noticeSize(ledger, { measure }, messagesIn(rows)) < sizeOfRows(rows, { measure }),
  );

/** Leaves these turns out, with a notice that adds to the one before. Answers how many messages went. */
export function leaveOut<M>(ledger: Ledger<M>, rows: readonly TurnRow[], texts: readonly string[]): number {
  const { notice } = ledger.notes;
  const dropped = messagesIn(rows);
  const text = [...(notice ? [writeNotice(notice)] : []), ...texts].join('\n');
  ledger.remove(new Set(rows), 'drop', text);
  ledger.setNotes({
    ...ledger.notes,
    notice: { omitted: (notice?.omitted ?? 0) + dropped, handle: ledger.showHandle(text) },
  });
  return dropped;
}

/** The shortest that a clipped result becomes; below that it is better masked. */
const LEAST = { tokens: 60, chars: 24 };

/** Cuts the largest visible results down to one common size that brings the whole to the target. Answers that size. */
export function clipResults<M>(ledger: Ledger<M>, limit: Measure, target: number, least?: number): number {
  const { measure } = limit;
  const results = ledger.observations.filter((result) => !result.masked && ledger.isFree(result));
  const sizes = results.map((result) => (measure === 'tokens' ? result.tokens : result.text.length));
  const shown = measure === 'chars' ? ledger.showHandle('').length : 0;
  const cap = Math.max(least ?? LEAST[measure] + shown, commonCap(sizes, sizeOf(ledger, limit) - target));
  for (const [i, result] of results.entries()) {
    if ((sizes[i] ?? 0) <= cap) continue;
    if (measure === 'chars') ledger.clip(result, (handle) => `${clipText(result.text, cap - handle.length)}${handle}`);
    else clipResult(ledger, result.segment, cap);
  }
  return cap;
}

/** Cuts one result to so many tokens. */
export function clipResult<M>(
  ledger: Ledger<M>,
  segment: number,
  maxTokens: number,
  strategy: Truncation = 'both',
): void {
  const result = ledger.resultAt(segment);
  if (!result) return;
  const { counter } = ledger;
  // The text is short, so it is an image that is large.
  if (counter(result.text) <= maxTokens) ledger.mask(segment);
  else ledger.clip(result, (handle) => truncateResult(result.text, { maxTokens, strategy, counter, handle }));
}

/** The cap at which the parts of all sizes above it sum up to the excess. */
export function commonCap(sizes: readonly number[], excess: number): number {
  const sorted = [...sizes].sort((a, b) => b - a);
  let above = 0;
  for (const [i, size] of sorted.entries()) {
    above += size;
    const cap = Math.floor((above - excess) / (i + 1));
    if (cap >= (sorted[i + 1] ?? 0)) return cap;
  }
  return 0;
}

/** A summary goes only when nothing else is left to go; its messages are then omitted like the others. */
function shedSummary<M>(ledger: Ledger<M>): void {
  const { summary, notice } = ledger.notes;
  if (summary === undefined) return;
  const omitted = (readSummary(summary)?.messages ?? 1) + (notice?.omitted ?? 0);
  const text = noteTexts(ledger.notes).join('\n');
  ledger.remove(new Set(), 'drop', text);
  ledger.setNotes({ notice: { omitted, handle: ledger.showHandle(text) } });
}

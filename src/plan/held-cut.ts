import type { Format } from '../message.ts';
import { count, positive } from '../options.ts';
import { followReferences } from './arrival/follow-references.ts';
import { Ledger, type LedgerOptions } from './ledger/ledger.ts';
import { removalOf, splitTurns } from './ledger/questions.ts';
import { shortenWords } from './ledger/shorten-words.ts';
import { reduce } from './reduce.ts';
import { clipResult } from './stages/clip.ts';
import { leaveOut } from './stages/drop.ts';
import { type Budget, sizeOf } from './stages/stage.ts';

/** The messages left out of a history and the texts shortened in it, as plain data: the next request can repeat them. */
export interface Cut {
  /** The length of the list. A shorter one is another list, and begins without a cut. */
  readonly messages: number;
  /** The number of messages that it leaves out. */
  readonly omitted: number;
  /** The steps of each stage, the oldest first. */
  readonly steps: readonly CutStep[];
}

/** The drops and clips of one stage. */
export interface CutStep {
  /** Messages left out, from and up to, not including. */
  readonly drops: readonly (readonly [from: number, to: number])[];
  /** Texts shortened: segments of the view, and their size in tokens. */
  readonly clips: readonly { readonly segment: number; readonly maxTokens: number }[];
  /** Whether turns were split into their messages, because whole ones could not be left out. */
  readonly splits?: true;
}

/** Whether a value can be a cut at all. */
export function isCut(value: unknown): boolean {
  const cut = value as Partial<Cut> | null;
  return count.check(cut?.messages) && count.check(cut?.omitted) && isListOf(cut?.steps, isStep);
}

const isStep = (step: Partial<CutStep> | null): boolean =>
  isListOf(step?.drops, isDrop) && isListOf(step?.clips, isClip);
const isDrop = (drop: unknown): boolean => isListOf(drop, count.check) && drop.length === 2;
const isClip = (clip: Partial<CutStep['clips'][number]> | null): boolean =>
  count.check(clip?.segment) && positive.check(clip?.maxTokens);
const isListOf = <T>(value: unknown, is: (item: T) => boolean): value is readonly T[] =>
  Array.isArray(value) && value.every((item) => is(item));

/** A history within its budget, and the cut that brought it there. */
export interface HeldCut<M> {
  readonly ledger: Ledger<M>;
  readonly cut: Cut | undefined;
  readonly decision: 'fits' | 'held' | 'cut';
  /** The results that are masked because the text that they refer to was left out or shortened: segments of the view. */
  readonly lost: readonly number[];
}

interface HoldOptions<M> extends LedgerOptions<M> {
  readonly format: Format<M>;
  readonly cut?: Cut | undefined;
}

/** Reduces a history. An earlier cut is repeated first. It is extended only if the history has overflowed since. */
export function reduceHeld<M>(
  messages: readonly M[],
  budget: Budget,
  { format, cut, ...options }: HoldOptions<M>,
): HeldCut<M> {
  const held = cut && cut.messages <= messages.length ? cut.steps : [];
  const repeated = Ledger.of(messages, format, options);
  const isShortened = held.length > 0 || sizeOf(repeated, budget) > budget.max;
  let references = isShortened ? followReferences(repeated) : undefined;
  const isRepeated = held.every((step) => repeat(repeated, step));
  const ledger = isRepeated ? repeated : Ledger.of(messages, format, options);
  if (!isRepeated) references = followReferences(ledger);
  const steps = isRepeated ? [...held] : [];
  const decision = sizeOf(ledger, budget) > budget.max ? 'cut' : steps.length > 0 ? 'held' : 'fits';
  for (const stage of budget.stages) {
    const step = recordStep(ledger, () => reduce(ledger, { ...budget, stages: [stage] }));
    if (step) steps.push(step);
    references?.repair();
  }
  const omitted = ledger.notes.notice?.omitted ?? 0;
  const lost = references ? ledger.observations.filter(({ why }) => why === 'mask').map(({ segment }) => segment) : [];
  return { ledger, decision, lost, cut: steps.length > 0 ? { messages: messages.length, omitted, steps } : undefined };
}

/** Repeats a step. False if it was made for another list. */
function repeat<M>(ledger: Ledger<M>, { drops, clips, splits }: CutStep): boolean {
  if (splits) splitTurns(ledger);
  const rows = ledger.rows.filter(({ from }) => drops.some(([start, end]) => start <= from && from < end));
  const removed = removalOf(ledger, rows);
  const isSame = spansOf(removed.flatMap(({ row, to }) => [...row.messages(to)])).join() === drops.join();
  if (!isSame || rows.includes(ledger.lastRow) || (rows.length > 0 && !leaveOut(ledger, removed))) return false;
  for (const { segment, maxTokens } of clips) {
    if (ledger.segments[segment]?.kind === 'user') ledger.clipWords(segment, maxTokens, shortenWords);
    else clipResult(ledger, segment, maxTokens);
  }
  return true;
}

function recordStep<M>(ledger: Ledger<M>, apply: () => void): CutStep | undefined {
  const { isSplit } = ledger;
  const before = sentBy(ledger);
  const sizes = new Map(ledger.clipSizes);
  apply();
  const clips = [...ledger.clipSizes].filter(([segment, maxTokens]) => sizes.get(segment) !== maxTokens);
  const after = new Set(sentBy(ledger));
  const drops = spansOf(before.filter((message) => !after.has(message)));
  const splits = ledger.isSplit && !isSplit;
  if (clips.length === 0 && drops.length === 0 && !splits) return undefined;
  return {
    drops,
    clips: clips.map(([segment, maxTokens]) => ({ segment, maxTokens })),
    ...(splits ? { splits } : {}),
  };
}

/** The messages that are sent, without notes. */
const sentBy = <M>({ rows }: Ledger<M>): number[] => rows.flatMap((row) => [...row.messages()]);

type Span = readonly [from: number, to: number];

/** Messages in rising order, as spans. */
function spansOf(messages: readonly number[]): Span[] {
  const spans: Span[] = [];
  for (const message of messages) {
    const last = spans.at(-1);
    if (last?.[1] === message) spans[spans.length - 1] = [last[0], message + 1];
    else spans.push([message, message + 1]);
  }
  return spans;
}

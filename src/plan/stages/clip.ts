import { isNote } from '../../laws/idempotent.ts';
import type { Segment } from '../../message.ts';
import { clipText } from '../../text.ts';
import { commonCap } from '../common-cap.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Result } from '../ledger/rows.ts';
import { shortenWords } from '../ledger/shorten-words.ts';
import type { Truncation } from '../policy.ts';
import { truncateResult } from '../truncate-result.ts';
import { leastSize } from './drop.ts';
import { type Budget, type ClipStage, sizeOf } from './stage.ts';

export function clip<M>(ledger: Ledger<M>, stage: ClipStage, budget: Budget): void {
  if (stage.ifNewestIsTooLarge && leastSize(ledger, budget) <= budget.max) return;
  const goal = budget[stage.to];
  if (stage.what === 'results') clipResults(ledger, budget, goal, stage);
  else clipWords(ledger, budget, goal);
}

/** The smallest size of a clipped result. Below that it is masked instead. */
const LEAST = { tokens: 60, chars: 24, messages: 60 };

function clipResults<M>(ledger: Ledger<M>, budget: Budget, goal: number, { least, evenMasked }: ClipStage): void {
  const { measure } = budget;
  // A placeholder that came with the history stays. So does the placeholder of a file: without its end it could not be distinguished from
  // words of a user.
  const isOpen = ({ masked, why, original }: Result): boolean =>
    !masked || (evenMasked === true && why !== undefined && original.text !== '');
  const results = ledger.observations.filter((result) => isOpen(result) && ledger.isFree(result));
  const sizes = results.map((result) => (measure === 'tokens' ? result.tokens : result.text.length));
  const shown = measure === 'chars' ? ledger.showHandle('').length : 0;
  const cap = Math.max(least ?? LEAST[measure] + shown, commonCap(sizes, sizeOf(ledger, budget) - goal));
  for (const [i, result] of results.entries()) {
    if ((sizes[i] ?? 0) <= cap) continue;
    if (measure === 'chars') ledger.clip(result, (handle) => `${clipText(result.text, cap - handle.length)}${handle}`);
    else clipResult(ledger, result.segment, cap);
  }
}

/** Cuts a new result. It is not cached yet, so this costs nothing. */
export function truncateArrival<M>(ledger: Ledger<M>, result: Result, maxTokens: number, strategy?: Truncation): void {
  if (result.tokens > maxTokens && !result.masked) cut(ledger, result, { maxTokens, strategy, why: 'truncate' });
}

/** Cuts one result to `maxTokens`. */
export function clipResult<M>(ledger: Ledger<M>, segment: number, maxTokens: number): void {
  const result = ledger.results[segment];
  if (!result) return;
  ledger.clipSizes.set(segment, maxTokens);
  cut(ledger, result, { maxTokens, why: 'clip' });
}

interface CutOptions {
  readonly maxTokens: number;
  readonly strategy?: Truncation | undefined;
  readonly why: 'clip' | 'truncate';
}

function cut<M>(ledger: Ledger<M>, result: Result, { maxTokens, strategy = 'both', why }: CutOptions): void {
  const { counter } = ledger;
  // The text fits, so an image makes the result large: mask it.
  if (counter(result.text) <= maxTokens) ledger.mask(result.segment);
  else ledger.clip(result, (handle) => truncateResult(result.text, { maxTokens, strategy, counter, handle }), why);
}

/** The fewest tokens that a user's text is cut to. */
const LEAST_WORDS = 40;

function clipWords<M>(ledger: Ledger<M>, budget: Budget, goal: number): void {
  for (const segment of wordsOf(ledger)) {
    if (sizeOf(ledger, budget) <= budget.max) return;
    const size = ledger.counter(ledger.segments[segment]?.text ?? '');
    const maxTokens = Math.max(LEAST_WORDS, Math.floor(size - (sizeOf(ledger, budget) - goal)));
    if (maxTokens < size) ledger.clipWords(segment, maxTokens, shortenWords);
  }
}

/** The users' own texts that are sent: of the newest message, then of the first, then the largest others. */
function wordsOf<M>({ segments, rows }: Ledger<M>): readonly number[] {
  const isSent = ({ message }: Segment): boolean => rows.some((row) => row.has(message));
  const isOwn = ({ kind, text }: Segment): boolean => kind === 'user' && text !== '' && !isNote(text);
  const users = [...segments.entries()].filter(([, segment]) => isOwn(segment) && isSent(segment));
  const first = users[0]?.[1].message;
  const newest = users.at(-1)?.[1].message;
  const rank = ({ message }: Segment): number => (message === newest ? 0 : message === first ? 1 : 2);
  const inOrder = users.sort(([, a], [, b]) => rank(a) - rank(b) || b.text.length - a.text.length);
  return inOrder.map(([index]) => index);
}

import { PalimpsestError } from '../errors.ts';
import { isNote } from '../laws/idempotent.ts';
import type { Format, Segment } from '../message.ts';
import { count, positive } from '../options.ts';
import { type HandleOptions, showHandle } from '../plan/handles.ts';
import type { Hidden, Ledger } from '../plan/ledger.ts';
import { writeNotice } from '../plan/notes.ts';
import type { TurnRow } from '../plan/rows.ts';
import { clipResult, clipResults, dropTurns, leaveOut } from '../plan/squeeze.ts';
import { truncateResult } from '../plan/truncate-result.ts';
import type { Counter } from '../tokens/counter.ts';
import { cutText } from './cut-text.ts';
import { ledgerOf, sizeOfMessages } from './sizes.ts';

/** What was left out of a history and shortened in it: plain data, so that the next request can carry the same. */
export interface Cut {
  /** How long the list was. A shorter one is another list, and begins without a cut. */
  readonly messages: number;
  /** How many messages it leaves out. */
  readonly omitted: number;
  /** What each overflow did, the oldest first. */
  readonly steps: readonly CutStep[];
}

/** What one overflow made it do. */
export interface CutStep {
  /** Messages left out, from and up to, not including. */
  readonly drops: readonly (readonly [from: number, to: number])[];
  /** Texts shortened: segments of the view, and their size in tokens. */
  readonly clips: readonly { readonly segment: number; readonly maxTokens: number }[];
  /** Turns were taken apart into their messages, since whole ones could not go. */
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

export interface CutOptions<M> extends HandleOptions {
  readonly format: Format<M>;
  readonly counter: Counter;
  readonly maxTokens: number;
  /** Where a cut is made, it goes down to this. */
  readonly targetTokens: number;
  readonly cut?: Cut | undefined;
}

export interface CutHistory<M> {
  readonly messages: M[];
  readonly cut: Cut | undefined;
  readonly omitted: number;
  readonly clipped: number;
  readonly notice: string | undefined;
  readonly hidden: readonly Hidden[];
  readonly tokens: { readonly before: number; readonly after: number };
  readonly decision: 'fits' | 'held' | 'cut';
}

/**
 * Leaves out the oldest turns of a history that is too large, whole, down to a target; what was cut before stays cut.
 * The task and the newest message stay: where they alone are too large, results are shortened, then their own text.
 */
export function cutHistory<M>(messages: readonly M[], options: CutOptions<M>): CutHistory<M> {
  const segments = options.format.view(messages);
  const held = replay(messages, segments, heldSteps(options.cut, messages.length), options);
  const before = held ?? (replay(messages, segments, [], options) as Replayed<M>);
  if (before.ledger.tokens <= options.maxTokens)
    return toResult(before, messages.length, before.steps.length > 0 ? 'held' : 'fits');
  let next = cutMore(before, options);
  // A user's own words go last.
  for (const segment of userTexts(segments, next.ledger)) {
    if (next.ledger.tokens <= options.maxTokens) break;
    const excess = next.ledger.tokens - options.targetTokens;
    next = shortenText(messages, segments, { next, segment, excess }, options);
  }
  if (next.ledger.tokens > options.maxTokens) throw impossible(next.ledger.tokens, options.maxTokens);
  return toResult(next, messages.length, 'cut');
}

/** A history with the steps of a cut done to it. */
interface Replayed<M> {
  readonly ledger: Ledger<M>;
  readonly steps: readonly CutStep[];
  /** The users' own texts that were shortened. */
  readonly texts: readonly Hidden[];
  /** The size of all of it as it came. */
  readonly tokensBefore: number;
}

const heldSteps = (cut: Cut | undefined, length: number): readonly CutStep[] =>
  cut && cut.messages <= length ? cut.steps : [];

/** Does again what an earlier cut did; undefined where it was made for another list. */
function replay<M>(
  messages: readonly M[],
  segments: readonly Segment[],
  steps: readonly CutStep[],
  options: CutOptions<M>,
): Replayed<M> | undefined {
  const { messages: shortened, texts } = shortenTexts(messages, segments, steps, options);
  const { counter, handleOf, show } = options;
  const ledger = ledgerOf(shortened, options.format, { counter, handleOf, show });
  for (const { drops, clips, splits } of steps) {
    if (splits) ledger.splitTurns();
    const rows = drops.map(([from, to]) => ledger.rows.find((row) => row.from === from && row.to === to));
    if (rows.some((row) => row === undefined || row === ledger.lastRow)) return undefined;
    if (rows.length > 0) leaveOut(ledger, rows as TurnRow[], [ledger.write(rows as TurnRow[]) ?? '']);
    for (const { segment, maxTokens } of clips) clipResult(ledger, segment, maxTokens);
  }
  const tokensBefore = texts.length > 0 ? sizeOfMessages(messages, options.format, counter) : ledger.tokensBefore;
  return { ledger, steps, texts, tokensBefore };
}

/** The users' own texts are shortened before the ledger sees them: it edits results only. */
function shortenTexts<M>(
  messages: readonly M[],
  segments: readonly Segment[],
  steps: readonly CutStep[],
  { counter, handleOf, ...options }: CutOptions<M>,
): { readonly messages: readonly M[]; readonly texts: readonly Hidden[] } {
  const shortened = messages.slice();
  const texts: Hidden[] = [];
  for (const [index, maxTokens] of lastClips(steps)) {
    const segment = segments[index];
    if (segment?.kind !== 'user') continue;
    const handle = handleOf?.(segment.text) ?? '';
    const shown = showHandle(handle === '' ? undefined : handle, options);
    const shorten = (text: string, most: number): string =>
      truncateResult(text, { maxTokens: most, strategy: 'both', counter, handle: shown });
    shortened[segment.message] = cutText(shortened[segment.message] as M, segment, { maxTokens, counter, shorten });
    texts.push({ handle, text: segment.text, why: 'clip', turn: segment.turn });
  }
  return { messages: shortened, texts };
}

/** What each segment was shortened to last. */
const lastClips = (steps: readonly CutStep[]): ReadonlyMap<number, number> =>
  new Map(steps.flatMap(({ clips }) => clips.map(({ segment, maxTokens }) => [segment, maxTokens] as const)));

/** Whole turns first; then, where the newest alone is too large, its results; then messages that nobody answered. */
function cutMore<M>(before: Replayed<M>, { maxTokens, targetTokens }: CutOptions<M>): Replayed<M> {
  const { ledger } = before;
  const limit = { measure: 'tokens' } as const;
  const added: CutStep[] = [];
  const isOver = (): boolean => ledger.tokens > maxTokens;
  const drop = (): void => {
    const drops = droppedBy(ledger, () => dropTurns(ledger, limit, targetTokens));
    if (drops.length > 0) added.push({ drops, clips: [] });
  };
  const clip = (target: number, least?: number): void => {
    const clips = clippedBy(ledger, () => clipResults(ledger, limit, target, least));
    if (clips.length > 0) added.push({ drops: [], clips });
  };
  drop();
  if (isOver()) clip(targetTokens);
  if (isOver()) clip(maxTokens, 1);
  if (isOver() && isSplittable(ledger)) {
    ledger.splitTurns();
    added.push({ drops: [], clips: [], splits: true });
    drop();
  }
  return { ...before, steps: [...before.steps, ...added] };
}

/** Turn 0 never goes as a whole: what a user said there, message after message, can. */
const isSplittable = <M>(ledger: Ledger<M>): boolean => (ledger.rows[0]?.to ?? 0) > 2;

function droppedBy<M>(ledger: Ledger<M>, drop: () => void): CutStep['drops'] {
  const before = ledger.rows;
  drop();
  const left = new Set(ledger.rows);
  return before.filter((row) => !left.has(row)).map(({ from, to }) => [from, to] as const);
}

function clippedBy<M>(ledger: Ledger<M>, clip: () => number): CutStep['clips'] {
  // Not by their texts: of a result with an image only the image may go.
  const sizes = new Map(ledger.observations.map((result) => [result, result.tokens]));
  const maxTokens = clip();
  const clipped = ledger.observations.filter((result) => result.tokens !== sizes.get(result));
  return clipped.map(({ segment }) => ({ segment, maxTokens }));
}

/** The users' own texts that are sent: of the newest message, then of the first, then the largest others. */
function userTexts<M>(segments: readonly Segment[], { rows }: Ledger<M>): readonly number[] {
  const isSent = ({ message }: Segment): boolean => rows.some(({ from, to }) => from <= message && message < to);
  const isOwn = ({ kind, text }: Segment): boolean => kind === 'user' && text !== '' && !isNote(text);
  const users = [...segments.entries()].filter(([, segment]) => isOwn(segment) && isSent(segment));
  const first = users[0]?.[1].message;
  const newest = users.at(-1)?.[1].message;
  const rank = ({ message }: Segment): number => (message === newest ? 0 : message === first ? 1 : 2);
  const inOrder = users.sort(([, a], [, b]) => rank(a) - rank(b) || b.text.length - a.text.length);
  return inOrder.map(([index]) => index);
}

/** No text is cut to less. */
const LEAST_TEXT = 40;

function shortenText<M>(
  messages: readonly M[],
  segments: readonly Segment[],
  { next, segment, excess }: { next: Replayed<M>; segment: number; excess: number },
  options: CutOptions<M>,
): Replayed<M> {
  const size = lastClips(next.steps).get(segment) ?? options.counter(segments[segment]?.text ?? '');
  const maxTokens = Math.max(LEAST_TEXT, Math.floor(size - excess));
  if (maxTokens >= size) return next;
  const steps = [...next.steps, { drops: [], clips: [{ segment, maxTokens }] }];
  return replay(messages, segments, steps, options) ?? next;
}

function toResult<M>(
  { ledger, steps, texts, tokensBefore }: Replayed<M>,
  length: number,
  decision: CutHistory<M>['decision'],
): CutHistory<M> {
  const { notice } = ledger.notes;
  const omitted = notice?.omitted ?? 0;
  return {
    messages: ledger.sent(),
    cut: steps.length > 0 ? { messages: length, omitted, steps } : undefined,
    omitted,
    clipped: ledger.replaced.clip + texts.length,
    notice: notice && writeNotice(notice),
    hidden: [...ledger.hidden, ...texts],
    tokens: { before: tokensBefore, after: ledger.tokens },
    decision,
  };
}

function impossible(tokens: number, maxTokens: number): PalimpsestError {
  return new PalimpsestError(
    'BUDGET_IMPOSSIBLE',
    `Expected a history that can be cut to ${maxTokens} tokens but ${tokens} are left when all that may go has gone; ` +
      'raise the budget, or shorten what only you can shorten',
  );
}

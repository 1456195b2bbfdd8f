import { applyEdits } from '../../formats/lens.ts';
import type { DropEdit, Edit, Format, Segment } from '../../message.ts';
import { type HandleOptions, handleToShow, showHandle } from '../handles.ts';
import type { Notes } from '../notes.ts';
import type { Observation, RequestView } from '../policy.ts';
import type { SummaryAuthor } from '../summary.ts';
import { Drafts } from './drafts.ts';
import type { Hidden } from './hidden.ts';
import { History, type HistoryOptions } from './history.ts';
import { moveQuestion, type Removal } from './questions.ts';
import { type Counts, RequestChanges, type ResultChange, type Shape } from './request-changes.ts';
import {
  type Call,
  type Draft,
  isArrival,
  NO_GAP,
  type Result,
  type ResultState,
  type Turn,
  type Why,
} from './rows.ts';
import { ShortCall } from './short-call.ts';
import type { ShortenWords, Whole } from './shorten-words.ts';

export interface LedgerOptions<M> extends HistoryOptions<M>, HandleOptions {}

/**
 * The history as it is sent, and every decision about it. It knows sizes and laws, not policies. All sizes are those of the history as
 * sent, never of the original: a history that was fitted, sent and fed back makes the same ledger.
 */
export class Ledger<M> extends History<M> implements RequestView {
  readonly hidden: Hidden[] = [];
  maskedCount = 0;
  maskedChars = 0;
  /** The size of the last request that was decided. */
  requestTokens = 0;
  frontier = 0;
  isCold = false;
  /** The first edited segment, if any. */
  firstEdited: number | undefined;
  /** The size in tokens to which a result or a user's words were cut, by their segment. */
  readonly clipSizes = new Map<number, number>();
  /** The last turn with a result that refers to an older one. */
  referred: Turn | undefined;
  /** The author of the last summary that was written here. */
  summaryAuthor: SummaryAuthor | undefined;
  readonly #handles: HandleOptions;
  readonly #drafts: Drafts<M>;
  readonly #changes = new RequestChanges();
  /** The originals of messages whose words were shortened. */
  readonly #whole = new Map<number, Whole<M>>();
  /** The results and calls that were edited since the caller asked for new edits. */
  #edited: (Result | ShortCall)[] = [];
  /** Whether turns or notes were changed since then. */
  #isReshaped = false;

  constructor(format: Format<M>, options: LedgerOptions<M> = {}) {
    super(format, options);
    // Not all options: they hold the view of the first messages.
    const { handleOf, show } = options;
    this.#handles = { handleOf, show };
    this.#drafts = new Drafts(this, this.#handles, (handle) => this.hidden.find((one) => one.handle === handle)?.text);
  }

  /** A ledger of all of these messages. */
  static of<M>(messages: readonly M[], format: Format<M>, options?: LedgerOptions<M>): Ledger<M> {
    const ledger = new Ledger<M>(format, options);
    for (const message of messages) ledger.append(message);
    return ledger;
  }

  get notes(): Notes {
    return this.headNotes.current;
  }
  get omitted(): number {
    return (this.notes.notice?.omitted ?? 0) + (this.notes.summary === undefined ? 0 : 1);
  }
  get tokens(): number {
    return this.totals.tokens;
  }
  get text(): number {
    return this.totals.textBeforeTurn(this.rows.length);
  }
  get carried(): number {
    return this.totals.carriedUpTo(this.turns);
  }
  textOf(turn: number): number {
    return this.totals.textOf(turn);
  }
  textBefore(observation: Observation): number {
    return this.totals.textBeforeSegment(this.rows[observation.turn] as Turn, observation.segment);
  }
  /** The number of messages that are sent. */
  get sentMessages(): number {
    const kept = this.rows.reduce((sum, { size }) => sum + size, 0);
    return kept - this.headNotes.replaced().length + this.headNotes.inserted;
  }

  /** Begins the decisions about a request. Those about the last one are final from here on. */
  beginRequest(): void {
    this.commit();
    if (this.#changes.shape) this.#edited = this.#edited.filter((result) => this.isSent(result));
    const { maskedCount, maskedChars, requestTokens, frontier, firstEdited, summaryAuthor } = this;
    const hidden = this.hidden.length;
    this.#changes.begin({ maskedCount, maskedChars, requestTokens, frontier, hidden, firstEdited, summaryAuthor });
  }

  /** The results that the current request changed, in their earlier state. */
  get changedResults(): readonly ResultChange[] {
    return this.#changes.results;
  }
  /** Whether the current request left out turns, or changed the notes. */
  get leftOutTurns(): boolean {
    return this.#changes.shape !== undefined;
  }
  get hasNewReferences(): boolean {
    return this.referred === this.lastRow;
  }

  /** Marks the current state of results as sent. */
  commit(): void {
    this.#changes.commit();
  }

  endRequest(): void {
    this.requestTokens = this.tokens;
    if (this.#hasChangedReads()) this.coverage?.restart(this.observations);
    for (; this.frontier < this.observations.length; this.frontier++) {
      if (this.maskable(this.observations[this.frontier] as Result)) break;
    }
  }

  /** Undoes everything that was decided since `beginRequest`. */
  undoRequest(): void {
    const { shape, results, calls, counts } = this.#changes;
    const wasChanged = shape !== undefined || this.#hasChangedReads();
    if (shape) this.#undoShape(shape);
    for (const { result, ...earlier } of results.reverse()) {
      this.#change(result, earlier);
      result.sentText = earlier.sentText;
    }
    for (const short of calls) this.#restoreCall(short);
    this.#changes.clear();
    if (wasChanged) this.coverage?.restart(this.observations);
    if (counts) this.#undoCounts(counts);
  }

  #undoShape({ rows, observations, notes, moved }: Shape): void {
    this.setNotes(notes);
    const present = new Set(this.rows);
    for (const row of rows) if (!present.has(row)) this.totals.countTurn(row, 1);
    for (const move of moved.reverse()) moveQuestion(this, move);
    this.#arrange(rows, observations);
  }

  #undoCounts({ hidden, ...counts }: Counts): void {
    Object.assign(this, counts);
    this.hidden.length = hidden;
  }

  #hasChangedReads(): boolean {
    return this.coverage?.isChangedBy(this.#changes.results) ?? false;
  }

  // An arrow function, because a policy may destructure it from the request.
  readonly maskable = (observation: Observation): boolean => {
    const result = this.results[observation.segment];
    return result !== undefined && this.#placeholder(result) !== undefined;
  };

  gain(observation: Observation): number {
    const draft = this.#placeholder(observation as Result);
    return draft ? observation.tokens - draft.tokens : 0;
  }

  #placeholder(result: Result): Draft | undefined {
    return result.masked || !this.isFree(result) ? undefined : this.#drafts.placeholder(result);
  }

  mask(segment: number): boolean {
    const result = this.results[segment];
    const draft = result && this.isSent(result) ? this.#placeholder(result) : undefined;
    if (!result || !draft) return false;
    this.maskedCount += 1;
    this.maskedChars += result.text.length - draft.text.length;
    this.#replace(result, 'mask', draft);
    return true;
  }

  /** Shortens a result that stays visible: when it is first sent, or later. */
  clip(result: Result, write: (handle: string) => string, why: Exclude<Why, 'mask'> = 'clip'): boolean {
    const draft = this.isFree(result) ? this.#drafts.shorten(result, write) : undefined;
    if (!draft) return false;
    if (result.row !== this.lastRow) this.revision += 1;
    this.#replace(result, why, draft);
    return true;
  }

  /** Sends a call with shorter arguments. The original ones are hidden. */
  shortenCall(call: Call, text: string): boolean {
    const { segment, row } = call;
    const { tool, callId, text: original } = this.segments[segment] as Segment;
    const tokens = this.counter(text);
    const isSmaller = text.length < original.length && tokens < (this.segmentTokens[segment] as number);
    if (!isSmaller || this.shortCalls.has(segment) || !this.isFreeCall(call)) return false;
    const short = new ShortCall(call, { text, tokens, handle: this.handleOf(original) });
    this.#changes.calls.push(short);
    this.#edited.push(short);
    this.shortCalls.set(segment, short);
    this.totals.changeCall(short, 1);
    call.args = text;
    const { handle } = short;
    this.hidden.push(Object.freeze({ handle, text: original, why: 'old-text', turn: row.number, tool, callId }));
    this.firstEdited = Math.min(this.firstEdited ?? segment, segment);
    return true;
  }

  #restoreCall(short: ShortCall): void {
    this.totals.changeCall(short, -1);
    this.shortCalls.delete(short.call.segment);
    short.call.args = short.original;
    short.why = undefined;
  }

  /** Undoes the shortening of a result that is sent for the first time: the original is sent. */
  restore(result: Result): void {
    this.#changes.add(result);
    this.#edited.push(result);
    const tokens = this.segmentTokens[result.segment] as number;
    this.#change(result, { text: result.original.text, tokens, masked: false, why: undefined, handle: undefined });
  }

  #replace(result: Result, why: Why, { stored, text, tokens, handle: shown }: Draft): void {
    this.#changes.add(result);
    this.#edited.push(result);
    const handle = shown ?? this.#handles.handleOf?.(stored);
    const { segment, tool, callId, turn } = result;
    this.hidden.push(Object.freeze({ handle: handle ?? '', text: stored, why, turn, tool, callId }));
    if (!isArrival(why)) this.firstEdited = Math.min(this.firstEdited ?? segment, segment);
    const masked = why === 'mask' && this.#drafts.isRecognised(text);
    this.#change(result, { text, tokens, masked, why, handle });
  }

  #change(result: Result, next: ResultState): void {
    this.totals.changeResult(result, next);
    result.change(next);
  }

  /** Shortens a user's own words, from the original. `undoRequest` does not undo this. */
  clipWords(index: number, maxTokens: number, shorten: ShortenWords): void {
    const { message, text, turn } = this.segments[index] as Segment;
    if (!this.clipSizes.has(index)) {
      this.totals.countReplaced('clip', 1);
      this.hidden.push(Object.freeze({ handle: this.handleOf(text), text, why: 'clip', turn }));
    }
    this.clipSizes.set(index, maxTokens);
    const whole = this.#whole.get(message) ?? {
      message: this.messages[message] as M,
      segments: this.segmentsIn(message),
    };
    this.#whole.set(message, whole);
    shorten(this, message, whole);
  }

  /** The handle of a text; empty if no function for handles was given. */
  handleOf(text: string): string {
    return this.#handles.handleOf?.(text) ?? '';
  }

  /** The handle of a text as a note shows it. */
  showHandle(text: string): string {
    return showHandle(handleToShow(text, this.#handles), this.#handles);
  }

  /** The messages of removals as they are sent, for the store; undefined if they cannot be serialised. */
  write(removed: Iterable<Removal>): string | undefined {
    const lines: string[] = [];
    try {
      for (const { row, to } of removed)
        for (const i of row.messages(to)) lines.push(JSON.stringify(this.#sentMessage(i)) ?? 'null');
    } catch {
      return undefined;
    }
    return lines.join('\n');
  }

  #sentMessage(message: number): M {
    let sent = this.messages[message] as M;
    const end = this.startOf(message + 1);
    for (let i = this.startOf(message); i < end; i++) {
      const edited = this.results[i] ?? this.shortCalls.get(i);
      if (edited?.why !== undefined) sent = this.format.edit(sent, this.segments[i] as Segment, edited.text);
    }
    return sent;
  }

  /** Leaves turns out. Their handle recalls `text`. */
  remove(removed: readonly Removal[], why: 'summarize' | 'drop', text: string): void {
    const shape = this.#keepShape();
    const rows = new Set(removed.map(({ row }) => row));
    const [first] = rows;
    const { number: turn, from } = first ?? { number: 0, from: 0 };
    const segment = this.startOf(from);
    this.hidden.push(Object.freeze({ handle: this.handleOf(text), text, why, turn }));
    this.firstEdited = Math.min(this.firstEdited ?? segment, segment);
    for (const { row, to } of removed) this.#keepQuestion(row, to, shape);
    for (const row of rows) this.totals.countTurn(row, -1);
    this.#arrange(
      this.rows.filter((row) => !rows.has(row)),
      this.observations.filter((result) => !rows.has(result.row)),
    );
  }

  #keepQuestion(row: Turn, from: number, { moved }: Shape): void {
    const next = this.rows[row.number + 1];
    if (from === row.to || !next) return;
    moved.push({ row, next, from: row.to });
    moveQuestion(this, { row, next, from });
  }

  #arrange(rows: Turn[], observations: Result[]): void {
    this.rows = rows;
    this.observations = observations;
    for (const [number, row] of rows.entries()) row.number = number;
    this.lastSigned = rows.findLast((row) => row.lastSigned >= 0)?.lastSigned ?? -1;
    this.totals.forgetTextAfter(0);
    this.coverage?.restart(observations);
    this.frontier = 0;
  }

  setNotes(notes: Notes): void {
    this.#keepShape();
    this.totals.changeNotes(this.headNotes.sizeOf(this.notes), this.headNotes.sizeOf(notes));
    this.headNotes.current = notes;
  }

  #keepShape(): Shape {
    this.#isReshaped = true;
    const { rows, observations, notes } = this;
    const summarySlot = this.headNotes.slotOf('summary');
    this.#changes.shape ??= { rows, observations, notes, summarySlot, moved: [] };
    return this.#changes.shape;
  }

  /** The text before the first change of this request; undefined if there is no change. */
  textBeforeChange(): number | undefined {
    const message = this.firstChange();
    if (message === undefined) return undefined;
    // The notice comes after the summary, which may be unchanged.
    const { summary } = this.notes;
    const isKept = summary !== undefined && this.#isSummaryKept;
    return this.totals.textBeforeMessage(message) + (isKept ? this.counter(summary) : 0);
  }

  /** The first message that differs from the previous request, if any. */
  firstChange(): number | undefined {
    const changed = this.#changes.firstMessage(this.lastRow);
    const first = this.#changes.shape ? Math.min(changed, this.#changedSlot(this.#changes.shape)) : changed;
    return first === Number.POSITIVE_INFINITY ? undefined : first;
  }

  /** The size of everything that is sent from this message on. An unchanged summary counts as before it. */
  tokensFrom(message: number): number {
    let tokens = this.totals.from(message);
    if (!this.headNotes.isChanged()) return tokens;
    for (const index of this.headNotes.received) if (index >= message) tokens -= this.totals.ofMessage(index);
    const { summary, notice } = this.notes;
    const isKept = this.#isSummaryKept && message === this.headNotes.slotOf('summary');
    if (message <= this.headNotes.slotOf('summary') && summary !== undefined && !isKept)
      tokens += this.headNotes.sizeOf({ summary }).tokens;
    return message <= this.headNotes.slotOf('notice') && notice
      ? tokens + this.headNotes.sizeOf({ notice }).tokens
      : tokens;
  }

  /** The place of the first note that changed since the previous request. */
  #changedSlot({ notes, summarySlot }: Shape): number {
    const isWritten = this.notes.summary !== undefined && !this.#isSummaryKept;
    const first = this.headNotes.slotOf(isWritten ? 'summary' : 'notice');
    return notes.summary === undefined || this.#isSummaryKept ? first : Math.min(summarySlot, first);
  }

  /** Whether this request kept the summary, though it changed the notice after it. */
  get #isSummaryKept(): boolean {
    const before = this.#changes.shape;
    return before?.notes.summary === this.notes.summary && before?.summarySlot === this.headNotes.slotOf('summary');
  }

  /** All edits that lead from the original history to the sent one. */
  edits(): Edit[] {
    const edits: Edit[] = [];
    for (const result of this.observations) if (result.why !== undefined) edits.push(result.toEdit());
    if (this.shortCalls.size > 0) edits.push(...this.#callEdits());
    edits.push(...this.#listEdits());
    return edits;
  }

  #callEdits(): Edit[] {
    const sent = [...this.shortCalls.values()].filter((short) => this.isSent(short));
    return sent.sort((a, b) => a.call.segment - b.call.segment).map((short) => short.toEdit());
  }

  /** The edits that were added or changed since the last call. */
  takeNewEdits(): Edit[] {
    const changed = this.#edited.filter(({ why, text, reported }) => why !== undefined && text !== reported);
    const sent = changed.filter((result) => this.isSent(result));
    for (const result of sent) result.reported = result.text;
    const edits: Edit[] = sent.map((result) => result.toEdit());
    if (this.#isReshaped) edits.push(...this.#listEdits());
    // Edits of left-out turns are kept, because the request that left them out can be undone.
    this.#edited = changed.filter((result) => !this.isSent(result));
    this.#isReshaped = false;
    return edits;
  }

  #listEdits(): Edit[] {
    return [...toDrops(this.rows, this.headNotes.replaced()), ...this.headNotes.inserts()];
  }

  sent(): M[] {
    return applyEdits(this.format, this.messages, this.segments, this.edits());
  }
}

/** Drops these messages, and all between the turns. */
function toDrops(rows: readonly Turn[], messages: readonly number[]): DropEdit[] {
  const drop = (from: number, to: number): DropEdit => Object.freeze({ kind: 'drop', from, to });
  const drops = messages.map((index) => drop(index, index + 1));
  let next = 0;
  for (const { from, to, gap } of rows) {
    if (next < from) drops.push(drop(next, from));
    if (gap !== NO_GAP) drops.push(drop(gap.from, gap.to));
    next = to;
  }
  return drops;
}

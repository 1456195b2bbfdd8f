import { applyEdits } from '../../formats/lens.ts';
import type { Edit, Format, Segment } from '../../message.ts';
import { type HandleOptions, handleToShow, showHandle } from '../handles.ts';
import type { Notes } from '../notes.ts';
import type { Observation, RequestView } from '../policy.ts';
import type { SummaryAuthor } from '../summary.ts';
import { Drafts } from './drafts.ts';
import { NewEdits, toDrops, toEdit } from './edits.ts';
import type { Hidden } from './hidden.ts';
import { History, type HistoryOptions } from './history.ts';
import { isQuestion, moveQuestion, type Removal } from './questions.ts';
import { type Counts, RequestChanges, type Shape } from './request-changes.ts';
import type { Draft, Result, ResultState, Why } from './result.ts';
import { shortenWords } from './shorten-words.ts';
import { splitTurns } from './split-turns.ts';
import type { Turn } from './turn.ts';

export interface LedgerOptions<M> extends HistoryOptions<M>, HandleOptions {}

/**
 * The history as it is sent, and every decision about it. It knows sizes and laws, not policies. All sizes are those of
 * the history as sent, never as it once was: a history that was fitted, sent and fed back makes the same ledger.
 */
export class Ledger<M> extends History<M> implements RequestView {
  readonly hidden: Hidden[] = [];
  maskedCount = 0;
  maskedChars = 0;
  /** The size of the last request that was decided. */
  requestTokens = 0;
  frontier = 0;
  isCold = false;
  /** The first segment that is not sent as it came, if any. */
  firstEdited: number | undefined;
  /** The size in tokens to which a result or a user's words were cut, by their segment. */
  readonly clipSizes = new Map<number, number>();
  /** The author of the last summary that was written here. */
  summaryAuthor: SummaryAuthor | undefined;
  readonly #handles: HandleOptions;
  readonly #drafts: Drafts<M>;
  readonly #changes = new RequestChanges();
  readonly #newEdits = new NewEdits();
  /** The place of the notice, once turns were taken apart and turn 0 is one of many messages. */
  #splitSlot: number | undefined;

  constructor(format: Format<M>, options: LedgerOptions<M> = {}) {
    super(format, options);
    this.#handles = options;
    this.#drafts = new Drafts(this.contents, this.style, options);
  }

  /** A ledger of all of these messages. */
  static of<M>(messages: readonly M[], format: Format<M>, options?: LedgerOptions<M>): Ledger<M> {
    const ledger = new Ledger<M>(format, options);
    for (const message of messages) ledger.append(message);
    return ledger;
  }

  /** Begins the decisions about a request. Those about the last one are final from here on. */
  beginRequest(): void {
    this.commit();
    if (this.#changes.shape) this.#newEdits.keepSent(this.sentTurns);
    const { maskedCount, maskedChars, requestTokens, frontier, firstEdited, summaryAuthor } = this;
    const hidden = this.hidden.length;
    this.#changes.begin({ maskedCount, maskedChars, requestTokens, frontier, hidden, firstEdited, summaryAuthor });
  }

  /** The results as they are now count as sent. */
  commit(): void {
    this.#changes.commit();
  }

  endRequest(): void {
    this.requestTokens = this.tokens;
    if (this.#hasCutReads()) this.coverage?.restart(this.observations);
    const { observations } = this.sentTurns;
    for (; this.frontier < observations.length; this.frontier++) {
      if (this.maskable(observations[this.frontier] as Result)) break;
    }
  }

  /** Takes back all that was decided since `beginRequest`. */
  undoRequest(): void {
    const { shape, results, counts } = this.#changes;
    const wasCut = shape !== undefined || this.#hasCutReads();
    if (shape) this.#undoShape(shape);
    for (const { result, ...earlier } of results.reverse()) {
      this.#change(result, earlier);
      result.sentText = earlier.sentText;
    }
    this.#changes.clear();
    if (wasCut) this.coverage?.restart(this.observations);
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

  #hasCutReads(): boolean {
    return this.coverage?.isCutBy(this.#changes.results) ?? false;
  }

  // An arrow, since a policy may take it out of the request that it is given.
  readonly maskable = (observation: Observation): boolean => {
    const result = this.contents.results[observation.segment];
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
    const result = this.contents.results[segment];
    const draft = result && this.sentTurns.isSent(result) ? this.#placeholder(result) : undefined;
    if (!result || !draft) return false;
    this.maskedCount += 1;
    this.maskedChars += result.text.length - draft.text.length;
    this.#replace(result, 'mask', draft);
    return true;
  }

  /** Shortens a result that stays visible: when it arrives (`truncate`), or later. */
  clip(result: Result, write: (handle: string) => string, why: 'clip' | 'truncate' = 'clip'): boolean {
    const draft = this.isFree(result) ? this.#drafts.shorten(result, write) : undefined;
    if (!draft) return false;
    if (result.row !== this.lastRow) this.revision += 1;
    this.#replace(result, why, draft);
    return true;
  }

  #replace(result: Result, why: Why, { stored, text, tokens, handle: shown }: Draft): void {
    this.#changes.add(result);
    this.#newEdits.add(result);
    const handle = shown ?? this.#handles.handleOf?.(stored);
    const { segment, tool, callId, turn } = result;
    this.#hide({ handle: handle ?? '', text: stored, why, turn, tool, callId }, segment);
    const masked = why === 'mask' && this.#drafts.isRecognised(text);
    this.#change(result, { text, tokens, masked, why, handle });
  }

  #change(result: Result, next: ResultState): void {
    this.totals.changeResult(result, next);
    result.change(next);
  }

  #hide(hidden: Hidden, segment: number): void {
    this.hidden.push(Object.freeze(hidden));
    this.firstEdited = Math.min(this.firstEdited ?? segment, segment);
  }

  /** Shortens a user's own words, from how they came. Not taken back by `undoRequest`. */
  clipWords(index: number, maxTokens: number): void {
    const { message, text, turn } = this.segments[index] as Segment;
    if (!this.clipSizes.has(index)) {
      this.totals.countReplaced('clip', 1);
      this.hidden.push(Object.freeze({ handle: this.handleOf(text), text, why: 'clip', turn }));
    }
    this.clipSizes.set(index, maxTokens);
    shortenWords(this, message, { sizes: this.clipSizes, showHandle: (whole) => this.showHandle(whole) });
  }

  /** The name of a text; empty where no way to name texts was given. */
  handleOf(text: string): string {
    return this.#handles.handleOf?.(text) ?? '';
  }

  /** The handle of a text as a note shows it. */
  showHandle(text: string): string {
    return showHandle(handleToShow(text, this.#handles), this.#handles);
  }

  /** Leaves turns out; their handle leads to `text`. */
  remove(removed: readonly Removal[], why: 'summarize' | 'drop', text: string): void {
    const shape = this.#keepShape();
    const rows = new Set(removed.map(({ row }) => row));
    const [first] = rows;
    const { number: turn, from } = first ?? { number: 0, from: 0 };
    this.#hide({ handle: this.handleOf(text), text, why, turn }, this.contents.startOf(from));
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
    this.sentTurns.arrange(rows, observations);
    this.textSums.forgetAfter(0);
    this.coverage?.restart(observations);
    this.frontier = 0;
  }

  /** Takes all turns apart into their messages, so that one can go without the others. Not taken back by `undoRequest`. */
  splitTurns(): void {
    this.isSplit = true;
    const { taskMessage } = this.sentTurns;
    const isTaskFirst = taskMessage < (this.rows[0]?.to ?? 0);
    this.#splitSlot ??= isTaskFirst ? taskMessage + 1 : this.headNotes.leadingSystem;
    splitTurns(this);
  }

  setNotes(notes: Notes): void {
    this.#keepShape();
    this.totals.resizeNotes(this.headNotes.sizeOf(this.notes), this.headNotes.sizeOf(notes));
    this.headNotes.current = notes;
  }

  #keepShape(): Shape {
    this.#newEdits.isReshaped = true;
    const { rows, observations } = this.sentTurns;
    const summarySlot = this.#slotOf('summary');
    this.#changes.shape ??= { rows, observations, notes: this.notes, summarySlot, moved: [] };
    return this.#changes.shape;
  }

  /** How much text is before the first change of this request; undefined if there is none. */
  textBeforeChange(): number | undefined {
    const message = this.firstChange();
    if (message === undefined) return undefined;
    // The notice comes behind the summary, which may have stayed.
    const { summary } = this.notes;
    const isKept = summary !== undefined && this.#isSummaryKept;
    return this.textSums.beforeMessage(message) + (isKept ? this.counter(summary) : 0);
  }

  /** The first message that this request carries differently from the one before, if any. */
  firstChange(): number | undefined {
    const changed = this.#changes.firstMessage(this.lastRow);
    const first = this.#changes.shape ? Math.min(changed, this.#changedSlot(this.#changes.shape)) : changed;
    return first === Number.POSITIVE_INFINITY ? undefined : first;
  }

  /** The size of what is sent from this message on. A summary that did not change counts as before it. */
  tokensFrom(message: number): number {
    let tokens = this.totals.tokensFrom(message, this.rows);
    if (!this.headNotes.isChanged()) return tokens;
    for (const index of this.headNotes.received) if (index >= message) tokens -= this.totals.ofMessage(index);
    const { summary, notice } = this.notes;
    const isKept = this.#isSummaryKept && message === this.#slotOf('summary');
    if (message <= this.#slotOf('summary') && summary !== undefined && !isKept)
      tokens += this.headNotes.sizeOf({ summary }).tokens;
    return message <= this.#slotOf('notice') && notice ? tokens + this.headNotes.sizeOf({ notice }).tokens : tokens;
  }

  /**
   * A notice is where the gap is, behind the task. A summary follows the system prompt, where its role is that of one; but
   * where a question was kept with its answer, the gap must show, or it would read like a second task.
   */
  #slotOf(note: keyof Notes): number {
    const { leadingSystem } = this.headNotes;
    const isPrompt = note === 'summary' && this.format.noteRole === 'system' && leadingSystem > 0;
    const first = this.rows[1];
    const isMarked = first !== undefined && isQuestion(this.contents, first.from);
    return isPrompt && !isMarked ? leadingSystem : (this.#splitSlot ?? this.rows[0]?.to ?? 0);
  }

  /** The place of the first note that changed since the request before. */
  #changedSlot({ summarySlot }: Shape): number {
    return this.#isSummaryKept ? this.#slotOf('notice') : Math.min(summarySlot, this.#slotOf('summary'));
  }

  /** Whether this request left the summary as it was, though it changed the notice behind it. */
  get #isSummaryKept(): boolean {
    const before = this.#changes.shape;
    return before?.notes.summary === this.notes.summary && before?.summarySlot === this.#slotOf('summary');
  }

  /** All edits that lead from the history as it came to the one that is sent. */
  edits(): Edit[] {
    const edits: Edit[] = [];
    for (const result of this.observations) if (result.why !== undefined) edits.push(toEdit(result));
    edits.push(...this.#listEdits());
    return edits;
  }

  /** The edits that were added or changed since this was asked last. */
  takeNewEdits(): Edit[] {
    const { isReshaped } = this.#newEdits;
    const edits = this.#newEdits.take(this.sentTurns);
    return isReshaped ? [...edits, ...this.#listEdits()] : edits;
  }

  #listEdits(): Edit[] {
    return [...toDrops(this.rows, this.headNotes.replaced()), ...this.headNotes.inserts((note) => this.#slotOf(note))];
  }

  sent(): M[] {
    return applyEdits(this.format, this.messages, this.segments, this.edits());
  }
}

import { applyEdits } from '../../formats/lens.ts';
import type { Edit, Format, Segment } from '../../message.ts';
import { countTokens } from '../../tokens/count-tokens.ts';
import type { Counter } from '../../tokens/counter.ts';
import { type HandleOptions, handleToShow, showHandle } from '../handles.ts';
import type { Notes } from '../notes.ts';
import { houseStyle, type PlaceholderStyle } from '../placeholder.ts';
import type { Observation, RequestView } from '../policy.ts';
import type { SummaryAuthor } from '../summary.ts';
import { Contents } from './contents.ts';
import { Drafts } from './drafts.ts';
import { NewEdits, toDrops, toEdit } from './edits.ts';
import { HeadNotes } from './head-notes.ts';
import type { Hidden } from './hidden.ts';
import { Questions, type Removal } from './questions.ts';
import { ReadCoverage, type ReadToolUse } from './read-coverage.ts';
import { type Counts, RequestChanges, type Shape } from './request-changes.ts';
import { type Draft, Result, type ResultState, type Why } from './result.ts';
import { ShortenedWords } from './shortened-words.ts';
import { type ByKind, MESSAGE_TOKENS } from './sizes.ts';
import { splitTurns } from './split-turns.ts';
import { TextSums } from './text-sums.ts';
import { Totals } from './totals.ts';
import type { Turn } from './turn.ts';
import { Turns } from './turns.ts';

export interface LedgerOptions extends HandleOptions {
  readonly style?: PlaceholderStyle | undefined;
  readonly counter?: Counter | undefined;
  /** Edit nothing before the last block that is signed over everything before it. */
  readonly keepSigned?: boolean | undefined;
  /** The size of system prompt and tools, where the provider takes them apart from the messages. */
  readonly overheadTokens?: number | undefined;
  /** Recognises calls, where the policy asks what kind of tool a result came from. */
  readonly toolUse?: ReadToolUse | undefined;
  /** Results are cut to this size when they arrive. */
  readonly maxResultTokens?: number | undefined;
}

/**
 * The history as it is sent: every message as it came, and every decision about it. It knows sizes and laws, not
 * policies. All sizes are those of the history as sent, never as it once was: a history that was fitted, sent and fed
 * back makes the same ledger.
 */
export class Ledger<M> implements RequestView {
  readonly format: Format<M>;
  readonly counter: Counter;
  readonly overheadTokens: number;
  readonly messages: readonly M[];
  readonly segments: readonly Segment[];
  readonly before: Readonly<ByKind>;
  readonly after: Readonly<ByKind>;
  /** How many of the texts that are sent are replaced, and why. */
  readonly replaced: Readonly<Record<Why, number>>;
  readonly hidden: Hidden[] = [];
  revision = 0;
  maskedCount = 0;
  maskedChars = 0;
  /** The size of the last request that was decided. */
  requestTokens = 0;
  frontier = 0;
  isCold = false;
  /** The size in tokens to which a result or a user's words were cut, by their segment. */
  readonly clipSizes = new Map<number, number>();
  /** Turns were taken apart into their messages. */
  isSplit = false;
  /** Who wrote the last summary, where one was written here. */
  summaryAuthor: SummaryAuthor | undefined;

  readonly #options: LedgerOptions;
  readonly #contents: Contents<M>;
  readonly #turns = new Turns();
  readonly #notes: HeadNotes;
  readonly #text: TextSums;
  readonly #totals: Totals;
  readonly #questions: Questions;
  readonly #words: ShortenedWords<M>;
  readonly #drafts: Drafts<M>;
  /** Only where the policy asks for the kinds of tools. */
  readonly #coverage: ReadCoverage | undefined;
  readonly #changes = new RequestChanges();
  readonly #newEdits = new NewEdits();
  #firstEdited: number | undefined;

  constructor(format: Format<M>, options: LedgerOptions = {}) {
    const { counter = countTokens, overheadTokens = 0, style = houseStyle, toolUse, maxResultTokens } = options;
    const { handleOf, show } = options;
    this.format = format;
    this.counter = counter;
    this.overheadTokens = overheadTokens;
    this.#options = options;
    const contents = new Contents(format);
    const turns = this.#turns;
    const notes = new HeadNotes(contents, counter);
    const text = new TextSums({ contents, turns, notes }, counter, overheadTokens);
    const totals = new Totals({ contents, text, counter, overheadTokens });
    this.messages = contents.messages;
    this.segments = contents.segments;
    this.before = totals.before;
    this.after = totals.after;
    this.replaced = totals.replaced;
    this.#contents = contents;
    this.#notes = notes;
    this.#text = text;
    this.#totals = totals;
    this.#questions = new Questions({ contents, turns, totals, text });
    this.#words = new ShortenedWords({ contents, turns, totals }, counter, { handleOf, show });
    this.#drafts = new Drafts(contents, { counter, style, handleOf, show });
    this.#coverage = toolUse && new ReadCoverage(toolUse, maxResultTokens);
  }

  /** A ledger of all of these messages. */
  static of<M>(messages: readonly M[], format: Format<M>, options?: LedgerOptions): Ledger<M> {
    const ledger = new Ledger<M>(format, options);
    for (const message of messages) ledger.append(message);
    return ledger;
  }

  get rows(): readonly Turn[] {
    return this.#turns.rows;
  }
  get lastRow(): Turn {
    return this.#turns.last;
  }
  get turns(): number {
    return this.#turns.rows.length - 1;
  }
  get observations(): readonly Result[] {
    return this.#turns.observations;
  }
  get task(): string {
    return this.#turns.task;
  }
  get notes(): Notes {
    return this.#notes.current;
  }
  get lastSigned(): number {
    return this.#turns.lastSigned;
  }
  get tokens(): number {
    return this.#totals.tokens;
  }
  get tokensBefore(): number {
    return this.#totals.tokensBefore;
  }
  get chars(): number {
    return this.#totals.chars;
  }
  get removedMessages(): number {
    return this.#totals.removedMessages;
  }
  /** How many messages are sent. */
  get sentMessages(): number {
    const kept = this.rows.reduce((sum, { from, to }) => sum + to - from, 0);
    return kept - this.#notes.replaced().length + this.#notes.inserted;
  }
  get omitted(): number {
    return (this.notes.notice?.omitted ?? 0) + (this.notes.summary === undefined ? 0 : 1);
  }
  /** How many notes the plan adds. */
  get insertedNotes(): number {
    return this.#notes.inserted;
  }

  /** Takes in the next message. `beforeTaking` is told whether it begins a reply, before anything changes. */
  append(message: M, beforeTaking?: (beginsReply: boolean) => void): void {
    const beginsReply = this.#contents.read(message);
    beforeTaking?.(beginsReply);
    const index = this.#contents.messages.push(message) - 1;
    const row = beginsReply ? this.#beginTurn(index) : this.#turns.last;
    row.to = index + 1;
    this.#totals.addMessage(index, row);
    const { segments } = this.#contents;
    for (let i = this.#contents.startOf(index); i < segments.length; i++) this.#takeSegment(i, row);
    if (row.number === 0) this.#notes.take(index, this.#turns.task);
  }

  #beginTurn(message: number): Turn {
    const head = this.#turns.last;
    const row = this.#turns.begin(message);
    // A notice of ours came back: the question behind it belongs to its answer, as it did when the notice was written.
    const note = this.#notes.received.at(-1) ?? -1;
    if (row.number === 1 && this.#turns.taskMessage < note)
      this.#questions.move(head, row, Math.max(note + 1, this.#questions.startIn(head)));
    return row;
  }

  #takeSegment(index: number, row: Turn): void {
    const segment = this.#contents.segments[index] as Segment;
    const tokens = this.#totals.addSegment(index, segment, row);
    if (segment.kind === 'observation') this.#takeResult(index, segment, row, tokens);
    else if (segment.kind === 'action') this.#turns.addCall(segment, row);
    else if (segment.kind === 'user') this.#takeUser(segment, row);
    if (segment.signed) this.#takeSigned(index, row);
  }

  #takeResult(index: number, segment: Segment, row: Turn, tokens: number): void {
    const call = this.#turns.answer(segment, row);
    const result = new Result(index, segment, row, call, tokens, this.#drafts.isPlaceholder(segment.text));
    this.#contents.results[index] = result;
    this.#turns.observations.push(result);
    this.#coverage?.add(result);
  }

  #takeUser(segment: Segment, row: Turn): void {
    const isNote = row.number === 0 && this.#notes.read('user', segment.text, this.#turns.task) !== undefined;
    if (!isNote) this.#turns.addUser(segment, row);
  }

  #takeSigned(index: number, row: Turn): void {
    this.#turns.addSigned(index, row);
    if (this.#options.keepSigned) this.revision += 1;
  }

  /** Begins the decisions about a request. Those about the last one are final from here on. */
  beginRequest(): void {
    this.commit();
    if (this.#changes.shape) this.#newEdits.keepSent(this.#turns);
    const { maskedCount, maskedChars, requestTokens, frontier, summaryAuthor } = this;
    const [hidden, firstEdited] = [this.hidden.length, this.#firstEdited];
    this.#changes.begin({ maskedCount, maskedChars, requestTokens, frontier, hidden, firstEdited, summaryAuthor });
  }

  /** The results as they are now count as sent. */
  commit(): void {
    this.#changes.commit();
  }

  endRequest(): void {
    this.requestTokens = this.tokens;
    if (this.#hasCutReads()) this.#coverage?.restart(this.observations);
    const { observations } = this.#turns;
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
    if (wasCut) this.#coverage?.restart(this.observations);
    if (counts) this.#undoCounts(counts);
  }

  #undoShape({ rows, observations, notes, moved }: Shape): void {
    this.setNotes(notes);
    const present = new Set(this.rows);
    for (const row of rows) if (!present.has(row)) this.#totals.countTurn(row, 1);
    for (const { row, next, from } of moved.reverse()) this.#questions.move(row, next, from);
    this.#arrange(rows, observations);
  }

  #undoCounts({ hidden, firstEdited, ...counts }: Counts): void {
    Object.assign(this, counts);
    this.hidden.length = hidden;
    this.#firstEdited = firstEdited;
  }

  #hasCutReads(): boolean {
    return this.#coverage?.isCutBy(this.#changes.results) ?? false;
  }

  /** Whether the laws let this result be edited at all. */
  isFree({ segment, original: { callId, bound } }: Result): boolean {
    const isSigned = this.#options.keepSigned && segment < this.lastSigned;
    return callId !== undefined && !bound && !isSigned;
  }

  /** Whether turns may be left out at all: a signature covers the turns before it. */
  get mayDrop(): boolean {
    return !(this.#options.keepSigned && this.lastSigned >= 0);
  }

  resultAt(segment: number): Result | undefined {
    return this.#contents.results[segment];
  }

  // An arrow, since a policy may take it out of the request that it is given.
  readonly maskable = (observation: Observation): boolean => {
    const result = this.#contents.results[observation.segment];
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
    const result = this.#contents.results[segment];
    const draft = result && this.#turns.isSent(result) ? this.#placeholder(result) : undefined;
    if (!result || !draft) return false;
    this.maskedCount += 1;
    this.maskedChars += result.text.length - draft.text.length;
    this.#replace(result, 'mask', draft);
    return true;
  }

  /** Shortens a result that stays visible. */
  clip(result: Result, write: (handle: string) => string): boolean {
    const draft = result.masked || !this.isFree(result) ? undefined : this.#drafts.shorten(result, write);
    if (!draft) return false;
    if (result.row !== this.lastRow) this.revision += 1;
    this.#replace(result, 'clip', draft);
    return true;
  }

  #replace(result: Result, why: Why, { stored, text, tokens, handle: shown }: Draft): void {
    this.#changes.add(result);
    this.#newEdits.add(result);
    const handle = shown ?? this.#options.handleOf?.(stored);
    const { segment, tool, callId, turn } = result;
    this.#hide({ handle: handle ?? '', text: stored, why, turn, tool, callId }, segment);
    const masked = why === 'mask' && this.#drafts.isRecognised(text);
    this.#change(result, { text, tokens, masked, why, handle });
  }

  #change(result: Result, next: ResultState): void {
    this.#totals.changeResult(result, next);
    result.change(next);
  }

  #hide(hidden: Hidden, segment: number): void {
    this.hidden.push(Object.freeze(hidden));
    this.#firstEdited = Math.min(this.#firstEdited ?? segment, segment);
  }

  /** Shortens a user's own words, from how they came. Not taken back by `undoRequest`. */
  clipWords(index: number, maxTokens: number): void {
    const { message, text, turn } = this.segments[index] as Segment;
    if (!this.clipSizes.has(index)) {
      this.#totals.countReplaced('clip', 1);
      this.hidden.push(Object.freeze({ handle: this.handleOf(text), text, why: 'clip', turn }));
    }
    this.clipSizes.set(index, maxTokens);
    this.#words.shorten(message, this.clipSizes);
  }

  /** The name of a text; empty where no way to name texts was given. */
  handleOf(text: string): string {
    return this.#options.handleOf?.(text) ?? '';
  }

  /** The handle of a text as a note shows it. */
  showHandle(text: string): string {
    return showHandle(handleToShow(text, this.#options), this.#options);
  }

  /** The messages that are left out with these turns. */
  removalOf(rows: Iterable<Turn>): Removal[] {
    return this.#questions.removalOf(rows);
  }

  removal(row: Turn, options: { readonly keepsQuestion: boolean }): Removal {
    return this.#questions.removal(row, options);
  }

  /** Leaves turns out; their handle leads to `text`. */
  remove(removed: readonly Removal[], why: 'summarize' | 'drop', text: string): void {
    const shape = this.#keepShape();
    const rows = new Set(removed.map(({ row }) => row));
    const [first] = rows;
    const { number: turn, from } = first ?? { number: 0, from: 0 };
    this.#hide({ handle: this.handleOf(text), text, why, turn }, this.#contents.startOf(from));
    for (const { row, to } of removed) this.#keepQuestion(row, to, shape);
    for (const row of rows) this.#totals.countTurn(row, -1);
    this.#arrange(
      this.rows.filter((row) => !rows.has(row)),
      this.observations.filter((result) => !rows.has(result.row)),
    );
  }

  #keepQuestion(row: Turn, from: number, { moved }: Shape): void {
    const next = this.rows[row.number + 1];
    if (from === row.to || !next) return;
    moved.push({ row, next, from: row.to });
    this.#questions.move(row, next, from);
  }

  #arrange(rows: Turn[], observations: Result[]): void {
    this.#turns.arrange(rows, observations);
    this.#text.forgetAfter(0);
    this.#coverage?.restart(observations);
    this.frontier = 0;
  }

  /** Takes all turns apart into their messages, so that one can go without the others. Not taken back by `undoRequest`. */
  splitTurns(): void {
    this.isSplit = true;
    splitTurns({ contents: this.#contents, turns: this.#turns, totals: this.#totals });
  }

  setNotes(notes: Notes): void {
    this.#keepShape();
    this.#totals.resizeNotes(this.#notes.sizeOf(this.notes), this.#notes.sizeOf(notes));
    this.#notes.current = notes;
  }

  #keepShape(): Shape {
    this.#newEdits.isReshaped = true;
    const { rows, observations } = this.#turns;
    this.#changes.shape ??= { rows, observations, notes: this.notes, moved: [] };
    return this.#changes.shape;
  }

  get text(): number {
    return this.#text.beforeTurn(this.rows.length);
  }

  textOf(turn: number): number {
    return this.#text.ofTurn(turn);
  }

  textBefore(observation: Observation): number {
    return this.#text.beforeSegment(this.rows[observation.turn] as Turn, observation.segment);
  }

  /** How much text is before the first change of this request; undefined if there is none. */
  textBeforeChange(): number | undefined {
    const message = this.firstChange();
    if (message === undefined) return undefined;
    const summary = this.#keptSummary();
    return this.#text.beforeMessage(message) + (summary === undefined ? 0 : this.counter(summary));
  }

  /** The first message that this request carries differently from the one before, if any. */
  firstChange(): number | undefined {
    const changed = this.#changes.firstMessage(this.lastRow);
    const first = this.#changes.shape ? Math.min(changed, this.#noteSlot) : changed;
    return first === Number.POSITIVE_INFINITY ? undefined : first;
  }

  /** The first segment that does not go out as it came, if any. */
  firstEdited(): number | undefined {
    return this.#firstEdited;
  }

  /** The size of what is sent from this message on. A summary that did not change counts as before it. */
  tokensFrom(message: number): number {
    let tokens = this.#totals.tokensFrom(message, this.rows);
    if (!this.#notes.isChanged()) return tokens;
    for (const index of this.#notes.received) if (index >= message) tokens -= this.#totals.ofMessage(index);
    if (message > this.#noteSlot) return tokens;
    const summary = this.#keptSummary();
    const kept = summary === undefined ? 0 : MESSAGE_TOKENS + this.counter(summary);
    return tokens + this.#notes.sizeOf(this.notes).tokens - kept;
  }

  /** A summary that this request left as it was, though it changed the notice behind it. */
  #keptSummary(): string | undefined {
    const summary = this.#changes.shape?.notes.summary;
    return summary === this.notes.summary ? summary : undefined;
  }

  /** Notes go where messages are left out: behind the task. */
  get #noteSlot(): number {
    return this.rows[0]?.to ?? 0;
  }

  segmentsOf(row: Turn): Iterable<[Segment, number]> {
    return this.#contents.segmentsOf(row);
  }

  /** The messages of a removal as they were sent, for the store; undefined if they cannot be written down. */
  write(removed: Iterable<Removal>): string | undefined {
    const lines: string[] = [];
    try {
      for (const { row, to } of removed)
        for (let i = row.from; i < to; i++) lines.push(JSON.stringify(this.#contents.sent(i)) ?? 'null');
    } catch {
      return undefined;
    }
    return lines.join('\n');
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
    const edits = this.#newEdits.take(this.#turns);
    return isReshaped ? [...edits, ...this.#listEdits()] : edits;
  }

  #listEdits(): Edit[] {
    return [...toDrops(this.rows, this.#notes.replaced()), ...this.#notes.inserts(this.#noteSlot)];
  }

  sent(): M[] {
    return applyEdits(this.format, this.messages, this.segments, this.edits());
  }
}

import { OpenCalls } from '../formats/calls.ts';
import { applyEdits } from '../formats/lens.ts';
import { isNote, isPlaceholder, MAX_PLACEHOLDER } from '../laws/idempotent.ts';
import type { DropEdit, Edit, Format, InsertEdit, Kind, ReplaceEdit, Segment, Viewer } from '../message.ts';
import { countLines } from '../text.ts';
import { countTokens } from '../tokens/count-tokens.ts';
import type { Counter } from '../tokens/counter.ts';
import { type CutTextOptions, cutText } from './cut-text.ts';
import { type HandleOptions, recalledText, showHandle } from './handles.ts';
import { NO_NOTES, type Notes, noteTexts, readNote } from './notes.ts';
import { type HiddenResult, houseStyle, type PlaceholderStyle, writePlaceholder } from './placeholder.ts';
import type { Observation, RequestView } from './policy.ts';
import {
  type ByKind,
  type Call,
  contentTokens,
  type Draft,
  emptySizes,
  isArguments,
  MESSAGE_TOKENS,
  nameTokens,
  Result,
  Turn,
  Use,
  type Why,
} from './rows.ts';
import { readSummary, type SummaryAuthor } from './summary.ts';
import { covers, type LineRange, type ToolUse } from './tool-kind.ts';
import { isTruncated, truncateResult } from './truncate-result.ts';

/** Something that was taken out of the history. */
export interface Hidden {
  /** Empty where no way to name texts was given. */
  readonly handle: string;
  readonly text: string;
  readonly why: Why | 'summarize' | 'drop';
  readonly turn: number;
  readonly tool?: string | undefined;
  readonly callId?: string | undefined;
}

export interface LedgerOptions extends HandleOptions {
  readonly style?: PlaceholderStyle | undefined;
  readonly counter?: Counter | undefined;
  /** Edit nothing before the last block that is signed over everything before it. */
  readonly keepSigned?: boolean | undefined;
  /** The size of system prompt and tools, where the provider takes them apart from the messages. */
  readonly overheadTokens?: number | undefined;
  /** Recognises calls, where the policy asks what kind of tool a result came from. */
  readonly toolUse?: ((tool: string | undefined, args: string) => ToolUse) | undefined;
  /** Results are cut to this size when they arrive. */
  readonly maxResultTokens?: number | undefined;
}

type Change = Pick<Result, 'text' | 'tokens' | 'masked' | 'why' | 'handle' | 'sentText'> & {
  readonly result: Result;
};

/** The turns and notes that go out. */
interface Shape {
  readonly rows: Turn[];
  readonly observations: Result[];
  readonly notes: Notes;
  /** Questions that moved from a turn to the next: where each began before. */
  readonly moved: { readonly row: Turn; readonly next: Turn; readonly from: number }[];
}

/** The part of a turn that can be left out: all of it, or all but the question that the next reply answers. */
export interface Removal {
  readonly row: Turn;
  /** The first message that stays. */
  readonly to: number;
  readonly messages: number;
  readonly tokens: number;
  readonly chars: number;
}

/** What is counted up while deciding, and counted back when a decision is taken back. */
interface Counts {
  readonly maskedCount: number;
  readonly maskedChars: number;
  readonly requestTokens: number;
  readonly frontier: number;
  readonly hidden: number;
  readonly firstEdited: number | undefined;
  readonly summaryAuthor: SummaryAuthor | undefined;
}

/**
 * The history as it goes out: every message as it came, and what was decided about it.
 * It knows sizes and laws, not policies. All it counts is counted as sent, never as it once was:
 * so a history that was fitted, sent and fed back to us stands here just as it would have stood.
 */
export class Ledger<M> implements RequestView {
  readonly format: Format<M>;
  readonly counter: Counter;
  readonly messages: M[] = [];
  readonly segments: Segment[] = [];
  readonly before: ByKind = emptySizes();
  readonly after: ByKind = emptySizes();
  readonly hidden: Hidden[] = [];
  rows: Turn[] = [new Turn(0, 0)];
  observations: Result[] = [];
  notes: Notes = NO_NOTES;
  readonly overheadTokens: number;
  /** The whole request. */
  tokens: number;
  tokensBefore: number;
  /** Characters of text, the arguments of calls apart. */
  chars = 0;
  revision = 0;
  task = '';
  removedMessages = 0;
  maskedCount = 0;
  maskedChars = 0;
  /** How many of the results that are sent are replaced, and why. */
  readonly replaced: Record<Why, number> = { mask: 0, truncate: 0, clip: 0 };
  /** The size of the last request that was decided. */
  requestTokens = 0;
  frontier = 0;
  /** The last segment that is signed over everything before it. */
  lastSigned = -1;
  isCold = false;
  /** The size in tokens to which a result or a user's words were cut, by their segment. */
  readonly clipSizes = new Map<number, number>();
  /** Turns were taken apart into their messages. */
  isSplit = false;
  /** Who wrote the last summary, where one was written here. */
  summaryAuthor: SummaryAuthor | undefined;

  readonly #options: LedgerOptions;
  readonly #viewer: Viewer<M>;
  readonly #style: PlaceholderStyle;
  readonly #firstSegment: number[] = [];
  readonly #messageTokens: number[] = [];
  /** As they came, names and ids apart. */
  readonly #segmentTokens: number[] = [];
  readonly #results: (Result | undefined)[] = [];
  readonly #openCalls = new OpenCalls<Call>();
  readonly #noteMessages: number[] = [];
  /** The sizes of the names of tools. */
  readonly #tools = new Map<string, number>();
  /** The newest reads of each file, none of which covers another. */
  readonly #reads = new Map<string, Result[]>();
  /** The text before each turn, as far as it is known. */
  readonly #textBefore: number[] = [0];
  #changes: Change[] = [];
  /** Turns and notes before this request, once it changed them. */
  #shape: Shape | undefined;
  #counts: Counts | undefined;
  #firstEdited: number | undefined;
  /** Messages with words that were shortened, as they came. */
  readonly #whole = new Map<number, { readonly message: M; readonly segments: readonly Segment[] }>();
  /** What was edited since the new edits were asked for last. */
  #touched: Result[] = [];
  #isReshaped = false;
  #hasSigned = false;
  /** The first user message, and its turn. */
  #taskMessage = Number.POSITIVE_INFINITY;
  #taskRow: Turn | undefined;

  constructor(format: Format<M>, options: LedgerOptions = {}) {
    this.format = format;
    this.#options = options;
    this.#viewer = format.viewer();
    this.counter = options.counter ?? countTokens;
    this.#style = options.style ?? houseStyle;
    this.overheadTokens = options.overheadTokens ?? 0;
    this.tokens = this.overheadTokens;
    this.tokensBefore = this.tokens;
  }

  get turns(): number {
    return this.rows.length - 1;
  }
  get lastRow(): Turn {
    return this.rows[this.rows.length - 1] as Turn;
  }
  /** How many messages go out. */
  get sentMessages(): number {
    const kept = this.rows.reduce((sum, { from, to }) => sum + to - from, 0);
    return this.#notesChanged() ? kept - this.#noteMessages.length + noteTexts(this.notes).length : kept;
  }
  get omitted(): number {
    return (this.notes.notice?.omitted ?? 0) + (this.notes.summary === undefined ? 0 : 1);
  }

  /** A ledger of all of these messages. */
  static of<M>(messages: readonly M[], format: Format<M>, options?: LedgerOptions): Ledger<M> {
    const ledger = new Ledger<M>(format, options);
    for (const message of messages) ledger.append(message);
    return ledger;
  }

  // Taking messages in.

  /** Takes in the next message. `beforeTaking` is told whether it begins a reply, before anything changes. */
  append(message: M, beforeTaking?: (beginsReply: boolean) => void): void {
    const { turn } = this.#viewer;
    this.#firstSegment.push(this.segments.length);
    this.#viewer.add(message, this.segments);
    const beginsReply = this.#viewer.turn > turn;
    beforeTaking?.(beginsReply);
    const index = this.messages.push(message) - 1;
    if (beginsReply) this.#beginTurn(index);
    const row = this.lastRow;
    this.#forgetTextAfter(row.number);
    row.to = index + 1;
    this.#messageTokens.push(0);
    this.#resize(index, row, MESSAGE_TOKENS, 0);
    this.tokensBefore += MESSAGE_TOKENS;
    for (let i = this.#firstSegment[index] as number; i < this.segments.length; i++) this.#takeSegment(i, row);
    if (row.number === 0) this.#takeHead(index);
  }

  #beginTurn(index: number): void {
    const row = new Turn(this.rows.length, index);
    row.to = index;
    const head = this.lastRow;
    this.rows.push(row);
    // A notice of ours came back to us: the question behind it belongs to its answer, as when it was cut.
    const note = this.#noteMessages.at(-1) ?? -1;
    if (row.number === 1 && this.#taskMessage < note)
      this.#moveQuestion(head, row, Math.max(note + 1, this.#questionOf(head)));
  }

  #takeSegment(index: number, row: Turn): void {
    const segment = this.segments[index] as Segment;
    const content = contentTokens(segment, this.counter(segment.text));
    this.#segmentTokens[index] = content;
    const tokens = content + nameTokens(segment);
    const { length } = segment.text;
    const before = this.before[segment.kind];
    const after = this.after[segment.kind];
    before.tokens += tokens;
    before.chars += length;
    after.tokens += tokens;
    after.chars += length;
    this.tokensBefore += tokens;
    row.text += content;
    // The name of a tool is part of what the model said.
    if (segment.kind === 'action') row.text += this.#toolTokens(segment.tool);
    this.#resize(segment.message, row, tokens, isArguments(segment) ? 0 : length);
    if (segment.kind === 'observation') this.#takeResult(index, segment, row, content);
    else if (segment.kind === 'action') this.#takeCall(segment, row);
    else if (segment.kind === 'user') this.#takeUser(segment, row);
    if (segment.signed) this.#takeSigned(index, row);
  }

  #toolTokens(tool: string | undefined): number {
    if (tool === undefined) return 0;
    const known = this.#tools.get(tool);
    if (known !== undefined) return known;
    const tokens = this.counter(tool);
    this.#tools.set(tool, tokens);
    return tokens;
  }

  #takeUser({ text, message }: Segment, row: Turn): void {
    if (row.number === 0 && this.#readNote('user', text)) return;
    row.hasUser = true;
    if (!isNote(text)) row.hasWords = true;
    this.#taskRow ??= row;
    this.#taskMessage = Math.min(this.#taskMessage, message);
    if (this.task === '' && this.#taskRow === row) this.task = text;
  }

  #takeSigned(index: number, row: Turn): void {
    this.#hasSigned = true;
    this.lastSigned = index;
    row.lastSigned = index;
    if (this.#options.keepSigned) this.revision += 1;
  }

  #takeCall(segment: Segment, row: Turn): void {
    this.#openCalls.made(segment.callId ?? '', { row, message: segment.message, args: segment.text });
    row.openCalls += 1;
    row.hasCalls = true;
  }

  #takeResult(index: number, segment: Segment, row: Turn, tokens: number): void {
    const call = segment.callId === undefined ? undefined : this.#openCalls.answered(segment.callId);
    if (call) {
      call.row.openCalls -= 1;
      call.row.link(row);
    }
    const masked = isPlaceholder(segment.text, this.#style.literal);
    const result = new Result(index, segment, row, call, tokens, masked);
    this.#results[index] = result;
    this.observations.push(result);
    if (this.#options.toolUse) this.#takeUse(result, this.#options.toolUse(result.tool, result.args));
  }

  #takeUse(result: Result, { kind, read, moves }: ToolUse): void {
    const range = read && !result.isError ? linesShown(read, result.text) : undefined;
    result.use = new Use(kind, moves === true, range);
    this.#cover(result, result.use);
  }

  #cover(result: Result, use: Use): void {
    // The same path is another file now.
    if (use.moves) for (const path of this.#reads.keys()) if (!/^(?:[/~\\]|\w:)/.test(path)) this.#reads.delete(path);
    const read = this.#showsFile(result) ? use.range : undefined;
    if (!read) return;
    const earlier = this.#reads.get(read.path) ?? [];
    const covered = earlier.filter((older) => older.use?.range && covers(read, older.use.range));
    for (const older of covered) if (older.use) older.use.coveredBy = result;
    use.covers = covered;
    this.#reads.set(read.path, [...earlier.filter((older) => !covered.includes(older)), result]);
  }

  /** An answer such as "unchanged" or "no such file" shows no file, and what was cut does not show all that was asked for. */
  #showsFile({ text, tokens, masked }: Result): boolean {
    const most = this.#options.maxResultTokens ?? Number.POSITIVE_INFINITY;
    return !masked && tokens > LEAST_SHOWN && tokens <= most && !isTruncated(text);
  }

  /** Turn 0: notes of ours that came back to us. */
  #takeHead(index: number): void {
    const [only, more] = this.segments.slice(this.#firstSegment[index]);
    const note = only && more === undefined ? this.#readNote(only.kind, only.text) : undefined;
    if (!note) return;
    this.notes = { ...this.notes, ...note };
    this.#noteMessages.push(index);
  }

  /** In the role in which we write them; words of another role, or a user's first, only where they are ours to the letter. */
  #readNote(kind: Kind, text: string): Notes | undefined {
    const note = kind === 'system' || kind === 'user' ? readNote(text) : undefined;
    const isTrusted = kind === this.format.noteRole && (kind === 'system' || this.task !== '');
    return isTrusted || !note?.summary || readSummary(note.summary) !== undefined ? note : undefined;
  }

  #resize(message: number, row: Turn, tokens: number, chars: number): void {
    this.#messageTokens[message] = (this.#messageTokens[message] ?? 0) + tokens;
    row.tokens += tokens;
    row.chars += chars;
    this.tokens += tokens;
    this.chars += chars;
  }

  // Deciding, one request after the other.

  /** Begins the decisions about a request. What the last one decided is settled from here on. */
  beginRequest(): void {
    this.commit();
    // What the last request left out is gone for good.
    if (this.#shape) this.#touched = this.#touched.filter((result) => this.#isSent(result));
    this.#changes = [];
    this.#shape = undefined;
    const { maskedCount, maskedChars, requestTokens, frontier, summaryAuthor } = this;
    const hidden = this.hidden.length;
    this.#counts = {
      maskedCount,
      maskedChars,
      requestTokens,
      frontier,
      hidden,
      firstEdited: this.#firstEdited,
      summaryAuthor,
    };
  }

  /** From here on, what was decided just now counts as what went out before. */
  commit(): void {
    for (const { result } of this.#changes) result.sentText = result.text;
  }

  endRequest(): void {
    this.requestTokens = this.tokens;
    if (this.#hasCutReads()) this.#coverAnew();
    for (; this.frontier < this.observations.length; this.frontier++) {
      if (this.maskable(this.observations[this.frontier] as Result)) break;
    }
  }

  /** Takes back all that was decided since `beginRequest`. */
  undoRequest(): void {
    const wasCut = this.#shape !== undefined || this.#hasCutReads();
    if (this.#shape) {
      const { rows, observations, notes, moved } = this.#shape;
      this.setNotes(notes);
      const present = new Set(this.rows);
      for (const row of rows) if (!present.has(row)) this.#count(row, 1);
      for (const { row, next, from } of moved.reverse()) this.#moveQuestion(row, next, from);
      this.#arrange(rows, observations);
      this.#shape = undefined;
    }
    for (const { result, ...earlier } of this.#changes.reverse()) {
      this.#resizeResult(result, earlier.tokens - result.tokens, earlier.text.length - result.text.length);
      this.#countReplaced(result.why, -1);
      this.#countReplaced(earlier.why, 1);
      Object.assign(result, earlier, { draft: undefined, edit: undefined });
    }
    this.#changes = [];
    if (wasCut) this.#coverAnew();
    if (!this.#counts) return;
    const { hidden, firstEdited, ...counts } = this.#counts;
    Object.assign(this, counts);
    this.hidden.length = hidden;
    this.#firstEdited = firstEdited;
  }

  /** Whether the laws let this result be edited at all. */
  isFree(result: Result): boolean {
    const { callId, bound } = result.original;
    return callId !== undefined && !bound && !this.isSigned(result.segment);
  }

  /** Whether something signed, which the caller wants to keep, stands behind this segment. */
  isSigned(segment: number): boolean {
    return this.#options.keepSigned === true && segment < this.lastSigned;
  }

  /** Whether turns may be left out at all: what is signed is signed over the turns before it. */
  get mayDrop(): boolean {
    return !(this.#options.keepSigned && this.lastSigned >= 0);
  }

  // An arrow, since a policy may take it out of the request that it is given.
  readonly maskable = (observation: Observation): boolean => {
    const result = this.#results[observation.segment];
    return result !== undefined && this.#draft(result) !== undefined;
  };

  mask(segment: number): boolean {
    const result = this.#results[segment];
    const draft = result && this.#isSent(result) ? this.#draft(result) : undefined;
    if (!result || !draft) return false;
    this.maskedCount += 1;
    this.maskedChars += result.text.length - draft.text.length;
    this.#replace(result, 'mask', draft);
    return true;
  }

  /** Shortens a result that stays visible. */
  clip(result: Result, write: (handle: string) => string): boolean {
    const isOutput = this.isFree(result) && !result.masked && !this.#mayBeCustom(result.text);
    const stored = isOutput ? this.#stored(result) : undefined;
    const handle = stored === undefined ? undefined : this.#shownHandle(stored);
    const text = stored === undefined ? '' : write(showHandle(handle, this.#options));
    const tokens = this.counter(text);
    if (stored === undefined || !this.#isShorter(result, text) || tokens > result.tokens) return false;
    // Else an image would go without a word.
    if (text === result.text) return false;
    if (result.row !== this.lastRow) this.revision += 1;
    this.#replace(result, 'clip', { stored, text, tokens, handle });
    return true;
  }

  /** Shortens a user's own words, from how they came. Not taken back by `undoRequest`. */
  clipWords(index: number, maxTokens: number): void {
    const { message: place } = this.segments[index] as Segment;
    const start = this.#firstSegment[place] as number;
    const end = this.#firstSegment[place + 1] ?? this.segments.length;
    const whole = this.#whole.get(place) ?? {
      message: this.messages[place] as M,
      segments: this.segments.slice(start, end),
    };
    this.#whole.set(place, whole);
    if (!this.clipSizes.has(index)) this.#hideWords(whole.segments[index - start] as Segment);
    this.clipSizes.set(index, maxTokens);
    let { message } = whole;
    for (const [i, segment] of whole.segments.entries()) {
      const most = this.clipSizes.get(start + i);
      if (most !== undefined && segment.kind === 'user')
        message = cutText(message, segment, this.#shortening(segment, most));
    }
    this.messages[place] = message;
    for (const [i, { text }] of this.format.view([message]).entries()) this.#rewrite(start + i, text);
  }

  #shortening({ text: whole }: Segment, maxTokens: number): CutTextOptions {
    const { counter } = this;
    const handle = this.showHandle(whole);
    const shorten = (text: string, most: number): string =>
      truncateResult(text, { maxTokens: most, strategy: 'both', counter, handle });
    return { maxTokens, counter, shorten };
  }

  #hideWords({ text, turn }: Segment): void {
    this.replaced.clip += 1;
    this.hidden.push(Object.freeze({ handle: this.handleOf(text), text, why: 'clip', turn }));
  }

  #rewrite(index: number, text: string): void {
    const segment = this.segments[index] as Segment;
    if (segment.text === text) return;
    const row = this.rows.find(({ from, to }) => from <= segment.message && segment.message < to) as Turn;
    const before = this.#segmentTokens[index] as number;
    const content = contentTokens(segment, this.counter(text));
    const chars = text.length - segment.text.length;
    this.segments[index] = { ...segment, text };
    this.#segmentTokens[index] = content;
    this.#resize(segment.message, row, content - before, chars);
    row.text += content - before;
    this.#forgetTextAfter(row.number);
    this.after[segment.kind].tokens += content - before;
    this.after[segment.kind].chars += chars;
  }

  /** Whether a placeholder just written would be known again. The head of a result would not. */
  #isRecognised(text: string): boolean {
    const { known, keep, literal } = this.#style;
    return known && !keep ? true : isPlaceholder(text, literal);
  }

  /** The placeholder of a result, if the laws allow one. */
  #draft(result: Result): Draft | undefined {
    if (result.masked || !this.isFree(result) || this.#mayBeCustom(result.text)) return undefined;
    if (result.draft === undefined || !this.#style.known) result.draft = this.#writeDraft(result);
    return result.draft ?? undefined;
  }

  /** Law 6: a placeholder is smaller than what it hides, in characters and in tokens. */
  #writeDraft(result: Result): Draft | null {
    const stored = this.#stored(result);
    if (stored === undefined) return null;
    const handle = this.#shownHandle(stored);
    const text = writePlaceholder(this.#style, this.#describe(result), showHandle(handle, this.#options));
    if (!this.#isShorter(result, text)) return null;
    const tokens = this.counter(text);
    return tokens < result.tokens ? { stored, text, tokens, handle } : null;
  }

  /** A user's own function may write anything, so only their length tells its placeholders from output. */
  #mayBeCustom(text: string): boolean {
    return !this.#style.known && this.#style.literal === undefined && text.length <= MAX_PLACEHOLDER;
  }

  #isShorter(result: Result, text: string): boolean {
    return text !== '' && text.length < result.chars;
  }

  #replace(result: Result, why: Why, { stored, text, tokens: after, handle: shown }: Draft): void {
    const { tokens, masked, handle, sentText } = result;
    const change = { result, text: result.text, tokens, masked, why: result.why, handle, sentText };
    // Most requests change one result or none: a list that begins empty takes room for seventeen.
    if (this.#changes.length === 0) this.#changes = [change];
    else this.#changes.push(change);
    this.#touched.push(result);
    this.#firstEdited = Math.min(this.#firstEdited ?? result.segment, result.segment);
    result.handle = shown ?? this.#options.handleOf?.(stored);
    const { tool, callId, turn } = result;
    this.hidden.push(Object.freeze({ handle: result.handle ?? '', text: stored, why, turn, tool, callId }));
    this.#resizeResult(result, after - tokens, text.length - result.text.length);
    this.#countReplaced(result.why, -1);
    this.#countReplaced(why, 1);
    result.text = text;
    result.tokens = after;
    result.why = why;
    result.masked = why === 'mask' && this.#isRecognised(text);
    result.draft = undefined;
    result.edit = undefined;
  }

  #countReplaced(why: Why | undefined, sign: 1 | -1): void {
    if (why !== undefined) this.replaced[why] += sign;
  }

  #resizeResult(result: Result, tokens: number, chars: number): void {
    this.#resize(result.original.message, result.row, tokens, chars);
    result.row.text += tokens;
    this.#forgetTextAfter(result.row.number);
    this.after.observation.tokens += tokens;
    this.after.observation.chars += chars;
  }

  /** Worked out before it is needed only where placeholders show it. */
  #shownHandle(stored: string): string | undefined {
    return (this.#options.show ?? 'nothing') === 'nothing' ? undefined : this.#options.handleOf?.(stored);
  }

  /** The name of a text; empty where no way to name texts was given. */
  handleOf(text: string): string {
    return this.#options.handleOf?.(text) ?? '';
  }

  /** The handle of a text as a note shows it. */
  showHandle(text: string): string {
    return showHandle(this.#shownHandle(text), this.#options);
  }

  /** What a handle of this result stands for; undefined if it cannot be written down. */
  #stored(result: Result): string | undefined {
    if (result.why !== undefined) return result.text;
    const original = this.format.original(this.messages[result.original.message] as M, result.original);
    return original === undefined ? undefined : (recalledText(original, this.#options) ?? original);
  }

  #describe(result: Result): HiddenResult {
    const { turn, tool, text, tokens, isError, args, mediaBytes } = result;
    const media = result.why === undefined ? (result.original.media?.length ?? 0) : 0;
    return { turn, tool, text, tokens, callId: result.callId ?? '', isError, media, mediaBytes, args };
  }

  /** The messages that go if these turns go. Behind the gap, a question stays with the first answer that stays. */
  removalOf(rows: Iterable<Turn>): Removal[] {
    const going = new Set(rows);
    const first = this.rows.find((row) => row.number > 0 && !going.has(row));
    return [...going].map((row) => this.removal(row, { keepsQuestion: row.number + 1 === first?.number }));
  }

  /** The part of a turn that goes: all of it, or all but the question that the next turn answers. */
  removal(row: Turn, { keepsQuestion }: { readonly keepsQuestion: boolean }): Removal {
    const next = this.rows[row.number + 1];
    const isAnswered = keepsQuestion && next?.from === row.to && this.#isReply(next.from);
    const to = isAnswered ? this.#questionOf(row) : row.to;
    const kept = this.#sizeBetween(to, row.to);
    return { row, to, messages: to - row.from, tokens: row.tokens - kept.tokens, chars: row.chars - kept.chars };
  }

  /** Where the words at the end of a turn begin that the next reply answers. */
  #questionOf(row: Turn): number {
    let from = row.to;
    while (from > row.from && this.#isQuestion(from - 1)) from -= 1;
    return from;
  }

  #isQuestion(message: number): boolean {
    const kinds = this.#kindsIn(message);
    return kinds.length > 0 && kinds.every((kind) => kind === 'user');
  }

  #isReply(message: number): boolean {
    return this.#kindsIn(message).some((kind) => kind === 'reasoning' || kind === 'action');
  }

  #kindsIn(message: number): Kind[] {
    return this.segments.slice(this.#firstSegment[message], this.#firstSegment[message + 1]).map(({ kind }) => kind);
  }

  #sizeBetween(from: number, to: number): { tokens: number; text: number; chars: number } {
    const size = { tokens: 0, text: 0, chars: 0 };
    for (let i = from; i < to; i++) size.tokens += this.#messageTokens[i] ?? 0;
    const end = this.#firstSegment[to] ?? this.segments.length;
    for (let i = this.#firstSegment[from] ?? end; i < end; i++) {
      const segment = this.segments[i] as Segment;
      size.text += this.#textAt(i);
      if (!isArguments(segment)) size.chars += (this.#results[i] ?? segment).text.length;
    }
    return size;
  }

  /** Moves the border between two turns, one of which begins with a question. */
  #moveQuestion(row: Turn, next: Turn, from: number): void {
    const [sign, size] = from < row.to ? [1, this.#sizeBetween(from, row.to)] : [-1, this.#sizeBetween(row.to, from)];
    for (const name of ['tokens', 'text', 'chars'] as const) {
      row[name] -= sign * size[name];
      next[name] += sign * size[name];
    }
    row.to = from;
    next.from = from;
    this.#forgetTextAfter(row.number);
    // The task stays in turn 0, whatever goes.
    for (const changed of [row, next]) if (changed !== this.#taskRow) this.#readUsers(changed);
  }

  #readUsers(row: Turn): void {
    const users = [...this.segmentsOf(row)].filter(([{ kind }]) => kind === 'user');
    row.hasUser = users.length > 0;
    row.hasWords = users.some(([{ text }]) => !isNote(text));
  }

  /** Leaves turns out; `text` is what their handle stands for. */
  remove(removed: readonly Removal[], why: 'summarize' | 'drop', text: string): void {
    this.#keepShape();
    const rows = new Set(removed.map(({ row }) => row));
    const [first] = rows;
    this.hidden.push(
      Object.freeze({ handle: this.#options.handleOf?.(text) ?? '', text, why, turn: first?.number ?? 0 }),
    );
    const segment = this.#firstSegment[first?.from ?? 0] ?? 0;
    this.#firstEdited = Math.min(this.#firstEdited ?? segment, segment);
    for (const { row, to } of removed) this.#keepQuestion(row, to);
    for (const row of rows) this.#count(row, -1);
    this.#arrange(
      this.rows.filter((row) => !rows.has(row)),
      this.observations.filter((result) => !rows.has(result.row)),
    );
  }

  #keepQuestion(row: Turn, from: number): void {
    const next = this.rows[row.number + 1];
    if (from === row.to || !next) return;
    this.#shape?.moved.push({ row, next, from: row.to });
    this.#moveQuestion(row, next, from);
  }

  #arrange(rows: Turn[], observations: Result[]): void {
    this.rows = rows;
    this.#forgetTextAfter(0);
    this.observations = observations;
    this.frontier = 0;
    this.#coverAnew();
    for (const [number, row] of rows.entries()) row.number = number;
    if (this.#hasSigned) this.lastSigned = rows.findLast((row) => row.lastSigned >= 0)?.lastSigned ?? -1;
  }

  /** Whether this request cut reads that stood whole before. What is cut when it arrives never did. */
  #hasCutReads(): boolean {
    const most = this.#options.maxResultTokens ?? Number.POSITIVE_INFINITY;
    for (const { result, tokens } of this.#changes)
      if (result.why === 'clip' && result.use?.range && tokens <= most) return true;
    return false;
  }

  /** A read covers nothing once it is left out or cut. */
  #coverAnew(): void {
    if (!this.#options.toolUse) return;
    this.#reads.clear();
    for (const result of this.observations) {
      if (!result.use) continue;
      result.use.coveredBy = undefined;
      result.use.covers = [];
      this.#cover(result, result.use);
    }
  }

  /** Counts a row in or out. */
  #count(row: Turn, sign: 1 | -1): void {
    this.tokens += sign * row.tokens;
    this.chars += sign * row.chars;
    this.removedMessages -= sign * (row.to - row.from);
    for (const [segment, index] of this.segmentsOf(row)) {
      const result = this.#results[index];
      this.#countReplaced(result?.why, sign);
      const tokens = result?.tokens ?? (this.#segmentTokens[index] as number);
      this.after[segment.kind].tokens += sign * (tokens + nameTokens(segment));
      this.after[segment.kind].chars += sign * (result ?? segment).text.length;
    }
  }

  /** Takes all turns apart into their messages, so that one can go without the others. Not taken back by `undoRequest`. */
  splitTurns(): void {
    this.isSplit = true;
    const head = new Turn(0, 0);
    const rows = [head];
    const rowOf = new Map<number, Turn>();
    for (const turn of this.rows) {
      for (let message = turn.from; message < turn.to; message++) {
        const row = this.#rowOfMessage(message, rows.length);
        row.isHead = turn.number === 0 && !row.hasUser;
        rows.push(row);
        rowOf.set(message, row);
      }
    }
    for (const result of this.observations) {
      result.row = rowOf.get(result.original.message) ?? result.row;
      if (result.call) rowOf.get(result.call.message)?.link(result.row);
    }
    for (const { message } of this.#openCalls.all()) {
      const row = rowOf.get(message);
      if (row) row.openCalls += 1;
    }
    this.rows = rows;
  }

  #rowOfMessage(message: number, number: number): Turn {
    const row = new Turn(number, message);
    row.to = message + 1;
    row.tokens = this.#messageTokens[message] ?? 0;
    for (const [segment, index] of this.segmentsOf(row)) {
      if (segment.kind === 'user') row.hasUser = true;
      if (segment.kind === 'user' && !isNote(segment.text)) row.hasWords = true;
      if (!isArguments(segment)) row.chars += (this.#results[index] ?? segment).text.length;
    }
    return row;
  }

  setNotes(notes: Notes): void {
    this.#keepShape();
    this.#forgetTextAfter(0);
    const [old, next] = [this.#sizeOf(this.notes), this.#sizeOf(notes)];
    this.tokens += next.tokens - old.tokens;
    this.chars += next.chars - old.chars;
    this.after.system.tokens += next.tokens - old.tokens - MESSAGE_TOKENS * (next.count - old.count);
    this.after.system.chars += next.chars - old.chars;
    this.notes = notes;
  }

  #sizeOf(notes: Notes): { tokens: number; chars: number; count: number } {
    const size = { tokens: 0, chars: 0, count: 0 };
    for (const text of noteTexts(notes)) {
      size.count += 1;
      size.tokens += MESSAGE_TOKENS + this.counter(text);
      size.chars += text.length;
    }
    return size;
  }

  #keepShape(): void {
    this.#isReshaped = true;
    this.#shape ??= { rows: this.rows, observations: this.observations, notes: this.notes, moved: [] };
  }

  // Reading what stands here.

  get text(): number {
    return this.#textTo(this.rows.length);
  }

  textOf(turn: number): number {
    return (this.rows[turn]?.text ?? 0) + (turn === 0 ? this.overheadTokens + this.#noteText() : 0);
  }

  textBefore(observation: Observation): number {
    return this.#textIn(this.rows[observation.turn] as Turn, observation.segment);
  }

  /** How much text of the request before this one stands as it was up to the first change; undefined if there is none. */
  textBeforeChange(): number | undefined {
    const message = this.firstChange();
    if (message === undefined) return undefined;
    // A notice stands behind the summary, which may have stayed.
    const summary = this.#shape?.notes.summary;
    const isKept = summary !== undefined && summary === this.notes.summary;
    return this.#textBeforeMessage(message) + (isKept ? this.counter(summary) : 0);
  }

  /** The text before a message, or before the place where it stood if it is left out. */
  #textBeforeMessage(message: number): number {
    // Of the row before it, where it begins one: notes stand between turns 0 and 1, and are not before themselves.
    const row = this.rows[lastIndex(this.rows, ({ from }) => from < message)] as Turn;
    return this.#textIn(row, this.#firstSegment[Math.min(message, row.to)] ?? this.segments.length);
  }

  /** The text before a segment of a turn. */
  #textIn(row: Turn, end: number): number {
    let text = row.number === 0 ? this.overheadTokens : this.#textTo(row.number);
    for (let i = this.#firstSegment[row.from] ?? end; i < end; i++) text += this.#textAt(i);
    return text;
  }

  gain(observation: Observation): number {
    const draft = this.#draft(observation as Result);
    return draft ? observation.tokens - draft.tokens : 0;
  }

  /** The text of the turns before this one. */
  #textTo(turn: number): number {
    const known = this.#textBefore;
    for (let i = known.length; i <= turn; i++) known.push((known[i - 1] as number) + this.textOf(i - 1));
    return known[turn] as number;
  }

  #forgetTextAfter(turn: number): void {
    if (this.#textBefore.length > turn + 1) this.#textBefore.length = turn + 1;
  }

  #textAt(index: number): number {
    const segment = this.segments[index] as Segment;
    const named = segment.kind === 'action' ? this.#toolTokens(segment.tool) : 0;
    return (this.#results[index]?.tokens ?? (this.#segmentTokens[index] as number)) + named;
  }

  /** Notes stand in turn 0, in the place of those of ours that came back to us. */
  #noteText(): number {
    if (noteTexts(this.notes).length === 0 && this.#noteMessages.length === 0) return 0;
    let text = 0;
    for (const note of noteTexts(this.notes)) text += this.counter(note);
    for (const index of this.#noteMessages) text -= this.#segmentTokens[this.#firstSegment[index] as number] as number;
    return text;
  }

  *segmentsOf(row: Turn): Iterable<[Segment, number]> {
    const end = this.#firstSegment[row.to] ?? this.segments.length;
    for (let i = this.#firstSegment[row.from] ?? end; i < end; i++) yield [this.segments[i] as Segment, i];
  }

  resultAt(segment: number): Result | undefined {
    return this.#results[segment];
  }

  /** The messages that go, as they were sent, for the store; undefined if they cannot be written down. */
  write(removed: Iterable<Removal>): string | undefined {
    const lines: string[] = [];
    try {
      for (const { row, to } of removed)
        for (let i = row.from; i < to; i++) lines.push(JSON.stringify(this.#sent(i)) ?? 'null');
    } catch {
      return undefined;
    }
    return lines.join('\n');
  }

  #sent(message: number): M {
    let sent = this.messages[message] as M;
    const end = this.#firstSegment[message + 1] ?? this.segments.length;
    for (let i = this.#firstSegment[message] ?? end; i < end; i++) {
      const result = this.#results[i];
      if (result?.why !== undefined) sent = this.format.edit(sent, result.original, result.text);
    }
    return sent;
  }

  /** All edits that lead from the history as it came to the one that goes out. */
  edits(): Edit[] {
    const edits: Edit[] = [];
    for (const result of this.observations) if (result.why !== undefined) edits.push(toEdit(result));
    edits.push(...this.#drops(), ...this.#inserts());
    return edits;
  }

  /** The edits that were added or changed since this was asked last. */
  takeNewEdits(): Edit[] {
    const changed = this.#touched.filter(({ why, text, reported }) => why !== undefined && text !== reported);
    const sent = changed.filter((result) => this.#isSent(result));
    for (const result of sent) result.reported = result.text;
    const edits: Edit[] = sent.map(toEdit);
    if (this.#isReshaped) edits.push(...this.#drops(), ...this.#inserts());
    // The others may come back with their turn, if the request that left it out is taken back.
    this.#touched = changed.filter((result) => !this.#isSent(result));
    this.#isReshaped = false;
    return edits;
  }

  #isSent(result: Result): boolean {
    return this.rows[result.row.number] === result.row;
  }

  /** The first message that this request carries differently from the one before, if any. */
  firstChange(): number | undefined {
    let first = this.#shape ? this.#noteSlot() : Number.POSITIVE_INFINITY;
    // What stands in the last turn goes out for the first time.
    for (const { result } of this.#changes)
      if (result.row !== this.lastRow) first = Math.min(first, result.original.message);
    return first === Number.POSITIVE_INFINITY ? undefined : first;
  }

  /** The first segment that does not go out as it came, if any. */
  firstEdited(): number | undefined {
    return this.#firstEdited;
  }

  /** The size of what goes out from this message on. A summary that did not change counts as before it. */
  tokensFrom(message: number): number {
    let tokens = 0;
    for (let r = this.rows.length - 1; r >= 0; r--) {
      const row = this.rows[r] as Turn;
      for (let i = row.to - 1; i >= Math.max(row.from, message); i--) tokens += this.#messageTokens[i] ?? 0;
      if (row.from <= message) break;
    }
    if (!this.#notesChanged()) return tokens;
    // Notes that came back to us are left out with the messages, and stand anew at their place.
    for (const index of this.#noteMessages) if (index >= message) tokens -= this.#messageTokens[index] ?? 0;
    return message <= this.#noteSlot() ? tokens + this.#sizeOf(this.notes).tokens - this.#keptSummary() : tokens;
  }

  /** The size of a summary that this request left as it was, though it changed the notice behind it. */
  #keptSummary(): number {
    const summary = this.#shape?.notes.summary;
    return summary !== undefined && summary === this.notes.summary ? MESSAGE_TOKENS + this.counter(summary) : 0;
  }

  sent(): M[] {
    return applyEdits(this.format, this.messages, this.segments, this.edits());
  }

  #drops(): DropEdit[] {
    return dropsBetween(this.rows, this.#notesChanged() ? this.#noteMessages : []);
  }

  /** How many notes the plan puts in. */
  get insertedNotes(): number {
    return this.#notesChanged() ? noteTexts(this.notes).length : 0;
  }

  #inserts(): InsertEdit[] {
    if (!this.#notesChanged()) return [];
    const role = this.format.noteRole;
    const before = this.#noteSlot();
    return noteTexts(this.notes).map((text) => Object.freeze({ kind: 'insert', before, role, text }));
  }

  /** Notes go where the gap is: behind the task. */
  #noteSlot(): number {
    return this.rows[0]?.to ?? 0;
  }

  #notesChanged(): boolean {
    const found = this.#noteMessages.map((index) => this.segments[this.#firstSegment[index] ?? 0]?.text);
    const wanted = noteTexts(this.notes);
    return found.length !== wanted.length || found.some((text, i) => text !== wanted[i]);
  }
}

/** A shorter answer to a read is a message about the file, not the file. */
const LEAST_SHOWN = 80;

/** What a read shows at most: tools stop at some number of lines without a word. */
function linesShown(read: LineRange, text: string): LineRange {
  return { ...read, to: Math.min(read.to, read.from + countLines(text) - 1) };
}

/** The last index for which a test holds that holds for all before it; 0 if there is none. */
function lastIndex<T>(list: readonly T[], holds: (item: T) => boolean): number {
  let [low, high] = [0, list.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (holds(list[middle] as T)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Leaves out some messages, and all that stand between the rows. */
function dropsBetween(rows: readonly Turn[], messages: readonly number[]): DropEdit[] {
  const drop = (from: number, to: number): DropEdit => Object.freeze({ kind: 'drop', from, to });
  const drops = messages.map((index) => drop(index, index + 1));
  let next = 0;
  for (const { from, to } of rows) {
    if (next < from) drops.push(drop(next, from));
    next = to;
  }
  return drops;
}

/** The edit of a result is made once: every later call answers it again. */
function toEdit(result: Result): ReplaceEdit {
  const { segment, text, handle } = result;
  const why = result.why as Why;
  result.edit ??= Object.freeze<ReplaceEdit>(
    handle === undefined ? { kind: 'replace', segment, text, why } : { kind: 'replace', segment, text, why, handle },
  );
  return result.edit;
}

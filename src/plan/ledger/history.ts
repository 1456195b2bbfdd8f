import { OpenCalls } from '../../formats/calls.ts';
import { isOurs, isPlaceholder } from '../../laws/idempotent.ts';
import type { Format, Segment, Viewer } from '../../message.ts';
import { countTokens } from '../../tokens/count-tokens.ts';
import type { Counter } from '../../tokens/counter.ts';
import { houseStyle, type PlaceholderStyle } from '../placeholder.ts';
import { HeadNotes } from './head-notes.ts';
import { isQuestion, joinGreeting, moveQuestion, questionIn } from './questions.ts';
import { ReadCoverage, type ReadToolUse } from './read-coverage.ts';
import { type Call, NO_GAP, Result, Turn } from './rows.ts';
import type { ShortCall } from './short-call.ts';
import { isArguments, Totals } from './totals.ts';

/** The first messages of a history, viewed before they are appended. The same viewer views the messages that follow. */
export interface Viewed<M> {
  readonly viewer: Viewer<M>;
  readonly messages: readonly ViewedMessage[];
}

export interface ViewedMessage {
  readonly segments: readonly Segment[];
  /** The viewer's turn after this message. */
  readonly turn: number;
}

export interface HistoryOptions<M> {
  readonly style?: PlaceholderStyle | undefined;
  readonly counter?: Counter | undefined;
  /** Whether to edit nothing before the last block that is signed over everything before it. */
  readonly keepSigned?: boolean | undefined;
  /** The size of system prompt and tools, if the provider takes them separately from the messages. */
  readonly overheadTokens?: number | undefined;
  /** Recognises calls, if the policy uses the kinds of tools. */
  readonly toolUse?: ReadToolUse | undefined;
  /** Whether the owner of the history adds each result to the coverage, once it has its final form. */
  readonly coversLater?: boolean | undefined;
  /** The view of the first messages, if the caller already has it. */
  readonly viewed?: Viewed<M> | undefined;
}

/**
 * The history as it is sent: the original messages, turns, results and notes, and all their sizes. It only grows here; the ledger edits
 * it. Other folders read its parts and change nothing in them.
 */
export class History<M> {
  readonly format: Format<M>;
  readonly counter: Counter;
  readonly overheadTokens: number;
  readonly style: PlaceholderStyle;
  /** Whether nothing before the last signature may change. */
  readonly keepSigned: boolean;
  readonly messages: M[] = [];
  readonly segments: Segment[] = [];
  /** The original size of each segment, without names and ids. */
  readonly segmentTokens: number[] = [];
  /** The result in each segment, if it holds one. */
  readonly results: (Result | undefined)[] = [];
  /** The turns that are sent. */
  rows: Turn[] = [new Turn(0, 0)];
  /** The results in them, oldest first. */
  observations: Result[] = [];
  /** The text of the first user message. */
  task = '';
  /** The first user message, and its turn. */
  taskMessage = Number.POSITIVE_INFINITY;
  taskRow: Turn | undefined;
  /** The last segment that is signed over everything before it, or -1. */
  lastSigned = -1;
  revision = 0;
  /** Whether turns were split into their messages. */
  isSplit = false;
  readonly calls = new OpenCalls<Call>();
  /** The calls that are sent with shorter arguments, by segment. */
  readonly shortCalls = new Map<number, ShortCall>();
  readonly headNotes: HeadNotes;
  readonly totals: Totals;
  /** Undefined if the policy does not use the kinds of tools. */
  readonly coverage: ReadCoverage | undefined;
  /** The number of replies, including those that are left out. */
  replies = 0;
  readonly #viewer: Viewer<M>;
  readonly #coversLater: boolean;
  /** Messages that were viewed before and are not appended yet. */
  #viewed: Viewed<M> | undefined;
  /** The first segment of each message. */
  readonly #starts: number[] = [];

  constructor(format: Format<M>, options: HistoryOptions<M>) {
    const { counter = countTokens, overheadTokens = 0, style = houseStyle, toolUse } = options;
    this.format = format;
    this.counter = counter;
    this.overheadTokens = overheadTokens;
    this.style = style;
    this.keepSigned = options.keepSigned ?? false;
    this.headNotes = new HeadNotes(this);
    this.totals = new Totals(this);
    this.coverage = toolUse && new ReadCoverage(toolUse);
    this.#coversLater = options.coversLater ?? false;
    this.#viewed = options.viewed;
    this.#viewer = options.viewed?.viewer ?? format.viewer();
  }

  get turns(): number {
    return this.rows.length - 1;
  }
  get lastRow(): Turn {
    return this.rows[this.rows.length - 1] as Turn;
  }
  /** Whether the task is in turn 0, before the notice. Otherwise a question that moves behind it would read as a part of it. */
  get isTaskInHead(): boolean {
    return this.taskMessage < (this.rows[0] as Turn).to;
  }

  /** Adds the next message. `beforeTaking` is called before anything changes, with whether the message begins a reply. */
  append(message: M, beforeTaking?: (beginsReply: boolean) => void): void {
    const beginsReply = this.#read(message);
    beforeTaking?.(beginsReply);
    const index = this.messages.push(message) - 1;
    if (this.#isTaskBehindGreeting(index)) joinGreeting(this);
    const row = beginsReply ? this.#beginTurn(index) : this.lastRow;
    row.to = index + 1;
    this.totals.addMessage(index, row);
    for (let i = this.startOf(index); i < this.segments.length; i++) this.#takeSegment(i, row);
    if (row.number === 0) this.headNotes.take(index);
  }

  /** Adds the segments of the next message. Returns whether it begins a reply. */
  #read(message: M): boolean {
    const before = this.replies;
    const viewed = this.#viewed?.messages[this.#starts.length];
    this.#starts.push(this.segments.length);
    if (this.#viewed?.messages.length === this.#starts.length) this.#viewed = undefined;
    if (viewed) for (const segment of viewed.segments) this.segments.push(segment);
    else this.#viewer.add(message, this.segments);
    this.replies = viewed?.turn ?? this.#viewer.turn;
    return this.replies > before;
  }

  #beginTurn(message: number): Turn {
    const head = this.lastRow;
    const next = new Turn(this.rows.length, message);
    this.rows.push(next);
    // Our notice came back: the question after it belongs to its answer, as it did when the notice was written.
    const note = this.headNotes.received.at(-1) ?? -1;
    if (next.number === 1 && this.taskMessage < note)
      moveQuestion(this, { row: head, next, from: Math.max(note + 1, questionIn(this, head)) });
    return next;
  }

  /** Whether a message is the task, and only a reply without calls came before it. */
  #isTaskBehindGreeting(message: number): boolean {
    const { turns, taskRow, lastRow, observations, headNotes } = this;
    if (turns !== 1 || taskRow || lastRow.hasCalls || observations.length > 0) return false;
    // A note before the greeting stays there. Only a summary after the system prompt is always before it.
    const { notice, summary } = headNotes.current;
    const mayJoin = notice === undefined && (summary === undefined || headNotes.isBehindPrompt);
    return mayJoin && isQuestion(this, message);
  }

  #takeSegment(index: number, row: Turn): void {
    const segment = this.segments[index] as Segment;
    const tokens = this.totals.addSegment(index, segment, row);
    if (segment.kind === 'observation') this.#takeResult(index, segment, row, tokens);
    else if (segment.kind === 'action') this.#takeCall(index, segment, row);
    else if (segment.kind === 'user') this.#takeUser(segment, row);
    if (segment.signed) this.#takeSigned(index, row);
  }

  #takeResult(index: number, segment: Segment, row: Turn, tokens: number): void {
    const call = segment.callId === undefined ? undefined : this.calls.answered(segment.callId);
    if (call) {
      call.row.openCalls -= 1;
      call.row.link(row);
    }
    const result = new Result(index, segment, row, call, tokens, isPlaceholder(segment.text, this.style.literal));
    this.results[index] = result;
    this.observations.push(result);
    if (!this.#coversLater) this.coverage?.add(result);
  }

  #takeCall(index: number, segment: Segment, row: Turn): void {
    const { callId = '', message, text: args } = segment;
    this.calls.made(callId, { row, message, segment: index, args, isProse: !isArguments(segment) });
    row.openCalls += 1;
    row.hasCalls = true;
  }

  #takeUser({ text, message }: Segment, row: Turn): void {
    if (row.number === 0 && this.headNotes.read('user', text)) return;
    row.hasUser = true;
    if (!isOurs(text)) row.hasWords = true;
    this.taskRow ??= row;
    this.taskMessage = Math.min(this.taskMessage, message);
    if (this.task === '' && this.taskRow === row) this.task = text;
  }

  #takeSigned(index: number, row: Turn): void {
    this.lastSigned = index;
    row.lastSigned = index;
    if (this.keepSigned) this.revision += 1;
  }

  /** The first segment of a message; for a message that has not come yet, the end of the list. */
  startOf(message: number): number {
    return this.#starts[message] ?? this.segments.length;
  }

  segmentsIn(message: number): Segment[] {
    return this.segments.slice(this.startOf(message), this.startOf(message + 1));
  }

  /** The segments of a turn, each with its index. */
  *segmentsOf(row: Turn): Iterable<[Segment, number]> {
    const end = this.startOf(row.to);
    const gap = row.gap === NO_GAP ? end : this.startOf(row.gap.from);
    for (let i = this.startOf(row.from); i < end; i++) {
      if (i === gap) i = this.startOf(row.gap.to);
      yield [this.segments[i] as Segment, i];
    }
  }

  isSent({ row }: Pick<Result, 'row'>): boolean {
    return this.rows[row.number] === row;
  }

  /** Whether the laws allow editing this result. */
  isFree({ segment, original: { callId, bound } }: Result): boolean {
    return callId !== undefined && !bound && !(this.keepSigned && segment < this.lastSigned);
  }
  /** Whether the laws allow editing the arguments of this call. A reply with bound reasoning stays as it is. */
  isFreeCall({ segment, row }: Call): boolean {
    const { callId } = this.segments[segment] as Segment;
    if (!this.format.editsCalls || callId === undefined || (this.keepSigned && segment < this.lastSigned)) return false;
    for (const [{ kind, bound, signed }] of this.segmentsOf(row))
      if (kind !== 'observation' && (bound || signed)) return false;
    return true;
  }
  /** Whether turns may be left out at all: a signature covers the turns before it. */
  get mayDrop(): boolean {
    return !(this.keepSigned && this.lastSigned >= 0);
  }
}

import { isPlaceholder } from '../../laws/idempotent.ts';
import type { Format, Segment } from '../../message.ts';
import { countTokens } from '../../tokens/count-tokens.ts';
import type { Counter } from '../../tokens/counter.ts';
import type { Notes } from '../notes.ts';
import { houseStyle, type PlaceholderStyle } from '../placeholder.ts';
import type { Observation } from '../policy.ts';
import { Contents, type Viewed } from './contents.ts';
import { HeadNotes } from './head-notes.ts';
import { moveQuestion, questionIn, type Removal, toRemoval } from './questions.ts';
import { ReadCoverage, type ReadToolUse } from './read-coverage.ts';
import { Result } from './result.ts';
import { SentTurns } from './sent-turns.ts';
import { TextSums } from './text-sums.ts';
import { Totals } from './totals.ts';
import type { Turn } from './turn.ts';

export interface HistoryOptions<M> {
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
  /** The view of the first messages, where the caller has made it already. */
  readonly viewed?: Viewed<M> | undefined;
}

/**
 * The history as it is sent: messages as they came, turns, results and notes, and the sizes of all of them. It grows here;
 * the ledger edits it. Other folders read its parts, and change nothing in them.
 */
export class History<M> {
  readonly overheadTokens: number;
  readonly contents: Contents<M>;
  readonly sentTurns = new SentTurns();
  readonly headNotes: HeadNotes;
  readonly textSums: TextSums;
  readonly totals: Totals;
  /** Only where the policy asks for the kinds of tools. */
  readonly coverage: ReadCoverage | undefined;
  readonly style: PlaceholderStyle;
  /** Nothing before the last signature may change. */
  readonly keepSigned: boolean;
  revision = 0;
  /** Turns were taken apart into their messages. */
  isSplit = false;

  constructor(format: Format<M>, options: HistoryOptions<M>) {
    const { counter = countTokens, overheadTokens = 0, style = houseStyle, toolUse, maxResultTokens } = options;
    const { sentTurns } = this;
    const contents = new Contents(format, counter, options.viewed);
    const headNotes = new HeadNotes(contents);
    const textSums = new TextSums({ contents, sentTurns, headNotes, overheadTokens });
    this.overheadTokens = overheadTokens;
    this.contents = contents;
    this.headNotes = headNotes;
    this.textSums = textSums;
    this.totals = new Totals({ contents, textSums, overheadTokens });
    this.coverage = toolUse && new ReadCoverage(toolUse, maxResultTokens);
    this.style = style;
    this.keepSigned = options.keepSigned ?? false;
  }

  /** Takes in the next message. `beforeTaking` is told whether it begins a reply, before anything changes. */
  append(message: M, beforeTaking?: (beginsReply: boolean) => void): void {
    const { contents, sentTurns } = this;
    const beginsReply = contents.read(message);
    beforeTaking?.(beginsReply);
    const index = contents.messages.push(message) - 1;
    const row = beginsReply ? this.#beginTurn(index) : sentTurns.last;
    row.to = index + 1;
    this.totals.addMessage(index, row);
    for (let i = contents.startOf(index); i < contents.segments.length; i++) this.#takeSegment(i, row);
    if (row.number === 0) this.headNotes.take(index, sentTurns.task);
  }

  #beginTurn(message: number): Turn {
    const { sentTurns, headNotes, contents } = this;
    const head = sentTurns.last;
    const next = sentTurns.begin(message);
    // A notice of ours came back: the question behind it belongs to its answer, as it did when the notice was written.
    const note = headNotes.received.at(-1) ?? -1;
    if (next.number === 1 && sentTurns.taskMessage < note)
      moveQuestion(this, { row: head, next, from: Math.max(note + 1, questionIn(contents, head)) });
    return next;
  }

  #takeSegment(index: number, row: Turn): void {
    const segment = this.contents.segments[index] as Segment;
    const tokens = this.totals.addSegment(index, segment, row);
    if (segment.kind === 'observation') this.#takeResult(index, segment, row, tokens);
    else if (segment.kind === 'action') this.sentTurns.addCall(segment, row);
    else if (segment.kind === 'user') this.#takeUser(segment, row);
    if (segment.signed) this.#takeSigned(index, row);
  }

  #takeResult(index: number, segment: Segment, row: Turn, tokens: number): void {
    const call = this.sentTurns.answer(segment, row);
    const result = new Result(index, segment, row, call, tokens, isPlaceholder(segment.text, this.style.literal));
    this.contents.results[index] = result;
    this.sentTurns.observations.push(result);
    this.coverage?.add(result);
  }

  #takeUser(segment: Segment, row: Turn): void {
    const isNote = row.number === 0 && this.headNotes.read('user', segment.text, this.sentTurns.task) !== undefined;
    if (!isNote) this.sentTurns.addUser(segment, row);
  }

  #takeSigned(index: number, row: Turn): void {
    this.sentTurns.addSigned(index, row);
    if (this.keepSigned) this.revision += 1;
  }

  get format(): Format<M> {
    return this.contents.format;
  }
  get counter(): Counter {
    return this.contents.counter;
  }
  get messages(): readonly M[] {
    return this.contents.messages;
  }
  get segments(): readonly Segment[] {
    return this.contents.segments;
  }
  resultAt(segment: number): Result | undefined {
    return this.contents.results[segment];
  }

  get rows(): readonly Turn[] {
    return this.sentTurns.rows;
  }
  get lastRow(): Turn {
    return this.sentTurns.last;
  }
  get turns(): number {
    return this.sentTurns.rows.length - 1;
  }
  get observations(): readonly Result[] {
    return this.sentTurns.observations;
  }
  get lastSigned(): number {
    return this.sentTurns.lastSigned;
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
  /** How many messages are sent. */
  get sentMessages(): number {
    const kept = this.rows.reduce((sum, { from, to }) => sum + to - from, 0);
    return kept - this.headNotes.replaced().length + this.headNotes.inserted;
  }

  get text(): number {
    return this.textSums.beforeTurn(this.rows.length);
  }
  textOf(turn: number): number {
    return this.textSums.ofTurn(turn);
  }
  textBefore(observation: Observation): number {
    return this.textSums.beforeSegment(this.rows[observation.turn] as Turn, observation.segment);
  }

  /** Whether the laws let this result be edited at all. */
  isFree({ segment, original: { callId, bound } }: Result): boolean {
    return callId !== undefined && !bound && !(this.keepSigned && segment < this.lastSigned);
  }
  /** Whether turns may be left out at all: a signature covers the turns before it. */
  get mayDrop(): boolean {
    return !(this.keepSigned && this.lastSigned >= 0);
  }

  /** The messages that are left out with these turns. The question before the first turn that stays is not one of them. */
  removalOf(rows: Iterable<Turn>): Removal[] {
    const going = new Set(rows);
    const isBehindGap = ({ number }: Turn): boolean => going.has(this.rows[number - 1] as Turn);
    const first = this.rows.find((row) => !going.has(row) && isBehindGap(row));
    return [...going].map((row) => toRemoval(this, row, { keepsQuestion: row.number + 1 === first?.number }));
  }

  /** The messages of removals as they are sent, for the store; undefined if they cannot be written down. */
  write(removed: Iterable<Removal>): string | undefined {
    const lines: string[] = [];
    try {
      for (const { row, to } of removed)
        for (let i = row.from; i < to; i++) lines.push(JSON.stringify(this.contents.sent(i)) ?? 'null');
    } catch {
      return undefined;
    }
    return lines.join('\n');
  }
}

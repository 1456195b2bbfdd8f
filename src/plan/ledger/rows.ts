import { hiddenChars } from '../../laws/monotone.ts';
import type { ReplaceEdit, Segment } from '../../message.ts';
import type { Group } from '../arrival/reference-groups.ts';
import type { Observation } from '../policy.ts';
import type { LineRange, ToolKind } from '../tool-kind.ts';

export type Why = ReplaceEdit['why'];

/** Whether a result was made smaller when it was first sent. */
export const isArrival = (why: Why | undefined): boolean =>
  why !== undefined && why !== 'mask' && why !== 'clip' && why !== 'old-text';

/** Shared by turns without links, which are nearly all. */
const NONE: readonly Turn[] = [];

interface Gap {
  readonly from: number;
  readonly to: number;
}

export const NO_GAP: Gap = { from: -1, to: -1 };

/** One turn that is sent: a row of the ledger. */
export class Turn {
  /** Its place among the turns that are sent. Turn 0 holds the messages before the first reply to the task. */
  number: number;
  /** Its first message. */
  from: number;
  /** The message after its last one. */
  to: number;
  /** The messages between its question and its reply, left out before the question moved here. */
  gap = NO_GAP;
  tokens = 0;
  /** The size of its texts alone, in tokens: without framing, ids and names of results. */
  text = 0;
  chars = 0;
  openCalls = 0;
  hasUser = false;
  /** Whether the turn holds words of a user that do not look like a Palimpsest note. */
  hasWords = false;
  hasCalls = false;
  /** Its last segment that is signed over everything before it, or -1. */
  lastSigned = -1;
  /** Whether the turn was split off turn 0. It is never left out. */
  isHead = false;
  /** Turns that answer its calls, or whose calls it answers: all of them are left out, or none. */
  linked: readonly Turn[] = NONE;

  constructor(number: number, from: number) {
    this.number = number;
    this.from = from;
    this.to = from;
  }

  /** The number of its messages. */
  get size(): number {
    return this.to - this.from - (this.gap.to - this.gap.from);
  }

  /** Its messages, up to one of them. */
  *messages(end = this.to): Iterable<number> {
    for (let message = this.from; message < end; message++) {
      if (message === this.gap.from) message = this.gap.to;
      yield message;
    }
  }

  has(message: number): boolean {
    const isInGap = this.gap.from <= message && message < this.gap.to;
    return this.from <= message && message < this.to && !isInGap;
  }

  link(other: Turn): void {
    if (other === this || this.linked.includes(other)) return;
    this.linked = [...this.linked, other];
    other.linked = [...other.linked, this];
  }
}

/** The part of a call that its result needs. */
export interface Call {
  readonly row: Turn;
  readonly message: number;
  readonly segment: number;
  /** The arguments as sent. */
  args: string;
  /** Whether the arguments are the agent's own words, for a call without readable arguments. */
  readonly isProse: boolean;
}

/** A text that may replace a result. */
export interface Draft {
  /** The text that its handle recalls. */
  readonly stored: string;
  readonly text: string;
  readonly tokens: number;
  /** Undefined if no handle is shown. */
  readonly handle: string | undefined;
}

/** The purpose of a call, and how its result relates to other reads of the same file. */
export class Use {
  readonly kind: ToolKind;
  /** Whether the call changed the folder of the shell. */
  readonly moves: boolean;
  /** The lines that were asked for, if it is a read of known lines. */
  readonly read: LineRange | undefined;
  /** A newer read that shows all of it. */
  coveredBy: Result | undefined = undefined;
  /** The older reads that it covers first. */
  covers: readonly Result[] = NO_RESULTS;

  constructor(kind: ToolKind, moves: boolean, read: LineRange | undefined) {
    this.kind = kind;
    this.moves = moves;
    this.read = read;
  }
}

const NO_RESULTS: readonly Result[] = [];

/** The part of a result that an edit changes. */
export type ResultState = Pick<Result, 'text' | 'tokens' | 'masked' | 'why' | 'handle'>;

/** One result, in its original form and as it is sent. */
export class Result implements Observation {
  readonly segment: number;
  readonly original: Segment;
  row: Turn;
  readonly call: Call | undefined;
  text: string;
  tokens: number;
  masked: boolean;
  why: Why | undefined = undefined;
  handle: string | undefined = undefined;
  /** Its text in the previous request. */
  sentText: string;
  edit: ReplaceEdit | undefined = undefined;
  /** Its text in the last edit that a planner returned. */
  reported: string | undefined = undefined;
  group: Group | undefined = undefined;
  /** The older results that it refers to, and those that they refer to. */
  refersTo: readonly Result[] = NO_RESULTS;
  /** Undefined if the policy does not ask for kinds of tools. */
  use: Use | undefined = undefined;
  /** The placeholder for its current text, once computed; null if there can be none. */
  draft: Draft | null | undefined = undefined;

  constructor(segment: number, original: Segment, row: Turn, call: Call | undefined, tokens: number, masked: boolean) {
    this.segment = segment;
    this.original = original;
    this.row = row;
    this.call = call;
    this.text = original.text;
    this.sentText = original.text;
    this.tokens = tokens;
    this.masked = masked;
  }

  change({ text, tokens, masked, why, handle }: ResultState): void {
    this.text = text;
    this.tokens = tokens;
    this.masked = masked;
    this.why = why;
    this.handle = handle;
    this.draft = undefined;
    this.edit = undefined;
  }

  /** Its edit, created once and returned by every later call. */
  toEdit(): ReplaceEdit {
    const { segment, text, handle } = this;
    const why = this.why as Why;
    this.edit ??= Object.freeze<ReplaceEdit>(
      handle === undefined ? { kind: 'replace', segment, text, why } : { kind: 'replace', segment, text, why, handle },
    );
    return this.edit;
  }

  get kind(): ToolKind {
    return this.use?.kind ?? 'other';
  }
  get coveredBy(): Result | undefined {
    return this.use?.coveredBy;
  }
  get covers(): readonly Result[] {
    return this.use?.covers ?? NO_RESULTS;
  }
  /** The arguments of the call it answers. */
  get args(): string {
    return this.call?.args ?? '';
  }
  get turn(): number {
    return this.row.number;
  }
  get tool(): string | undefined {
    return this.original.tool;
  }
  get callId(): string | undefined {
    return this.original.callId;
  }
  get isError(): boolean {
    return this.original.isError === true;
  }
  get tags(): readonly string[] {
    return this.original.tags ?? NO_TAGS;
  }
  /** Its size in characters, including images and files, which the first edit removes. */
  get chars(): number {
    return this.why === undefined ? hiddenChars(this.original) : this.text.length;
  }
  get mediaBytes(): number {
    const media = this.why === undefined ? this.original.media : undefined;
    return media ? media.reduce((sum, item) => sum + item.bytes, 0) : 0;
  }
}

const NO_TAGS: readonly string[] = [];

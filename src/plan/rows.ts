import { hiddenChars } from '../laws/monotone.ts';
import type { Kind, ReplaceEdit, Segment } from '../message.ts';
import type { Observation } from './policy.ts';
import type { LineRange, ToolKind } from './tool-kind.ts';

export type Why = ReplaceEdit['why'];

/** Nearly no turn is linked to another. */
const NONE: readonly Turn[] = [];

/** One turn that goes out. */
export class Turn {
  /** Counted among the turns that go out; turn 0 is what came before the first reply. */
  number: number;
  from: number;
  to: number;
  tokens = 0;
  /** Its texts alone, without framing, ids and names of results. */
  text = 0;
  chars = 0;
  openCalls = 0;
  hasUser = false;
  /** Words of a user that do not read like a note of ours. */
  hasWords = false;
  hasCalls = false;
  /** Its last segment that is signed over everything before it, or -1. */
  lastSigned = -1;
  /** Part of what came before the first reply: never left out. */
  isHead = false;
  /** Turns that answer its calls, or whose calls it answers: they can only go together. */
  linked: readonly Turn[] = NONE;

  constructor(number: number, from: number) {
    this.number = number;
    this.from = from;
    this.to = from;
  }

  link(other: Turn): void {
    if (other === this || this.linked.includes(other)) return;
    this.linked = [...this.linked, other];
    other.linked = [...other.linked, this];
  }
}

/** A call, as far as its result needs to know it. */
export interface Call {
  readonly row: Turn;
  readonly message: number;
  readonly args: string;
}

/** A placeholder, its size, and what its handle stands for. */
export interface Draft {
  readonly stored: string;
  readonly text: string;
  readonly tokens: number;
  /** Where it is shown. */
  readonly handle: string | undefined;
}

/** What a call did, and how its result stands to other reads of the same file. */
export class Use {
  readonly kind: ToolKind;
  /** It changed the folder of the shell. */
  readonly moves: boolean;
  /** The lines that it shows, if it is a read that can be told. */
  readonly range: LineRange | undefined;
  /** A newer read that shows all of it. */
  coveredBy: Result | undefined = undefined;
  /** The older reads that it is the first to cover. */
  covers: readonly Result[] = NO_RESULTS;

  constructor(kind: ToolKind, moves: boolean, range: LineRange | undefined) {
    this.kind = kind;
    this.moves = moves;
    this.range = range;
  }
}

const NO_RESULTS: readonly Result[] = [];

/** One result, as it came and as it goes out. */
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
  /** Its text as the request before this one carried it. */
  sentText: string;
  edit: ReplaceEdit | undefined = undefined;
  /** Its text in the edit that a planner answered last. */
  reported: string | undefined = undefined;
  /** What its call did, where the policy asks for it. */
  use: Use | undefined = undefined;
  /** The placeholder that would hide its present text, once worked out; null where there can be none. */
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
  /** Its size in characters, images and files included: those go with the first edit. */
  get chars(): number {
    return this.why === undefined ? hiddenChars(this.original) : this.text.length;
  }
  get mediaBytes(): number {
    const media = this.why === undefined ? this.original.media : undefined;
    return media ? media.reduce((sum, item) => sum + item.bytes, 0) : 0;
  }
}

const NO_TAGS: readonly string[] = [];

export interface Sizes {
  tokens: number;
  chars: number;
}

export type ByKind = Record<Kind, Sizes>;

export function emptySizes(): ByKind {
  const none = (): Sizes => ({ tokens: 0, chars: 0 });
  return { system: none(), user: none(), reasoning: none(), action: none(), observation: none() };
}

export function contentTokens(segment: Segment, textTokens: number): number {
  return segment.media ? segment.media.reduce((sum, item) => sum + item.tokens, textTokens) : textTokens;
}

/** What the framing of a message costs, beside its text. */
export const MESSAGE_TOKENS = 4;

/** Ids are random letters and digits, about two to a token; names are words. */
export function nameTokens({ tool, callId }: Segment): number {
  return (
    (callId === undefined ? 0 : Math.ceil(callId.length / 2)) + (tool === undefined ? 0 : Math.ceil(tool.length / 4))
  );
}

/** Arguments of a call that stand apart from the text of its message. */
export const isArguments = ({ kind, path }: Segment): boolean =>
  kind === 'action' && !(path.length === 1 && path[0] === 'content');

/** The kind of a piece of a conversation, whatever the provider calls it. */
export type Kind = 'system' | 'user' | 'reasoning' | 'action' | 'observation';

/** An image, a file or a block this version does not know: sized, never read. */
export interface Media {
  /** The sort of content, as far as the provider says. */
  readonly type: 'image' | 'audio' | 'video' | 'file' | 'other';
  /** The size of the content, decoded. */
  readonly bytes: number;
  /** The estimate of what the provider counts for it. */
  readonly tokens: number;
}

/** One piece of a message: its content, and its place in the caller's own object. */
export interface Segment {
  /** The sort of content. */
  readonly kind: Kind;
  /** Turns count from 1; turn 0 is everything before the first reply. */
  readonly turn: number;
  /** Index into the caller's list. */
  readonly message: number;
  /** The place of the content in that message. */
  readonly path: readonly (string | number)[];
  /** Its text parts, joined with newlines. For an action: its arguments. */
  readonly text: string;
  /** For a result: the call it answers. A result that answers no call has none, and is never edited. */
  readonly callId?: string | undefined;
  /** The name of the tool, for calls and results. */
  readonly tool?: string | undefined;
  /** The result says that its call failed. */
  readonly isError?: boolean | undefined;
  /** Images, files and unknown blocks in it. */
  readonly media?: readonly Media[] | undefined;
  /** Signed, encrypted or owned by the provider: never edited. */
  readonly bound?: boolean | undefined;
  /** Bound to the exact bytes of everything before it (Anthropic's preserved thinking). */
  readonly signed?: boolean | undefined;
  /** The caller's own marks on the message (format `chat`). */
  readonly tags?: readonly string[] | undefined;
}

/** One change to a history. */
export type Edit = ReplaceEdit | DropEdit | InsertEdit;

/** Replaces the whole content of a result, or the arguments of a call, by one text. */
export interface ReplaceEdit {
  /** The kind of edit. */
  readonly kind: 'replace';
  /** Index into the view of the list the plan was made for. */
  readonly segment: number;
  /** The text that is sent in its place. */
  readonly text: string;
  /** Masked, cut later, or made smaller when it was first sent. `old-text`: a call, without the text that its edit replaced. */
  readonly why: 'mask' | 'clip' | 'truncate' | 'clean' | 'references' | 'shell-output' | 'old-text';
  /** The handle by which the hidden text is recalled. Absent if handles are off. */
  readonly handle?: string;
}

/** Leaves out the messages `from` up to, not including, `to`. */
export interface DropEdit {
  /** The kind of edit. */
  readonly kind: 'drop';
  /** Index of the first message that is left out. */
  readonly from: number;
  /** Index of the first message after them that stays. */
  readonly to: number;
}

/** Inserts a note before a message. */
export interface InsertEdit {
  /** The kind of edit. */
  readonly kind: 'insert';
  /** Index of the message that follows the note. */
  readonly before: number;
  /** The role in which the provider accepts the note. */
  readonly role: NoteRole;
  /** The words of the note. */
  readonly text: string;
}

/** The role of a note. */
export type NoteRole = 'system' | 'user';

/** A decision as plain data: it can be applied, stored, replayed, drawn and explained. */
export interface Plan {
  /** Grows when plans of this version can no longer be applied. */
  readonly version: 1;
  /** In the order of the list they are for. */
  readonly edits: readonly Edit[];
}

export const EMPTY_PLAN: Plan = Object.freeze({ version: 1, edits: Object.freeze([]) });

/** Something a provider would reject, in its own words. */
export interface Violation {
  /** The law that is broken. */
  readonly law: LawName;
  /** Index of the message. */
  readonly message: number;
  /** The problem, in the provider's own words. */
  readonly text: string;
  /** The call or block it is about: with the law it names the same violation in an edited list. */
  readonly about?: string;
}

export type LawName =
  | 'pairs'
  | 'metadata'
  | 'bound-reasoning'
  | 'roles'
  | 'task'
  | 'monotone'
  | 'idempotent'
  | 'stable-prefix'
  | 'text'
  | 'no-mutation';

/** Views one message after the other, so that a new message takes time only for itself. */
export interface Viewer<M> {
  /** The turn of the message added last. It grows when that message begins a reply. */
  readonly turn: number;
  /** The message added last is the model's. */
  readonly isReply: boolean;
  /** Appends the segments of the next message to `into`. */
  add(message: M, into: Segment[]): void;
}

/** A lens on one provider's messages: it views and edits them instead of converting them. */
export interface Format<M = unknown> {
  /** The name that the option `format` takes. */
  readonly name: FormatName;
  /** The role of a notice or summary among the messages. */
  readonly noteRole: NoteRole;
  /** Starts a view that takes one message at a time. */
  viewer(): Viewer<M>;
  /** The segments of a list, in order. */
  view(messages: readonly M[]): readonly Segment[];
  /** The list with the edits of a plan. Messages that no edit names are the same objects. */
  apply(messages: readonly M[], plan: Plan): M[];
  /** The violations that the provider would reject. A call still open at the end is legal. */
  check(messages: readonly M[]): readonly Violation[];
  /** `edit` can replace the arguments of a call too. */
  readonly editsCalls?: true;
  /** A copy of one message with the content of a segment replaced, or the arguments of a call. Everything else in it is shared. */
  edit(message: M, segment: Segment, text: string): M;
  /** A message of our own: a notice or a summary. */
  note(role: NoteRole, text: string, messages: readonly M[]): M;
  /** The text to store when this result, or the old text of this call, is hidden; undefined if it cannot be written down. */
  original(message: M, segment: Segment): string | undefined;
}

/** Any format, where the type of its messages does not matter. */
export type AnyFormat = Pick<Format<never>, 'name' | 'noteRole' | 'view' | 'check'>;

/** The names of all formats. */
export type FormatName =
  | 'chat'
  | 'openai-chat'
  | 'openai-responses'
  | 'anthropic'
  | 'gemini'
  | 'ai-sdk'
  | 'langchain'
  | 'openai-agents'
  | 'ollama'
  | 'bedrock-converse'
  | 'pi';

/** The neutral message list of `HistoryReducer`. */
export interface ChatMessage {
  /** The speaker. */
  role: 'system' | 'user' | 'assistant' | 'tool';
  /** The text. */
  content: string;
  /** The name of the tool, for a result. */
  name?: string;
  /** The call that a result answers. */
  toolCallId?: string;
  /** Pairs a call with its result if there is no `toolCallId`. */
  pairId?: string;
  /** Whether this message is the call or the result of the pair. */
  pairRole?: 'call' | 'result';
  /** The caller's own marks, for `keepTags` and `removeTags`. */
  tags?: string[];
  /** The calls that a reply makes. */
  toolCalls?: { id: string; name: string; arguments: string }[];
}

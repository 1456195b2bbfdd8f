import type { ChatMessage } from '../../message.ts';
import type { Context, ReplyFacts } from '../run.ts';

/** A context without its file and format. */
export type Draft = Omit<Context, 'file' | 'format'>;

export interface Call {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly arguments: string;
}

export interface ReplyPart extends ReplyFacts {
  /** Parts with the same key are one reply. Without a key, every part is one. */
  readonly key?: string | undefined;
  readonly text?: string | undefined;
  readonly calls?: readonly Call[];
  readonly time?: number | undefined;
}

interface Answer {
  readonly callId?: string | undefined;
  readonly name?: string | undefined;
  readonly text: string;
  readonly time?: number | undefined;
}

interface OpenCall {
  readonly id: string | undefined;
  readonly unique: string;
  readonly name: string;
  readonly reply: ChatMessage;
}

/** Records the messages of a context in order, and pairs results with calls. */
export class Transcript {
  readonly run: number;
  #messages: ChatMessage[] = [];
  #times: (number | undefined)[] = [];
  #facts = new Map<ChatMessage, ReplyFacts>();
  #replies = new Map<string, ChatMessage>();
  #open: OpenCall[] = [];
  /** The number of calls with each id. */
  #ids = new Map<string, number>();
  #last: ChatMessage | undefined;
  #turns = 0;
  #carriedTurns = 0;

  constructor(run = 0) {
    this.run = run;
  }

  get isEmpty(): boolean {
    return this.#messages.length === 0;
  }

  /** The number of replies. */
  get turns(): number {
    return this.#turns;
  }

  /** The number of messages. */
  get length(): number {
    return this.#messages.length;
  }

  /** Adds a message of the user or the system. An empty text adds nothing. */
  say(role: 'system' | 'user', text: string, time?: number): void {
    if (text !== '') this.#add({ role, content: text }, time);
  }

  /** Begins a reply, or adds to the one with the same key, even after results. */
  reply({ key, text = '', calls = [], time, ...facts }: ReplyPart): void {
    const reply = (key === undefined ? undefined : this.#replies.get(key)) ?? this.#newReply(key, time);
    this.#learn(reply, facts);
    if (text !== '') reply.content = reply.content === '' ? text : `${reply.content}\n${text}`;
    for (const call of calls) this.#call(reply, call);
  }

  /** Adds a result. A result that answers no open call is kept without the id of a call. */
  answer({ callId, name, text, time }: Answer): void {
    const call = this.#answered(callId);
    const tool = name ?? call?.name;
    const message: ChatMessage = { role: 'tool', content: text };
    if (tool !== undefined) message.name = tool;
    if (call) message.toolCallId = call.unique;
    this.#add(message, time);
  }

  /** Adds facts that the log has after the last reply. */
  learn(facts: ReplyFacts): void {
    if (this.#last) this.#learn(this.#last, facts);
  }

  /** Whether a reply with this key has begun in this context. */
  hasReply(key: string): boolean {
    return this.#replies.has(key);
  }

  /** Whether this call was made in this context, answered or not. */
  hasCall(id: string): boolean {
    return this.#ids.has(id);
  }

  /** The first call of the last reply that has no result yet. */
  get nextCall(): string | undefined {
    return this.#open.find(({ reply }) => reply === this.#last)?.unique;
  }

  /** Ends the context and begins the next. Returns the context, unless it has no reply. */
  cut(): Draft[] {
    const draft = {
      run: this.run,
      messages: this.#messages,
      times: this.#times,
      replies: [...this.#facts.values()],
      carriedTurns: this.#carriedTurns,
    };
    const isNew = this.#turns > this.#carriedTurns;
    this.#messages = [];
    this.#times = [];
    this.#facts = new Map();
    this.#replies = new Map();
    this.#open = [];
    this.#ids = new Map();
    this.#last = undefined;
    this.#turns = 0;
    this.#carriedTurns = 0;
    return isNew ? [draft] : [];
  }

  /** Ends the context and begins the next with the first messages of this one. Later messages without a reply are only removed. */
  goBack(length: number): Draft[] {
    if (!this.#messages.slice(length).some(({ role }) => role === 'assistant')) {
      this.#messages.length = Math.min(length, this.#messages.length);
      this.#times.length = this.#messages.length;
      return [];
    }
    const kept = this.#messages.slice(0, length);
    const times = this.#times.slice(0, length);
    const facts = this.#facts;
    const drafts = this.cut();
    for (const message of kept) this.#keep(message, facts.get(message));
    this.#times = times;
    this.markCarried();
    return drafts;
  }

  /** Marks the turns so far as carried over, word for word, from the previous context. */
  markCarried(): void {
    this.#carriedTurns = this.#turns;
  }

  #keep(message: ChatMessage, facts: ReplyFacts | undefined): void {
    const copy = { ...message };
    this.#messages.push(copy);
    for (const { id } of copy.toolCalls ?? []) this.#uniqueId(id);
    if (copy.role !== 'assistant') return;
    this.#facts.set(copy, facts ?? {});
    this.#turns += 1;
    this.#last = copy;
  }

  #add(message: ChatMessage, time: number | undefined): void {
    this.#messages.push(message);
    this.#times.push(time);
  }

  #newReply(key: string | undefined, time: number | undefined): ChatMessage {
    const reply: ChatMessage = { role: 'assistant', content: '' };
    this.#add(reply, time);
    this.#facts.set(reply, {});
    this.#turns += 1;
    this.#last = reply;
    if (key !== undefined) this.#replies.set(key, reply);
    return reply;
  }

  /** Lines of one reply repeat its usage; the last one has all of its output. */
  #learn(reply: ChatMessage, { model, usage }: ReplyFacts): void {
    const known = this.#facts.get(reply);
    this.#facts.set(reply, { model: model ?? known?.model, usage: usage ?? known?.usage });
  }

  #call(reply: ChatMessage, call: Call): void {
    const unique = this.#uniqueId(call.id ?? 'call');
    const name = call.name ?? 'tool';
    reply.toolCalls ??= [];
    reply.toolCalls.push({ id: unique, name, arguments: call.arguments });
    this.#open.push({ id: call.id, unique, name, reply });
  }

  #uniqueId(id: string): string {
    const count = (this.#ids.get(id) ?? 0) + 1;
    this.#ids.set(id, count);
    return count === 1 ? id : this.#uniqueId(`${id}#${count}`);
  }

  /** If ids repeat, a result belongs to the newest reply with an open call of that id, and there to the first such call. */
  #answered(id: string | undefined): OpenCall | undefined {
    if (id === undefined) return undefined;
    const fits = (call: OpenCall): boolean => call.id === id || call.unique === id;
    const last = this.#open.findLast(fits)?.reply;
    const at = this.#open.findIndex((call) => call.reply === last && fits(call));
    return last === undefined ? undefined : this.#open.splice(at, 1)[0];
  }
}

import { defined } from '../../../options.ts';
import type { Cut } from '../../../plan/held-cut.ts';
import type { SummaryRequest } from '../../../plan/summary.ts';
import type { SummaryLog } from '../../../store/summary-log.ts';
import { sizeOfMessages } from '../../budget/sizes.ts';
import { trimMessages } from '../../budget/trim-messages.ts';
import { openCallsOf } from '../../open-calls.ts';
import type { Place } from '../log/event-line.ts';
import type { EventBody, SessionEvent, SessionStatus } from '../session-event.ts';
import { type SentState, SessionView, type ViewOptions } from './session-view.ts';

/** A message, its key (`12` for the message of event 12, `12.0` for the first of several in one event), and its event's place. */
interface Entry<M> {
  readonly key: string;
  readonly message: M;
  readonly place: Place;
}

/** The last provider count, and the size of the view at that time. Completion tokens are the sum since the last restart. */
interface KnownUsage {
  readonly prompt_tokens: number;
  readonly view_tokens?: number | undefined;
  readonly completion_tokens: number;
}

interface Approval {
  readonly tool: string;
  readonly arguments?: unknown;
}

/** A person's decision about a call that was not made yet. */
export interface CallDecision {
  readonly approved: boolean;
  readonly reason?: string;
}

/** What is known about a conversation beside its messages. */
interface Facts {
  number: number;
  status: SessionStatus;
  turns: number;
  /** The number of turn 0 of this conversation: one more than all turns before the last restart. */
  turns_before: number;
  total_masked: number;
  winding_down: boolean;
  usage?: KnownUsage | undefined;
  cut?: Cut | undefined;
  /** The event that started the last run. */
  run_start?: number | undefined;
  /** The time of the last reply. */
  replied?: string | undefined;
}

/** The facts about an empty conversation. Also names all of them. */
const NEW: Facts = {
  number: 1,
  status: 'active',
  turns: 0,
  turns_before: 0,
  total_masked: 0,
  winding_down: false,
  usage: undefined,
  cut: undefined,
  run_start: undefined,
  replied: undefined,
};

/** The state that the events add up to, as data. Messages are listed by their keys. */
export interface ConversationState<M> extends Readonly<Facts>, Omit<SentState<M>, 'keys'> {
  /** The number of failed summaries in a row. */
  readonly summary_failures?: number;
  readonly approvals: Readonly<Record<string, Approval>>;
  /** Left out if there is none. */
  readonly decisions?: Readonly<Record<string, CallDecision>>;
  readonly skipped: Readonly<Record<string, string>>;
  readonly messages: readonly string[];
  /** Messages that the policy leaves out of requests. */
  readonly left_out: readonly string[];
}

export interface ConversationOptions<M> extends Omit<ViewOptions<M>, 'summarize'> {
  /** The summaries of this conversation, if the caller's function writes them. */
  readonly summaries?: SummaryLog | undefined;
  /** The most messages in memory. */
  readonly limit: number;
}

type Folds<M> = {
  readonly [T in EventBody<M>['type']]?: (event: Extract<SessionEvent<M>, { readonly type: T }>, place: Place) => void;
};

/** The fold of a session's events: the messages since the last restart, and what would be sent of them. */
export class Conversation<M> {
  readonly #options: ConversationOptions<M>;
  #entries: Entry<M>[] = [];
  #messages: readonly M[] | undefined;
  #view: SessionView<M>;
  #approvals = new Map<string, Approval>();
  #decisions: ReadonlyMap<string, CallDecision> = new Map();
  #skipped = new Map<string, string>();
  #facts = { ...NEW };

  constructor(options: ConversationOptions<M>) {
    this.#options = options;
    this.#view = new SessionView({ ...options, summarize: options.summaries?.find });
  }

  get view(): SessionView<M> {
    return this.#view;
  }

  get facts(): Readonly<Facts> {
    return this.#facts;
  }

  messages(): readonly M[] {
    this.#messages ??= Object.freeze(this.#entries.map(({ message }) => message));
    return this.#messages;
  }

  /** Whether the next message may make turns leave memory. */
  get isFull(): boolean {
    return this.#entries.length >= this.#options.limit;
  }

  /** The positions of the events that hold the messages in memory, oldest first. */
  places(): readonly (readonly [key: string, place: Place])[] {
    return this.#entries.map(({ key, place }) => [key, place]);
  }

  /** Updates the positions of events after a compaction. */
  moved(to: (place: Place) => Place): void {
    this.#entries = this.#entries.map((entry) => ({ ...entry, place: to(entry.place) }));
  }

  apply(event: SessionEvent<M>, place: Place): void {
    // Event types can be any name, also that of an inherited property such as `toString`.
    if (!Object.hasOwn(this.#folds, event.type)) return;
    const fold = this.#folds[event.type] as ((event: SessionEvent<M>, place: Place) => void) | undefined;
    fold?.(event, place);
  }

  readonly #folds: Folds<M> = {
    session_start: ({ arrival }) => {
      this.#view.beginArrival(arrival);
    },
    arrival: ({ clean, references, shell_output, truncate, truncation }) => {
      this.#view.beginArrival({ clean, references, shell_output, truncate, truncation });
    },
    arrival_skipped: ({ results }) => {
      this.#view.keepWhole(results);
    },
    cold_epoch: ({ masks }) => {
      this.#view.mask(masks);
    },
    message: ({ seq, time, message, before }, place) => {
      if (this.#facts.status === 'completed') this.#facts.status = 'active';
      const at = before === undefined ? -1 : this.#entries.findIndex(({ key }) => key === before);
      if (at < 0 && this.#add(String(seq), message, place)) this.#facts.replied = time;
      else if (at >= 0) this.#insert(String(seq), message, { place, at });
      this.#trim();
      // A later call may have the same id. Nobody has decided about that one.
      this.#decisions = this.#ofOpen(this.#decisions);
    },
    token_usage: ({ prompt_tokens, completion_tokens, view_tokens, winding_down = false }) => {
      const before = this.#facts.usage?.completion_tokens ?? 0;
      this.#facts.usage = { prompt_tokens, view_tokens, completion_tokens: before + completion_tokens };
      this.#facts.winding_down = winding_down;
    },
    context_mask: ({ masks, observations_masked, total_masked, prompt_tokens, view_tokens }) => {
      this.#view.mask(masks);
      const { usage } = this.#facts;
      this.#facts.total_masked = total_masked ?? this.#facts.total_masked + observations_masked;
      if (usage && prompt_tokens !== undefined) this.#facts.usage = { ...usage, prompt_tokens, view_tokens };
    },
    context_cut: ({ cut, first }) => {
      if (first === undefined || first === (this.keyAt(0) ?? null)) this.#facts.cut = cut ?? undefined;
    },
    context_summary: ({ replaced, text, failed }) => {
      this.#options.summaries?.record(replaced, text ?? { failed: failed ?? 'summarize failed' });
      this.#view.planAgain();
    },
    run_start: ({ seq }) => {
      this.#facts.run_start = seq;
    },
    wind_down: () => {
      this.#facts.winding_down = true;
    },
    session_restart: ({ seq, session_number, messages }, place) => {
      this.#clear({ number: session_number });
      for (const [i, message] of messages.entries()) this.#add(`${seq}.${i}`, message, place);
    },
    reset: () => {
      this.#clear({ status: 'active', number: 1 });
    },
    session_end: () => {
      this.#facts.status = 'completed';
    },
    status_change: ({ to }) => {
      this.#facts.status = to;
    },
    approval_required: ({ call_id, tool, ...rest }) => {
      this.#approvals.set(call_id, 'arguments' in rest ? { tool, arguments: rest.arguments } : { tool });
      this.#decisions = new Map([...this.#decisions].filter(([id]) => id !== call_id));
    },
    approval_decision: ({ call_id, decision, reason }) => {
      this.#approvals.delete(call_id);
      const decided = { approved: decision === 'approved', ...defined({ reason }) };
      this.#decisions = this.#ofOpen(new Map([...this.#decisions, [call_id, decided]]));
    },
    tools_skipped: ({ call_ids, reason }) => {
      for (const id of call_ids) this.#skipped.set(id, reason);
    },
  };

  /** The estimated size of the view. */
  viewTokens(): number {
    return sizeOfMessages(this.#view.messages(), this.#options.format, this.#options.counter);
  }

  /** The size that a provider would count now. Undefined if no provider has reported usage. */
  promptTokens(): number | undefined {
    const { prompt_tokens = 0, view_tokens } = this.#facts.usage ?? {};
    if (prompt_tokens <= 0) return undefined;
    return view_tokens === undefined ? prompt_tokens : Math.max(1, prompt_tokens + this.viewTokens() - view_tokens);
  }

  /** Whether the view holds a provisional summary. The next render requests the real one. */
  get isProvisional(): boolean {
    return this.#options.summaries?.isMissing === true;
  }

  /** A summary that the view needs and that is not written yet. */
  missingSummary(): SummaryRequest | undefined {
    const { summaries } = this.#options;
    if (!summaries?.takeMissing()) return undefined;
    // The request may be outdated: messages may have been added since.
    this.#view.planAgain();
    const missing = summaries.takeMissing();
    return missing && { ...missing, messages: this.#view.originalsOf(missing.messages as readonly M[]) };
  }

  /** The number of messages in the view from before the loop of the last run. Undefined if the loop has not begun. */
  conversationMessages(): number | undefined {
    const { run_start: start } = this.#facts;
    if (start === undefined) return undefined;
    const length = this.#view.items().findIndex(({ key }) => key !== undefined && Number.parseInt(key, 10) > start);
    return length < 0 ? undefined : length;
  }

  /** The key of the message at this index. */
  keyAt(index: number): string | undefined {
    return this.#entries[index]?.key;
  }

  /** The open calls that wait for a person. */
  approvals(): ReadonlyMap<string, Approval> {
    return this.#ofOpen(this.#approvals);
  }

  /** The decisions about open calls. */
  decisions(): ReadonlyMap<string, CallDecision> {
    return this.#ofOpen(this.#decisions);
  }

  /** The open calls that will not be made, and why. */
  skipped(): ReadonlyMap<string, string> {
    return this.#ofOpen(this.#skipped);
  }

  dump(): ConversationState<M> {
    const { keys, ...sent } = this.#view.dump();
    const isSent = new Set(keys);
    const messages = this.#entries.map(({ key }) => key);
    return {
      ...(defined(this.#facts) as Facts),
      ...(this.#options.summaries ? { summary_failures: this.#options.summaries.failures } : {}),
      approvals: Object.fromEntries(this.approvals()),
      ...(this.decisions().size > 0 ? { decisions: Object.fromEntries(this.decisions()) } : {}),
      skipped: Object.fromEntries(this.skipped()),
      messages,
      left_out: messages.filter((key) => !isSent.has(key)),
      ...sent,
    };
  }

  /** Restores the state that `dump` wrote. Answers the keys of messages that were not found. */
  load(state: ConversationState<M>, find: (key: string) => { message: M; place: Place } | undefined): string[] {
    this.clear();
    // Older versions wrote fewer facts.
    const known = Object.keys(NEW).map((name) => [name, state[name as keyof Facts]]);
    this.#facts = { ...NEW, ...defined(Object.fromEntries(known)) };
    this.#entries = state.messages.flatMap((key) => {
      const found = find(key);
      return found ? [{ key, ...found }] : [];
    });
    const byKey = new Map(this.#entries.map(({ key, message }) => [key, message]));
    const leftOut = new Set(state.left_out);
    const keys = state.messages.filter((key) => !leftOut.has(key));
    this.#view.load({ ...state, keys }, (key) => byKey.get(key));
    if (this.#options.summaries) this.#options.summaries.failures = state.summary_failures ?? 0;
    this.#approvals = new Map(Object.entries(state.approvals));
    this.#decisions = new Map(Object.entries(state.decisions ?? {}));
    this.#skipped = new Map(Object.entries(state.skipped));
    return state.messages.filter((key) => !byKey.has(key));
  }

  /** Returns to the empty state. */
  clear(): void {
    this.#clear({});
    this.#facts = { ...NEW };
  }

  #ofOpen<T>(known: ReadonlyMap<string, T>): ReadonlyMap<string, T> {
    if (known.size === 0) return known;
    const ids = new Set(openCallsOf(this.#options.format, this.messages()).map(({ id }) => id));
    return new Map([...known].filter(([id]) => ids.has(id)));
  }

  /** Answers whether the message begins a reply. */
  #add(key: string, message: M, place: Place): boolean {
    this.#entries.push({ key, message, place });
    this.#messages = undefined;
    const beginsReply = this.#view.add(message, key);
    if (beginsReply) this.#facts.turns += 1;
    return beginsReply;
  }

  #insert(key: string, message: M, { place, at }: { readonly place: Place; readonly at: number }): void {
    const next = this.#entries.slice(at).map((entry) => entry.key);
    this.#entries.splice(at, 0, { key, message, place });
    this.#messages = undefined;
    const index = this.#view.insert(message, key, next);
    // A cut counts messages from the start. The insertion has moved some that it counted, so it is no longer valid.
    if (this.#facts.cut && this.#facts.cut.messages > index) this.#facts.cut = undefined;
  }

  #trim(): void {
    const { limit, format } = this.#options;
    if (this.#entries.length <= limit) return;
    const start = this.#facts.run_start ?? 0;
    const conversationMessages = this.#entries.filter(({ key }) => Number.parseInt(key, 10) < start).length;
    const options = { maxMessages: limit, format, conversationMessages };
    const kept = new Set(trimMessages(this.messages(), options).messages);
    const dropped = this.#entries.filter(({ message }) => !kept.has(message));
    if (dropped.length === 0) return;
    this.#entries = this.#entries.filter(({ message }) => kept.has(message));
    this.#messages = undefined;
    this.#view.drop(dropped);
    // A cut counts messages from the start, and these have changed.
    this.#facts.cut = undefined;
  }

  /** Begins an empty conversation after this one. The other facts are those of a new one. */
  #clear(next: Partial<Facts>): void {
    this.#entries = [];
    this.#messages = undefined;
    this.#view = this.#view.next();
    this.#approvals.clear();
    this.#decisions = new Map();
    this.#skipped.clear();
    const { number, status, turns, turns_before } = this.#facts;
    this.#facts = { ...NEW, number, status, turns_before: turns_before + turns + 1, ...next };
  }
}

import { readNotice } from '../../laws/idempotent.ts';
import type { Edit, Format, Segment } from '../../message.ts';
import { createPlanner } from '../../plan/fit.ts';
import { showHandle } from '../../plan/handles.ts';
import type { Hidden } from '../../plan/ledger/hidden.ts';
import { writeNotice } from '../../plan/notes.ts';
import type { Planner } from '../../plan/planner.ts';
import type { Policy, Truncation } from '../../plan/policy.ts';
import type { Summarize, SummaryAuthor } from '../../plan/summary.ts';
import { handleOf } from '../../store/handle.ts';
import type { Counter } from '../../tokens/counter.ts';
import { encodeValue } from './encode-value.ts';
import type { Mask } from './session-event.ts';

export interface ViewOptions<M> {
  readonly format: Format<M>;
  readonly policy: Policy;
  readonly counter: Counter;
  /** Handles are shown where there is a store, and named `recall` where the model has that tool. */
  readonly show: 'nothing' | 'handle' | 'recall';
  readonly maxResultTokens: number;
  readonly truncation: Truncation;
  /** Finds the summaries that were written, in place of the policy's own function. */
  readonly summarize?: Summarize | undefined;
}

/** A message as it goes out; a note of ours has no key. */
export interface Item<M> {
  readonly key?: string;
  /** As it was added. */
  readonly original: M;
  readonly message: M;
  /** The segments of the message that are masked. Large results that were only cut on arrival are not among them. */
  readonly masked: ReadonlySet<number>;
}

const NOTHING: ReadonlySet<number> = new Set();

/** How what goes out differs from what was added, as data. Results that are cut on arrival are cut again when it is loaded. */
export interface SentState<M> {
  /** The messages that go out. */
  readonly keys: readonly string[];
  readonly masks: readonly Mask[];
  /** Notes of ours: each stands before that message, or at the end. */
  readonly notes: readonly { readonly before?: string; readonly note: M }[];
}

/** The messages that would be sent now: results cut when they arrive, then masked by the policy or by force. */
export class SessionView<M> {
  readonly #options: ViewOptions<M>;
  #items: Item<M>[] = [];
  #planner: Planner<M>;
  /** What was hidden before the planner that is there now. */
  #hidden: Hidden[] = [];
  #sent: readonly Item<M>[] | undefined;
  #messages: readonly M[] | undefined;

  constructor(options: ViewOptions<M>) {
    this.#options = options;
    this.#planner = this.#newPlanner();
  }

  /** Answers whether the message begins a reply. */
  add(message: M, key?: string): boolean {
    const { replies } = this.#planner.ledger;
    const item = { ...(key === undefined ? {} : { key }), original: message, message, masked: NOTHING };
    this.#items.push(item);
    this.#take([item]);
    return this.#planner.ledger.replies > replies;
  }

  /** Puts a message before the first of these that goes out, as if it had come before it. Answers its index. */
  insert(message: M, key: string, next: readonly string[]): number {
    const items = this.items();
    const found = items.findIndex((item) => item.key !== undefined && next.includes(item.key));
    const index = found < 0 ? items.length : found;
    const item = { key, original: message, message, masked: NOTHING };
    this.#rebase([...items.slice(0, index), item, ...items.slice(index)]);
    return index;
  }

  /** As they go out. */
  items(): readonly Item<M>[] {
    this.#sent ??= this.#align();
    return this.#sent;
  }

  messages(): readonly M[] {
    this.#messages ??= Object.freeze(this.items().map(({ message }) => message));
    return this.#messages;
  }

  /** Applies the masks to all later requests. */
  mask(masks: readonly Mask[]): void {
    const masksOf = groupMasks(masks);
    const hidden: Hidden[] = [];
    const items = this.items().map((item) => {
      const own = this.#newMasks(item.message, masksOf.get(item.key ?? ''));
      for (const { segment } of own) hidden.push(...this.#hide(item.message, segment));
      if (own.length === 0) return item;
      const masked = new Set([...item.masked, ...own.map(({ segment }) => segment)]);
      return { ...item, message: this.#applyMasks(item.message, own), masked };
    });
    if (hidden.length === 0) return;
    this.#rebase(items);
    this.#hidden.push(...hidden);
  }

  #newMasks(message: M, masks: readonly Mask[] = []): readonly Mask[] {
    const segments = masks.length > 0 ? this.#segments(message) : [];
    return masks.filter(({ segment, text }) => segments[segment] !== undefined && segments[segment]?.text !== text);
  }

  #hide(message: M, index: number): Hidden[] {
    const segment = this.#segments(message)[index];
    const text = segment && this.#options.format.original(message, segment);
    if (!segment || text === undefined) return [];
    return [{ handle: handleOf(text), text, why: 'mask', turn: segment.turn, tool: segment.tool }];
  }

  /** Leaves messages out and says so in their place. */
  drop(keys: ReadonlySet<string>, dropped: readonly M[]): void {
    const earlier = this.items().filter((item) => this.#omitted(item) !== undefined);
    const notices = earlier.flatMap((item) => this.#segments(item.message).map(({ text }) => text));
    const text = [...notices, ...dropped.map(encodeValue)].join('\n');
    const handle = handleOf(text);
    const omitted = dropped.length + earlier.reduce((sum, item) => sum + (this.#omitted(item) ?? 0), 0);
    const isLeft = (item: Item<M>): boolean => !earlier.includes(item) && !keys.has(item.key ?? '');
    const note = this.#note(writeNotice({ omitted, handle: showHandle(handle, this.#options) }));
    const items = this.items();
    const gap = items.findIndex(({ key }) => keys.has(key ?? ''));
    const at = gap < 0 ? items.length : gap;
    this.#rebase([...items.slice(0, at).filter(isLeft), noteItem(note), ...items.slice(at).filter(isLeft)]);
    this.#hidden.push({ handle, text, why: 'drop', turn: 1 });
  }

  /** As data, from which `load` makes it again. */
  dump(): SentState<M> {
    const items = this.items();
    const nextKey = (i: number): string | undefined => items.slice(i).find(({ key }) => key !== undefined)?.key;
    return {
      keys: items.flatMap(({ key }) => key ?? []),
      masks: items.flatMap(({ key, message, masked }) => {
        if (key === undefined || masked.size === 0) return [];
        const segments = this.#segments(message);
        return [...masked].map((segment) => ({ message: key, segment, text: segments[segment]?.text ?? '' }));
      }),
      notes: items.flatMap(({ key, message }, i) => {
        const before = key === undefined ? nextKey(i) : undefined;
        return key === undefined ? [{ ...(before === undefined ? {} : { before }), note: message }] : [];
      }),
    };
  }

  load({ keys, masks, notes }: SentState<M>, messageOf: (key: string) => M | undefined): void {
    const notesBefore = (key: string | undefined): Item<M>[] =>
      notes.filter(({ before }) => before === key).map(({ note }) => noteItem(note));
    const masksOf = groupMasks(masks);
    const items = keys.flatMap((key): Item<M>[] => {
      const message = messageOf(key);
      if (message === undefined) return notesBefore(key);
      const own = masksOf.get(key);
      const masked = new Set(own?.map(({ segment }) => segment));
      return [...notesBefore(key), { key, original: message, message: this.#applyMasks(message, own), masked }];
    });
    // Masks that were written down were stored before. Results that are cut are stored again: there may have been no store.
    this.#rebase([...items, ...notesBefore(undefined)]);
  }

  /** The author of the summary that goes out, where this planner had it written. */
  get summaryAuthor(): SummaryAuthor | undefined {
    return this.#planner.report().summary;
  }

  /** Plans what is there once more, since a summary that was missing was written. */
  planAgain(): void {
    this.#planner = this.#newPlanner();
    this.#take(this.#items);
  }

  /** The messages as they were added, of some that the planner was given. */
  originalsOf(messages: readonly M[]): M[] {
    const originals = new Map(this.#items.map(({ message, original }) => [message, original]));
    return messages.map((message) => originals.get(message) ?? message);
  }

  /** What was hidden: by this planner, and before it as far as it is not stored. */
  get hidden(): readonly Hidden[] {
    return [...this.#hidden, ...this.#planner.hidden];
  }

  forgetHidden(isStored: (hidden: Hidden) => boolean): void {
    this.#hidden = this.#hidden.filter((hidden) => !isStored(hidden));
  }

  /** An empty one. What this one hid is still to be stored. */
  next(): SessionView<M> {
    const next = new SessionView(this.#options);
    next.#hidden = this.hidden.slice();
    return next;
  }

  /** The masks that make of what goes out the other list. */
  masksTo(after: readonly M[]): Mask[] {
    return this.items().flatMap(({ key, message }, i) => {
      const other = after[i];
      return key === undefined || other === undefined ? [] : this.#masksOf(key, message, other);
    });
  }

  #masksOf(key: string, before: M, after: M): Mask[] {
    if (before === after) return [];
    const was = this.#segments(before);
    return this.#segments(after).flatMap(({ text }, segment) =>
      text === was[segment]?.text ? [] : [{ message: key, segment, text }],
    );
  }

  #applyMasks(message: M, masks: readonly Mask[] = []): M {
    const segments = masks.length > 0 ? this.#segments(message) : [];
    return masks.reduce((edited, { segment, text }) => {
      const found = segments[segment];
      return found ? this.#options.format.edit(edited, found, text) : edited;
    }, message);
  }

  #segments(message: M): readonly Segment[] {
    return this.#options.format.view([message]);
  }

  #take(items: readonly Item<M>[]): void {
    this.#planner.take(items.map(({ message }) => message));
    this.#sent = undefined;
    this.#messages = undefined;
  }

  /** Begins again with what went out: all that a decision depends on can be read there. */
  #rebase(items: readonly Item<M>[]): void {
    this.#hidden = this.hidden.slice();
    this.#items = [...items];
    this.planAgain();
  }

  #newPlanner(): Planner<M> {
    const { format, counter, show, policy: own, truncation, summarize } = this.#options;
    const maxResultTokens = Math.min(this.#options.maxResultTokens, own.maxResultTokens ?? Number.POSITIVE_INFINITY);
    const policy = { ...own, maxResultTokens, truncation };
    const tools = show === 'recall' ? { tools: { recall: {} } } : {};
    const options = { policy, counter, handleOf, recall: show !== 'nothing', ...tools };
    return createPlanner(format, options, summarize);
  }

  #align(): Item<M>[] {
    const { edits } = this.#planner.plan();
    const messages = this.#planner.messages();
    const items = align(this.#withMasks(edits), edits);
    return messages.map((message, i) => {
      const item = items[i];
      return item ? { ...item, message } : noteItem(message);
    });
  }

  /** The items, with the results that the planner has masked since. */
  #withMasks(edits: readonly Edit[]): Item<M>[] {
    const items = [...this.#items];
    const { segments } = this.#planner.ledger;
    for (const edit of edits) {
      if (edit.kind !== 'replace' || edit.why === 'truncate') continue;
      const index = segments[edit.segment]?.message ?? -1;
      const item = items[index];
      if (!item) continue;
      let first = edit.segment;
      while (segments[first - 1]?.message === index) first -= 1;
      items[index] = { ...item, masked: new Set([...item.masked, edit.segment - first]) };
    }
    return items;
  }

  #note(text: string): M {
    const { format } = this.#options;
    return format.note(
      format.noteRole,
      text,
      this.#items.map(({ message }) => message),
    );
  }

  #omitted({ key, message }: Item<M>): number | undefined {
    if (key !== undefined) return undefined;
    const [segment] = this.#segments(message);
    return segment && readNotice(segment.text)?.omitted;
  }
}

const noteItem = <M>(note: M): Item<M> => ({ original: note, message: note, masked: NOTHING });

function groupMasks(masks: readonly Mask[]): Map<string, Mask[]> {
  const groups = new Map<string, Mask[]>();
  for (const mask of masks) groups.set(mask.message, [...(groups.get(mask.message) ?? []), mask]);
  return groups;
}

/** The items that a plan leaves, with a hole where it puts a note. */
function align<M>(items: readonly Item<M>[], edits: readonly Edit[]): (Item<M> | undefined)[] {
  const inserted = edits.filter((edit) => edit.kind === 'insert').map(({ before }) => before);
  const dropped = edits.filter((edit) => edit.kind === 'drop');
  if (inserted.length === 0 && dropped.length === 0) return [...items];
  return [...items, undefined].flatMap((item, i) => {
    const notes = inserted.filter((before) => before === i).map(() => undefined);
    const isLeft = i < items.length && !dropped.some(({ from, to }) => from <= i && i < to);
    return isLeft ? [...notes, item] : notes;
  });
}

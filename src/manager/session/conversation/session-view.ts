import { readNotice } from '../../../laws/idempotent.ts';
import type { Edit, Format, Segment } from '../../../message.ts';
import { followReferences } from '../../../plan/arrival/follow-references.ts';
import { createPlanner } from '../../../plan/fit.ts';
import { showHandle } from '../../../plan/handles.ts';
import type { Hidden } from '../../../plan/ledger/hidden.ts';
import { Ledger } from '../../../plan/ledger/ledger.ts';
import { removalOf } from '../../../plan/ledger/questions.ts';
import { isArrival } from '../../../plan/ledger/rows.ts';
import { writeNotice } from '../../../plan/notes.ts';
import type { Planner } from '../../../plan/planner.ts';
import type { Policy } from '../../../plan/policy.ts';
import { leaveOut } from '../../../plan/stages/drop.ts';
import type { Summarize, SummaryAuthor } from '../../../plan/summary.ts';
import { handleOf } from '../../../store/handle.ts';
import type { Counter } from '../../../tokens/counter.ts';
import { encodeValue } from '../log/encode-value.ts';
import type { ArrivalSettings, Mask, ResultPlace } from '../session-event.ts';

export interface ViewOptions<M> {
  readonly format: Format<M>;
  readonly policy: Policy;
  readonly counter: Counter;
  /** Whether placeholders show handles. `handle` needs a store; `recall` also names that tool, so the model must have it. */
  readonly show: 'nothing' | 'handle' | 'recall';
  /** How results are made smaller. Results are only cut until `beginArrival` is called. */
  readonly arrival: ArrivalSettings;
  /** Looks up summaries that are already written. Replaces the policy's own function. */
  readonly summarize?: Summarize | undefined;
}

/** A message as it is sent. A note that Palimpsest adds has no key. */
export interface Item<M> {
  readonly key?: string;
  /** The message as it was added. */
  readonly original: M;
  readonly message: M;
  /** The segments of the message that are masked. */
  readonly masked: ReadonlySet<number>;
  /** The segments that were made smaller when they were first sent, and are not masked. */
  readonly shaped: ReadonlySet<number>;
}

const NOTHING: ReadonlySet<number> = new Set();

/** The difference between the messages that are sent and the messages that were added, as data. */
export interface SentState<M> {
  /** The keys of the messages that are sent. */
  readonly keys: readonly string[];
  readonly masks: readonly Mask[];
  /** Results that were made smaller when they were first sent. */
  readonly shaped?: readonly Mask[];
  /** The settings behind `shaped` and `show`. Absent in the data of older versions: results are then made smaller again. */
  readonly arrival?: ArrivalSettings;
  readonly show?: ViewOptions<M>['show'] | undefined;
  /** Notes that Palimpsest adds. Each goes before the named message, or at the end. */
  readonly notes: readonly { readonly before?: string; readonly note: M }[];
}

/** The messages that would be sent now: results made smaller when they arrive, then masked by the policy or by force. */
export class SessionView<M> {
  readonly #options: ViewOptions<M>;
  #items: Item<M>[] = [];
  /** How new results are made smaller. */
  #arrival: ArrivalSettings;
  /** The messages that were already sent in this form. */
  #asSent: ReadonlySet<M> = new Set();
  #planner: Planner<M>;
  /** Texts that earlier planners hid and that are not stored yet. */
  #hidden: Hidden[] = [];
  #sent: readonly Item<M>[] | undefined;
  #messages: readonly M[] | undefined;

  constructor(options: ViewOptions<M>) {
    this.#options = options;
    this.#arrival = onlyCut(options);
    this.#planner = this.#newPlanner();
  }

  get arrival(): ArrivalSettings {
    return this.#arrival;
  }

  /** Makes later results smaller by these settings, or only cuts them. Earlier results do not change. */
  beginArrival(arrival: ArrivalSettings = onlyCut(this.#options)): void {
    this.#arrival = arrival;
    this.#rebase(this.items());
  }

  /** Answers whether the message begins a reply. */
  add(message: M, key: string): boolean {
    const { replies } = this.#planner.ledger;
    const item = { key, ...asAdded(message) };
    this.#items.push(item);
    this.#take([item]);
    return this.#planner.ledger.replies > replies;
  }

  /** Inserts a message before the first of the `next` messages that is sent. Answers its index. */
  insert(message: M, key: string, next: readonly string[]): number {
    const items = this.items();
    const found = items.findIndex((item) => item.key !== undefined && next.includes(item.key));
    const index = found < 0 ? items.length : found;
    const item = { key, ...asAdded(message) };
    this.#rebase([...items.slice(0, index), item, ...items.slice(index)], { fresh: new Set([item]) });
    return index;
  }

  /** The messages in the form in which they are sent. */
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
    const before = this.items();
    const items = before.map((item) => {
      const own = this.#newMasks(item.message, masksOf.get(item.key ?? ''));
      for (const { segment } of own) hidden.push(...this.#hide(item.message, segment));
      if (own.length === 0) return item;
      const masked = new Set([...item.masked, ...own.map(({ segment }) => segment)]);
      const shaped = new Set([...item.shaped].filter((segment) => !masked.has(segment)));
      return { ...item, message: this.#applyMasks(item.message, own), masked, shaped };
    });
    if (items.every((item, i) => item === before[i])) return;
    this.#rebase(items);
    this.#hidden.push(...hidden);
  }

  /** The masks that cost nothing while the provider's cache is cold. */
  coldMasks(): Mask[] {
    const planner = this.#newPlanner();
    planner.take(
      this.#items.map(({ message }) => message),
      { isCold: true },
    );
    const after = planner.messages();
    return after.length === this.items().length ? this.masksTo(after) : [];
  }

  /** The results that were made smaller and can be sent whole: those with these handles, or with these indexes in the view. */
  shapedResults(
    which: { readonly handles: ReadonlySet<string> } | { readonly segments: readonly number[] },
  ): ResultPlace[] {
    const { format, counter } = this.#options;
    const { truncate } = this.#arrival;
    let next = 0;
    return this.items().flatMap(({ key, original, message, shaped }) => {
      const first = next;
      next += this.#segments(message).length;
      if (key === undefined || shaped.size === 0) return [];
      const segments = this.#segments(original);
      const isWanted = (segment: number): boolean => {
        const found = segments[segment];
        const text = found && format.original(original, found);
        if (text === undefined || (truncate !== false && counter(text) > truncate)) return false;
        return 'handles' in which ? which.handles.has(handleOf(text)) : which.segments.includes(first + segment);
      };
      return [...shaped].filter(isWanted).map((segment) => ({ message: key, segment }));
    });
  }

  /** Sends these results whole from now on. */
  keepWhole(results: readonly ResultPlace[]): void {
    const whole = new Set<string>();
    const items = this.items().map((item) => {
      const own = results.filter(({ message, segment }) => message === item.key && item.shaped.has(segment));
      for (const { segment } of own) whole.add(this.#handleOf(item.original, segment));
      return own.length === 0 ? item : this.#withWhole(item, new Set(own.map(({ segment }) => segment)));
    });
    this.#rebase(items);
    this.#hidden = this.#hidden.filter(({ handle, why }) => !whole.has(handle) || why === 'mask' || why === 'drop');
  }

  #handleOf(message: M, index: number): string {
    const segment = this.#segments(message)[index];
    return handleOf((segment && this.#options.format.original(message, segment)) ?? '');
  }

  #withWhole(item: Item<M>, whole: ReadonlySet<number>): Item<M> {
    const sent = this.#segments(item.message);
    const isLeft = (segment: number): boolean => !whole.has(segment);
    const others = [...item.masked, ...item.shaped].filter(isLeft);
    const edits = others.map((segment) => ({ message: '', segment, text: sent[segment]?.text ?? '' }));
    const shaped = new Set([...item.shaped].filter(isLeft));
    return { ...item, message: this.#applyMasks(item.original, edits), shaped };
  }

  #newMasks(message: M, masks: readonly Mask[] = []): readonly Mask[] {
    const segments = masks.length > 0 ? this.#segments(message) : [];
    return masks.filter(({ segment, text }) => segments[segment] !== undefined && segments[segment]?.text !== text);
  }

  #hide(message: M, index: number): Hidden[] {
    const segment = this.#segments(message)[index];
    const text = segment && this.#options.format.original(message, segment);
    if (!segment || text === undefined) return [];
    const why = segment.kind === 'action' ? 'old-text' : 'mask';
    return [{ handle: handleOf(text), text, why, turn: segment.turn, tool: segment.tool }];
  }

  /** Leaves messages out and puts a note in their place. */
  drop(dropped: readonly { readonly key: string; readonly message: M }[]): void {
    const keys = new Set(dropped.map(({ key }) => key));
    const earlier = this.items().filter((item) => this.#omitted(item) !== undefined);
    const notices = earlier.flatMap((item) => this.#segments(item.message).map(({ text }) => text));
    const text = [...notices, ...dropped.map(({ message }) => encodeValue(message))].join('\n');
    const handle = handleOf(text);
    const omitted = dropped.length + earlier.reduce((sum, item) => sum + (this.#omitted(item) ?? 0), 0);
    const isLeft = (item: Item<M>): boolean => !earlier.includes(item) && !keys.has(item.key ?? '');
    const note = this.#note(writeNotice({ omitted, handle: showHandle(handle, this.#options) }));
    const { items, fresh } = this.#withoutTargets(keys);
    const gap = items.findIndex(({ key }) => keys.has(key ?? ''));
    const at = gap < 0 ? items.length : gap;
    this.#rebase([...items.slice(0, at).filter(isLeft), asAdded(note), ...items.slice(at).filter(isLeft)], { fresh });
    this.#hidden.push({ handle, text, why: 'drop', turn: 1 });
  }

  /**
   * The items before `keys` are dropped. Results that refer to a dropped message get their original text, and are made smaller
   * again.
   */
  #withoutTargets(keys: ReadonlySet<string>): {
    readonly items: readonly Item<M>[];
    readonly fresh: ReadonlySet<Item<M>>;
  } {
    const fresh = new Set<Item<M>>();
    if (!this.items().some(({ shaped }) => shaped.size > 0)) return { items: this.items(), fresh };
    const { format, counter } = this.#options;
    const ledger = Ledger.of(this.messages(), format, { counter });
    const references = followReferences(ledger);
    if (!references) return { items: this.items(), fresh };
    const isGone = (message: number): boolean => keys.has(this.items()[message]?.key ?? '');
    const rows = ledger.rows.filter(({ from, to }) => from < to && isGone(from) && isGone(to - 1));
    leaveOut(ledger, removalOf(ledger, rows));
    references.repair();
    const items = this.items().map((item, message) => {
      const first = ledger.startOf(message);
      const lost = [...item.shaped].filter((segment) => ledger.results[first + segment]?.why === 'mask');
      if (lost.length === 0) return item;
      const whole = this.#withWhole(item, new Set(lost));
      fresh.add(whole);
      return whole;
    });
    return { items, fresh };
  }

  /** The view as data. `load` restores it. */
  dump(): SentState<M> {
    const items = this.items();
    const textsOf = (of: 'masked' | 'shaped'): Mask[] =>
      items.flatMap(({ key, message, [of]: edited }) => {
        if (key === undefined || edited.size === 0) return [];
        const segments = this.#segments(message);
        return [...edited].map((segment) => ({ message: key, segment, text: segments[segment]?.text ?? '' }));
      });
    const nextKey = (i: number): string | undefined => items.slice(i).find(({ key }) => key !== undefined)?.key;
    return {
      keys: items.flatMap(({ key }) => key ?? []),
      masks: textsOf('masked'),
      shaped: textsOf('shaped'),
      arrival: this.#arrival,
      show: this.#options.show,
      notes: items.flatMap(({ key, message }, i) => {
        const before = key === undefined ? nextKey(i) : undefined;
        return key === undefined ? [{ ...(before === undefined ? {} : { before }), note: message }] : [];
      }),
    };
  }

  load(state: SentState<M>, messageOf: (key: string) => M | undefined): void {
    const { keys, masks, notes, arrival, show } = state;
    const fresh = new Set<Item<M>>();
    this.#arrival = arrival ?? onlyCut(this.#options);
    // If handles are shown differently now, results are made smaller again: a store that was added later needs their originals.
    const shaped = show === this.#options.show ? (state.shaped ?? []) : [];
    const reshaped = new Set(state.shaped?.filter((mask) => !shaped.includes(mask)).map(({ message }) => message));
    const notesBefore = (key: string | undefined): Item<M>[] =>
      notes.filter(({ before }) => before === key).map(({ note }) => asAdded(note));
    const [masksOf, shapedOf] = [groupMasks(masks), groupMasks(shaped)];
    const segmentsOf = (edits: readonly Mask[] = []): Set<number> => new Set(edits.map(({ segment }) => segment));
    const items = keys.flatMap((key): Item<M>[] => {
      const original = messageOf(key);
      if (original === undefined) return notesBefore(key);
      const [masked, own] = [masksOf.get(key), shapedOf.get(key)];
      const message = this.#applyMasks(original, [...(masked ?? []), ...(own ?? [])]);
      const item = { key, original, message, masked: segmentsOf(masked), shaped: segmentsOf(own) };
      if (!arrival || reshaped.has(key)) fresh.add(item);
      return [...notesBefore(key), item];
    });
    // Everything in the saved state was stored before it was saved.
    this.#rebase([...items, ...notesBefore(undefined)], { fresh });
  }

  /** The author of the summary in the view, if this planner requested it. */
  get summaryAuthor(): SummaryAuthor | undefined {
    return this.#planner.report().summary;
  }

  /** Plans again, because a missing summary is now available. */
  planAgain(): void {
    this.#planner = this.#newPlanner();
    this.#take(this.#items);
  }

  /** The messages as they were added, for messages of the planner. */
  originalsOf(messages: readonly M[]): M[] {
    const originals = new Map(this.#items.map(({ message, original }) => [message, original]));
    return messages.map((message) => originals.get(message) ?? message);
  }

  /** The hidden texts: all of this planner, and those of earlier planners that are not stored yet. */
  get hidden(): readonly Hidden[] {
    return [...this.#hidden, ...this.#planner.hidden];
  }

  forgetHidden(isStored: (hidden: Hidden) => boolean): void {
    this.#hidden = this.#hidden.filter((hidden) => !isStored(hidden));
  }

  /** An empty view. It takes over the hidden texts that are not stored yet. */
  next(): SessionView<M> {
    const next = new SessionView(this.#options);
    next.#hidden = this.hidden.slice();
    next.beginArrival(this.#arrival);
    return next;
  }

  /** The masks that turn the current view into the other list. */
  masksTo(after: readonly M[]): Mask[] {
    return this.items().flatMap(({ key, message }, i) => {
      const other = after[i];
      if (key === undefined || other === undefined || other === message) return [];
      const before = this.#segments(message);
      const changed = [...this.#segments(other).entries()].filter(([i, { text }]) => text !== before[i]?.text);
      return changed.map(([segment, { text }]) => ({ message: key, segment, text }));
    });
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

  /**
   * Starts a new planner from the messages as they were sent; they hold everything that a decision depends on. `fresh` items were
   * not sent yet.
   */
  #rebase(items: readonly Item<M>[], { fresh = new Set() }: { readonly fresh?: ReadonlySet<Item<M>> } = {}): void {
    this.#hidden = this.hidden.slice();
    this.#items = [...items];
    this.#asSent = new Set(items.filter((item) => !fresh.has(item)).map(({ message }) => message));
    this.planAgain();
  }

  #newPlanner(): Planner<M> {
    const { format, counter, show, summarize } = this.#options;
    const { truncation, shell_output: shellOutput, ...arrival } = this.#arrival;
    const policy = { ...this.#options.policy, truncation };
    const tools = show === 'recall' ? { tools: { recall: {} } } : {};
    const handles = { handleOf, recall: show !== 'nothing', ...tools };
    const options = { policy, counter, arrival: { ...arrival, shellOutput }, ...handles };
    return createPlanner(format, options, { summarize, sent: this.#asSent });
  }

  #align(): Item<M>[] {
    const { edits } = this.#planner.plan();
    const messages = this.#planner.messages();
    const items = align(this.#withEdits(edits), edits);
    return messages.map((message, i) => {
      const item = items[i];
      return item ? { ...item, message } : asAdded(message);
    });
  }

  /** The items, with the results that the planner has since masked or made smaller. */
  #withEdits(edits: readonly Edit[]): Item<M>[] {
    const items = [...this.#items];
    const { segments } = this.#planner.ledger;
    for (const edit of edits) {
      if (edit.kind !== 'replace') continue;
      const index = segments[edit.segment]?.message ?? -1;
      const item = items[index];
      if (!item) continue;
      let first = edit.segment;
      while (segments[first - 1]?.message === index) first -= 1;
      const segment = edit.segment - first;
      items[index] = isArrival(edit.why)
        ? { ...item, shaped: new Set([...item.shaped, segment]) }
        : { ...item, masked: new Set([...item.masked, segment]), shaped: without(item.shaped, segment) };
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

/** Older versions only cut results, by the setting of the process that had the session open. */
const onlyCut = <M>({ arrival }: ViewOptions<M>): ArrivalSettings => ({
  ...arrival,
  clean: false,
  references: false,
  shell_output: false,
});

const asAdded = <M>(message: M): Item<M> => ({ original: message, message, masked: NOTHING, shaped: NOTHING });

const without = (segments: ReadonlySet<number>, segment: number): Set<number> =>
  new Set([...segments].filter((other) => other !== segment));

function groupMasks(masks: readonly Mask[]): Map<string, Mask[]> {
  const groups = new Map<string, Mask[]>();
  for (const mask of masks) groups.set(mask.message, [...(groups.get(mask.message) ?? []), mask]);
  return groups;
}

/** The items that a plan keeps, with `undefined` where the plan puts a note. */
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

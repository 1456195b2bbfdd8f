import { isOldTextName } from '../../laws/old-texts.ts';
import { arrivalLimits } from '../../limits.ts';
import type { Segment } from '../../message.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { isArrival, type Result, type Turn } from '../ledger/rows.ts';
import type { Truncation } from '../policy.ts';
import { truncateArrival } from '../stages/clip.ts';
import { isTruncated } from '../truncate-result.ts';
import { cleanResult } from './clean.ts';
import { keptResults } from './kept-results.ts';
import { originalHandle, withLastLine } from './last-line.ts';
import type { Arrival } from './options.ts';
import { type ReadCall, readCall } from './read-call.ts';
import { ReferenceGroups } from './reference-groups.ts';
import { type About, type Reference, readReferences } from './reference-line.ts';
import { VisibleLines } from './references.ts';
import { hasLines } from './resolve-references.ts';
import { shortenShellOutput } from './shell-output.ts';
import { shownBy } from './shown-by.ts';

/** A text that the model was sent: a result, or an argument of one of its calls. */
interface SentText {
  readonly row: Turn;
  readonly result: Result | undefined;
  /** Its text at the last check. */
  text: string;
}

/** A result with references. */
interface Referrer {
  readonly id: number;
  readonly result: Result;
  readonly references: readonly ReferenceTo[];
}

interface ReferenceTo {
  readonly reference: Reference;
  /** The text that it was written for, and its number. Undefined if an output only quotes such a line. */
  readonly target: { readonly id: number; readonly text: string } | undefined;
}

/** How results are made smaller from this message on, up to the next period. */
export interface ArrivalPeriod extends Arrival {
  readonly fromMessage: number;
}

const OFF: Arrival = { clean: false, references: false, shellOutput: undefined, truncate: undefined };

export interface ArrivalsOptions<M> {
  /** Results before the first period were sent unchanged. A period may be added for later messages. */
  readonly periods: readonly ArrivalPeriod[];
  readonly truncation?: Truncation | undefined;
  /** Segments of results that were sent whole, and stay whole. */
  readonly sentWhole?: ReadonlySet<number> | undefined;
  /**
   * Messages that are passed as they were sent before: their results stay as they are, also those that were sent whole. If it is given, each
   * result is made smaller only when it is first sent.
   */
  readonly sent?: ReadonlySet<M> | undefined;
  /** Whether old texts of edits are shortened later: none of them may be referred to. */
  readonly oldTexts?: boolean | undefined;
}

/**
 * Makes results smaller when they are first sent, which costs no rewrite of the provider's cache, or in a request that leaves turns out, which
 * rewrites it anyway. A result is made smaller once, by the texts that the model sees above it: a history that was fitted, sent and fed back
 * does not change further.
 */
export class Arrivals<M> {
  readonly #ledger: Ledger<M>;
  readonly #options: ArrivalsOptions<M>;
  readonly #visible = new VisibleLines((id) => this.#isSent(id));
  /** The sent texts, by number. */
  readonly #sent: (SentText | undefined)[] = [];
  readonly #ids = new Map<Result, number>();
  readonly #referrers = new Map<Result, Referrer>();
  readonly #groups = new ReferenceGroups();
  /** Results that came with a reference to a masked one. */
  readonly #cameWrong = new Set<Result>();
  /**
   * Whether a result came with a reference to one that was masked here, or that others which were masked here leave together with: they may
   * not have been masked when the result was sent.
   */
  isContradicted = false;
  /** Results that this request has changed. The request may be undone. */
  readonly #changedNow = new Set<Result>();
  /** The last call that was read: its result usually comes next. */
  #lastCall: { readonly args: string; readonly read: ReadCall } | undefined;
  #nextSegment = 0;

  constructor(ledger: Ledger<M>, options: ArrivalsOptions<M>) {
    this.#ledger = ledger;
    this.#options = options;
  }

  /** Adds the calls and results that no request has carried yet. A result is made smaller only here. */
  take(): void {
    const ledger = this.#ledger;
    this.#sync();
    if (ledger.leftOutTurns) this.#forgetTurns();
    this.#changedNow.clear();
    const end = ledger.startOf(ledger.messages.length);
    for (; this.#nextSegment < end; this.#nextSegment++) {
      const segment = ledger.segments[this.#nextSegment] as Segment;
      const result = ledger.results[this.#nextSegment];
      if (result) this.#takeResult(result);
      else if (segment.kind === 'action' && this.#isIndexed) this.#takeCall(segment);
    }
  }

  /**
   * Changes the results whose references lost their target in this request. One that was sent before is masked. One that is sent for the
   * first time is made smaller again by what is visible now. Returns whether it changed any.
   */
  repair(): boolean {
    this.#sync();
    let isChanged = this.#ledger.leftOutTurns && this.#shapeAgain();
    for (const referrer of this.#referrersToCheck()) {
      const { result } = referrer;
      // An earlier round of this loop has made it smaller again, so its references have changed.
      if (this.#referrers.get(result) !== referrer) continue;
      if (!this.#ledger.isSent(result) || this.#isRight(referrer)) continue;
      const isNew = result.row === this.#ledger.lastRow && result.why !== undefined && !this.#wasSent(result);
      if (isNew) this.#shapeAgainFrom(result);
      if (isNew || this.#ledger.mask(result.segment)) isChanged = true;
      this.#sync();
    }
    // The policy decided before these changes.
    if (isChanged) this.#ledger.revision += 1;
    return isChanged;
  }

  /**
   * Makes results smaller by references that are possible only now: without the turns that this request leaves out, an older text may be
   * the fourth last of its name. When the history comes back, nothing in it shows that these turns were there.
   */
  #shapeAgain(): boolean {
    // A session that is opened again knows only what was sent then: its next request would send the same result whole.
    if (!this.#isIndexed || this.#options.sent) return false;
    let isChanged = false;
    for (const result of this.#ledger.observations) {
      if (this.#referencesIn(result).length > 0) continue;
      const { text } = result;
      this.#shape(result);
      if (result.text === text) continue;
      isChanged = true;
      this.#sync();
    }
    if (isChanged) this.#ledger.coverage?.restart(this.#ledger.observations);
    return isChanged;
  }

  /** Results that cannot have been masked before the result in that segment came: see `keptResults`. Undefined if that is known. */
  keptResults(known: ReadonlyMap<number, number>): ReadonlyMap<number, number> | undefined {
    const kept = keptResults(this.#ledger);
    return [...kept].every(([segment, later]) => known.get(segment) === later) ? undefined : kept;
  }

  /** The referrers that this request may have made wrong, oldest first. */
  #referrersToCheck(): Iterable<Referrer> {
    if (this.#ledger.leftOutTurns) return this.#referrers.values();
    if (this.#changedNow.size === 0 && this.#cameWrong.size === 0) return [];
    const results = new Set([...this.#changedNow].flatMap((result) => [...this.#groups.referrersOf(result)]));
    // A new result that quotes such a line is left alone.
    for (const result of this.#cameWrong) if (result.row !== this.#ledger.lastRow) results.add(result);
    const referrers = [...results].flatMap((result) => this.#referrers.get(result) ?? []);
    return referrers.sort((a, b) => a.id - b.id);
  }

  /** Any result may be referred to, also one from a period without references. */
  get #isIndexed(): boolean {
    return this.#options.periods.some(({ references }) => references);
  }

  #optionsFor({ segment, original }: Result): Arrival {
    const { periods, sentWhole } = this.#options;
    if (sentWhole?.has(segment)) return OFF;
    return periods.findLast(({ fromMessage }) => fromMessage <= original.message) ?? OFF;
  }

  #referencesIn(result: Result): readonly Reference[] {
    return !result.masked && this.#optionsFor(result).references ? readReferences(result.text) : [];
  }

  #takeResult(result: Result): void {
    const ledger = this.#ledger;
    const wasSent = this.#wasSent(result);
    if (!this.#isIndexed) {
      if (!wasSent) this.#shape(result);
      if (!wasSent) this.#truncate(result);
      ledger.coverage?.add(result);
      return;
    }
    const { text: received } = result;
    let references = this.#referencesIn(result);
    if (references.length === 0 && !wasSent) this.#shape(result);
    if (!wasSent) this.#truncate(result);
    // The references of the text as it is sent: a cut may have removed some.
    if (result.text !== received) references = this.#referencesIn(result);
    ledger.coverage?.add(result);
    const about: About = { kind: 'result', tool: result.tool, subject: this.#readCall(result.args).subject };
    const id = this.#add(about, { row: result.row, result, text: result.text });
    this.#ids.set(result, id);
    this.#refer(id, result, references);
  }

  #takeCall({ text, tool, message }: Segment): void {
    const { subject, texts } = this.#readCall(text);
    const { rows, lastRow } = this.#ledger;
    const row = message >= lastRow.from ? lastRow : rows.find((turn) => turn.has(message));
    for (const { argument, field, text: part } of texts)
      if (!this.#options.oldTexts || !isOldTextName(field))
        this.#add({ kind: 'call', tool, subject, argument }, { row: row ?? lastRow, result: undefined, text: part });
  }

  #readCall(args: string): ReadCall {
    if (this.#lastCall?.args !== args) this.#lastCall = { args, read: readCall(args) };
    return this.#lastCall.read;
  }

  #add(about: About, { row, result, text }: SentText): number {
    const id = this.#sent.push({ row, result, text }) - 1;
    this.#visible.add(id, text.length > arrivalLimits.resultChars ? '' : text, about);
    return id;
  }

  #wasSent({ original }: Result): boolean {
    return this.#options.sent?.has(this.#ledger.messages[original.message] as M) === true;
  }

  #shape(result: Result): void {
    const { clean, references, shellOutput } = this.#optionsFor(result);
    if (!clean && !references && shellOutput === undefined) return;
    const shows = this.#mayShape(result) ? shownBy(result.tool, result.args) : undefined;
    if (shows === undefined) return;
    const text = clean ? cleanResult(result.text, shows) : result.text;
    // The placeholder of a failure quotes it: it could not replace a line that is as short as a reference.
    const shaped = references && !result.isError ? this.#withReferences(result, text) : undefined;
    const isLong = shellOutput !== undefined && shows === 'shell' && result.tokens > shellOutput;
    if (isLong && this.#shortenOutput(result, shaped ?? text, shellOutput)) return;
    if (shaped !== undefined && this.#replace(result, shaped, 'references')) return;
    if (text !== result.text) this.#replace(result, text, 'clean');
  }

  /** An earlier result may have been sent uncleaned: then only the original text has the same lines. */
  #withReferences(result: Result, cleaned: string): string | undefined {
    const id = this.#ids.get(result);
    const shaped = this.#visible.shape(cleaned, result.tokens, id);
    return shaped ?? (cleaned === result.text ? undefined : this.#visible.shape(result.text, result.tokens, id));
  }

  #mayShape(result: Result): boolean {
    const { text, masked, original } = result;
    if (masked || original.media || text.length > arrivalLimits.resultChars) return false;
    return this.#ledger.isFree(result) && originalHandle(text) === undefined && !isTruncated(text);
  }

  #shortenOutput(result: Result, text: string, maxTokens: number): boolean {
    const { counter } = this.#ledger;
    const shorten = (handle: string): string => shortenShellOutput(text, { maxTokens, counter, handle }) ?? '';
    return this.#ledger.clip(result, shorten, 'shell-output');
  }

  #replace(result: Result, text: string, why: 'clean' | 'references'): boolean {
    return this.#ledger.clip(result, (handle) => withLastLine(text, result.original.text, handle), why);
  }

  /** Makes a new result smaller again, and those after it: they may refer to lines that it shows now. */
  #shapeAgainFrom(first: Result): void {
    for (const result of this.#ledger.observations.slice(this.#ledger.observations.indexOf(first))) {
      const isAsArrived = !result.masked && (result.why === undefined || isArrival(result.why));
      if (result !== first && (!isAsArrived || this.#wasSent(result))) continue;
      this.#ledger.restore(result);
      this.#sync();
      if (this.#referencesIn(result).length === 0) this.#shape(result);
      this.#truncate(result);
    }
    // Coverage depends on the text that a read shows.
    this.#ledger.coverage?.restart(this.#ledger.observations);
  }

  #truncate(result: Result): void {
    const { truncate } = this.#optionsFor(result);
    if (truncate !== undefined) truncateArrival(this.#ledger, result, truncate, this.#options.truncation);
  }

  #refer(id: number, result: Result, references: readonly Reference[]): void {
    if (references.length === 0) return;
    // Without a last line, an output that quotes a reference looks like a fed-back result.
    const isFedBack = originalHandle(result.text) !== undefined;
    const found = references.map((reference): ReferenceTo => {
      const target = this.#visible.find(reference, id);
      const sent = target === undefined ? undefined : this.#sent[target];
      // A masked target does not have the lines, so the reference is already wrong. So is one whose target the caller removed.
      const text = sent?.result?.masked || (isFedBack && !this.#shows(target, reference)) ? '' : sent?.text;
      return { reference, target: text === undefined ? undefined : { id: target ?? -1, text } };
    });
    this.#referrers.set(result, { id, result, references: found });
    const wrong = found.flatMap(({ target }) => (target?.text === '' ? target : []));
    if (wrong.length > 0) this.#cameWrong.add(result);
    if (wrong.some((target) => this.#sent[target.id]?.result?.why === 'mask')) this.isContradicted = true;
    const results = found.flatMap(({ target }) => (target && this.#sent[target.id]?.result) ?? []);
    if (results.length === 0) return;
    if (result.why === undefined && results.some((target) => this.#groups.hasLost(target))) this.isContradicted = true;
    this.#groups.link(result, results);
    if (!this.#ledger.hasNewReferences) this.#ledger.referred = result.row;
  }

  /** Whether there is a text that has the lines which a reference names. */
  #shows(id: number | undefined, reference: Reference): boolean {
    const sent = id === undefined ? undefined : this.#sent[id];
    const about = id === undefined ? undefined : this.#visible.about(id);
    return sent !== undefined && about !== undefined && hasLines(reference, { text: sent.text, about });
  }

  /** Whether all references still point to their original texts, unchanged. */
  #isRight({ id, references }: Referrer): boolean {
    return references.every(
      ({ reference, target }) =>
        !target || (this.#sent[target.id]?.text === target.text && this.#visible.find(reference, id) === target.id),
    );
  }

  #isSent(id: number): boolean {
    const sent = this.#sent[id];
    const row = sent?.result?.row ?? sent?.row;
    return row !== undefined && this.#ledger.rows[row.number] === row;
  }

  /** Records the results that a request has changed, or that were restored because it was undone. */
  #sync(): void {
    if (!this.#isIndexed) return;
    for (const { result } of this.#ledger.changedResults) this.#changedNow.add(result);
    const changed: { readonly id: number; readonly result: Result }[] = [];
    for (const result of this.#changedNow) {
      const id = this.#ids.get(result);
      const sent = id === undefined ? undefined : this.#sent[id];
      if (id === undefined || !sent || sent.text === result.text) continue;
      sent.text = result.text;
      this.#visible.change(id, result.text);
      this.#unlink(result);
      changed.push({ id, result });
    }
    // A target and its referrer may both have been restored: the texts of all targets must be known first.
    changed.sort((a, b) => a.id - b.id);
    for (const { id, result } of changed) this.#refer(id, result, this.#referencesIn(result));
    if (this.#groups.mend()) this.#ledger.revision += 1;
  }

  /** Forgets the turns that the last request left out: they do not come back. */
  #forgetTurns(): void {
    for (const [id, sent] of this.#sent.entries()) {
      if (!sent || this.#isSent(id)) continue;
      this.#sent[id] = undefined;
      this.#visible.remove(id);
      if (sent.result) this.#unlink(sent.result);
    }
    if (this.#groups.mend()) this.#ledger.revision += 1;
  }

  #unlink(result: Result): void {
    this.#cameWrong.delete(result);
    this.#referrers.delete(result);
    this.#groups.unlink(result);
  }
}

import type { Segment } from '../../message.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Result, Turn } from '../ledger/rows.ts';
import type { Truncation } from '../policy.ts';
import { truncateArrival } from '../stages/clip.ts';
import { isTruncated } from '../truncate-result.ts';
import { cleanResult } from './clean.ts';
import { KeptTargets } from './kept-targets.ts';
import { originalHandle, withLastLine } from './last-line.ts';
import type { Arrival } from './options.ts';
import { readCall } from './read-call.ts';
import { type About, type Reference, readReferences } from './reference-line.ts';
import { VisibleLines } from './references.ts';
import { shortenShellOutput } from './shell-output.ts';
import { type Shown, shownBy } from './shown-by.ts';

/** A text that the model was sent: a result, or an argument of one of its calls. */
interface SentText {
  readonly row: Turn;
  readonly result: Result | undefined;
  /** The text that is in the index. */
  text: string;
}

/** A result with references. */
interface Referrer {
  readonly id: number;
  readonly result: Result;
  readonly text: string;
  readonly references: readonly Reference[];
  /** The text that each reference is about; undefined where it is not known. */
  readonly targets: readonly (number | undefined)[];
}

/** How the results of a stretch of messages are made smaller: from this message on, up to the next period. */
export interface ArrivalPeriod extends Arrival {
  readonly fromMessage: number;
}

export interface ArrivalsOptions {
  /** Results before the first period were sent as they came. A period may be added for messages that are yet to come. */
  readonly periods: readonly ArrivalPeriod[];
  readonly truncation?: Truncation | undefined;
  /** Segments of results that went out as they came, and stay so. */
  readonly sentWhole?: ReadonlySet<number> | undefined;
}

const OFF: Arrival = { clean: false, references: false, shellOutput: undefined, truncate: undefined };

/**
 * Makes results smaller when they first go out, which costs no rewrite of the provider's cache. A result is shaped once, by the
 * texts that the model sees above it: a history that was fitted, sent and fed back is shaped no further.
 */
export class Arrivals<M> {
  readonly #ledger: Ledger<M>;
  readonly #options: ArrivalsOptions;
  readonly #visible = new VisibleLines();
  readonly #sent = new Map<number, SentText>();
  readonly #ids = new Map<Result, number>();
  readonly #referrers = new Map<Result, Referrer>();
  readonly #kept = new KeptTargets();
  #row: Turn | undefined;
  #nextSegment = 0;
  #nextId = 0;

  constructor(ledger: Ledger<M>, options: ArrivalsOptions) {
    this.#ledger = ledger;
    this.#options = options;
  }

  /** Takes in the calls and results that no request has carried yet. Once taken, a result is not shaped again. */
  take(): void {
    const ledger = this.#ledger;
    if (this.#row !== ledger.lastRow) this.#settle();
    this.#row = ledger.lastRow;
    const end = ledger.startOf(ledger.messages.length);
    for (; this.#nextSegment < end; this.#nextSegment++) {
      const segment = ledger.segments[this.#nextSegment] as Segment;
      const result = ledger.results[this.#nextSegment];
      if (result) this.#takeResult(result);
      else if (segment.kind === 'action' && this.#isIndexed) this.#takeCall(segment);
    }
  }

  /**
   * Changes the results whose references lost their target in this request: one that was sent before is masked, one that goes out
   * for the first time goes out without references. Returns whether it changed any.
   */
  repair(): boolean {
    let isChanged = false;
    for (const { id, result, text, references, targets } of this.#referrers.values()) {
      if (result.text !== text || !this.#ledger.isSent(result)) continue;
      if (references.every((reference, i) => this.#isRight(reference, id, targets[i]))) continue;
      const isNew = result.row === this.#ledger.lastRow && result.why !== undefined;
      if (isNew) this.#makeWhole(result);
      if (isNew || this.#ledger.mask(result.segment)) isChanged = true;
    }
    // The policy decided before these changes.
    if (isChanged) this.#ledger.revision += 1;
    return isChanged;
  }

  /** Any result may be referred to, also one of a time without references. */
  get #isIndexed(): boolean {
    return this.#options.periods.some(({ references }) => references);
  }

  #optionsFor({ segment, original }: Result): Arrival {
    const { periods, sentWhole } = this.#options;
    if (sentWhole?.has(segment)) return OFF;
    return periods.findLast(({ fromMessage }) => fromMessage <= original.message) ?? OFF;
  }

  #takeResult(result: Result): void {
    const ledger = this.#ledger;
    const options = this.#optionsFor(result);
    const { subject } = readCall(result.args);
    const about: About = { kind: 'result', tool: result.tool, subject };
    const received = result.masked || !options.references ? [] : readReferences(result.text);
    if (received.length === 0) this.#shape(result, options);
    const references = result.why === undefined ? received : readReferences(result.text);
    this.#truncate(result, options);
    ledger.coverage?.add(result);
    const id = this.#add(about, result.text, { row: result.row, result });
    this.#ids.set(result, id);
    if (references.length > 0) this.#refer(id, result, references);
  }

  #takeCall({ text, tool }: Segment): void {
    const { subject, texts } = readCall(text);
    for (const { argument, text: part } of texts)
      this.#add({ kind: 'call', tool, subject, argument }, part, { row: this.#ledger.lastRow, result: undefined });
  }

  #add(about: About, text: string, sent: Omit<SentText, 'text'>): number {
    const id = this.#nextId++;
    if (!this.#isIndexed) return id;
    this.#visible.add(id, text, about);
    this.#sent.set(id, { ...sent, text });
    return id;
  }

  #shape(result: Result, { clean, references, shellOutput }: Arrival): void {
    const isOn = clean || references || shellOutput !== undefined;
    const shows = isOn && this.#mayShape(result) ? shownBy(result.tool, result.args) : undefined;
    if (shows === undefined) return;
    const text = clean ? cleanResult(result.text, shows) : result.text;
    const shaped = references ? this.#visible.shape(text, result.tokens) : undefined;
    const isLong = shellOutput !== undefined && shows === 'shell' && result.tokens > shellOutput;
    if (isLong && this.#shortenOutput(result, shaped?.text ?? text, shellOutput)) return;
    if (shaped && this.#replace(result, shaped.text, 'references')) return;
    if (text !== result.text) this.#replace(result, text, 'clean');
  }

  #mayShape(result: Result): boolean {
    const { text, masked, original } = result;
    if (masked || original.media) return false;
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

  /** A result that goes out for the first time, without references. */
  #makeWhole(result: Result): void {
    const { text } = result.original;
    const options = this.#optionsFor(result);
    this.#ledger.restore(result);
    const cleaned = options.clean ? cleanResult(text, shownBy(result.tool, result.args) as Shown) : text;
    if (cleaned !== text) this.#replace(result, cleaned, 'clean');
    this.#truncate(result, options);
  }

  #truncate(result: Result, { truncate }: Arrival): void {
    if (truncate !== undefined) truncateArrival(this.#ledger, result, truncate, this.#options.truncation);
  }

  #refer(id: number, result: Result, references: readonly Reference[]): void {
    const targets = references.map((reference) => this.#visible.find(reference, id));
    this.#referrers.set(result, { id, result, text: result.text, references, targets });
    const results = targets.flatMap((target) => (target === undefined ? [] : (this.#sent.get(target)?.result ?? [])));
    if (results.length === 0) return;
    this.#kept.link(result, results);
    this.#ledger.referred = result.row;
  }

  /** Whether a reference still leads to the text that it was written for, and that text is as it was. */
  #isRight(reference: Reference, id: number, target: number | undefined): boolean {
    // Unknown from the start: an output may quote such a line.
    if (target === undefined) return true;
    const isThere = (other: number): boolean => this.#isSent(this.#sent.get(other));
    const sent = this.#sent.get(target);
    if (!sent || (sent.result && sent.result.text !== sent.text)) return false;
    return this.#visible.find(reference, id, isThere) === target;
  }

  #isSent(sent: SentText | undefined): boolean {
    const row = sent?.result?.row ?? sent?.row;
    return row !== undefined && this.#ledger.rows[row.number] === row;
  }

  /** Decisions about the last request are final: its masks and cuts are no longer visible. */
  #settle(): void {
    for (const { result } of this.#ledger.changedResults) {
      const sent = this.#sent.get(this.#ids.get(result) ?? -1);
      if (!sent || sent.text === result.text) continue;
      sent.text = result.text;
      this.#visible.change(this.#ids.get(result) as number, result.text);
      this.#forgetReferrer(result);
    }
    if (!this.#ledger.leftOutTurns) return;
    for (const [id, sent] of this.#sent) {
      if (this.#isSent(sent)) continue;
      this.#sent.delete(id);
      this.#visible.remove(id);
      if (sent.result) this.#forgetReferrer(sent.result);
    }
  }

  #forgetReferrer(result: Result): void {
    if (this.#referrers.delete(result) && this.#kept.unlink(result)) this.#ledger.revision += 1;
  }
}

import { recordLimits } from '../../limits.ts';
import { MoneySums } from '../../money/money-totals.ts';
import type { Prices } from '../../plan/prices.ts';
import { Quantiles } from './quantiles.ts';
import type { ConversationSummary, Mask, Receipt, Shaped, Totals } from './receipt.ts';

/** A receipt before it is added. The log numbers the requests of a conversation. */
export interface Entry {
  readonly receipt: Omit<Receipt, 'request'>;
  /** First line of the conversation's task; may be empty if the conversation is known. */
  readonly title: string;
  /** The multiples of the base price that the costs are made of. */
  readonly multiples: Pick<Prices, 'read' | 'write' | 'writes'>;
}

/** The message to a watcher of the log for each receipt. */
export interface Entered {
  readonly receipt: Receipt;
  readonly conversation: ConversationSummary;
  readonly totals: Totals;
}

/** A conversation, its newest receipts and everything that is masked in it. */
export interface ConversationDetail {
  readonly conversation: ConversationSummary;
  readonly receipts: readonly Receipt[];
  readonly masks: readonly Mask[];
  readonly shaped: readonly Shaped[];
}

/** Reads the log of this process, or of the process that keeps it for all workers. */
export interface ReceiptLogReader {
  totals(): Promise<Totals>;
  /** Newest first. */
  conversations(limit: number): Promise<readonly ConversationSummary[]>;
  conversation(id: string): Promise<ConversationDetail | undefined>;
  /** Returns a function that stops it. */
  watch(watcher: (entered: Entered) => void): () => void;
}

/** The receipts of one tenant since the gateway started: the newest whole, and sums of the rest. */
export class ReceiptLog implements ReceiptLogReader {
  /** Totals by id, the least recently used first. */
  readonly #conversationTotals = new Map<string, ConversationTotals>();
  /** The totals that still have receipts, the least recently used first. */
  readonly #withReceipts = new Set<ConversationTotals>();
  readonly #watchers = new Set<(entered: Entered) => void>();
  readonly #overhead = new Quantiles();
  readonly #sums = new Sums();
  #newest: ConversationTotals | undefined;
  #conversations = 0;
  #masked = 0;
  #shaped = 0;
  #refused = 0;
  #failed = 0;
  #receipts = 0;

  /** Returns the number of the request in its conversation. */
  add({ receipt, title }: Pick<Entry, 'receipt' | 'title'>): number {
    const totals = this.#totalsOf(receipt, title);
    totals.add(receipt);
    this.#sums.add(receipt);
    this.#masked += receipt.newMasks.length;
    this.#shaped += receipt.newShaped?.length ?? 0;
    if (receipt.refused) this.#refused++;
    if (isFailed(receipt)) this.#failed++;
    this.#overhead.add(receipt.overheadMs);
    this.#receipts++;
    this.#forget(totals);
    this.#tell(receipt, totals);
    return totals.sums.requests;
  }

  #totalsOf({ conversation, session, api, time }: Entry['receipt'], title: string): ConversationTotals {
    if (this.#newest?.id === conversation) return this.#newest;
    const known = this.#conversationTotals.get(conversation);
    if (!known) this.#conversations++;
    const totals =
      known ??
      new ConversationTotals({ id: conversation, session, title: title || 'A conversation', api, firstAt: time });
    this.#conversationTotals.delete(conversation);
    this.#conversationTotals.set(conversation, totals);
    this.#withReceipts.delete(totals);
    this.#withReceipts.add(totals);
    this.#newest = totals;
    return totals;
  }

  /** Keeps only the sums of conversations that were not used for long, and nothing of the oldest. */
  #forget(entered: ConversationTotals): void {
    if (entered.receipts.length > recordLimits.receiptsPerConversation) {
      entered.receipts.shift();
      this.#receipts--;
    }
    for (const oldest of this.#withReceipts) {
      if (this.#receipts <= recordLimits.receipts) break;
      this.#dropReceipts(oldest);
    }
    for (const [id, oldest] of this.#conversationTotals) {
      if (this.#conversationTotals.size <= recordLimits.conversations) break;
      this.#dropReceipts(oldest);
      this.#conversationTotals.delete(id);
    }
  }

  #dropReceipts(totals: ConversationTotals): void {
    this.#receipts -= totals.receipts.length;
    totals.receipts.length = 0;
    this.#withReceipts.delete(totals);
  }

  #tell(receipt: Entry['receipt'], totals: ConversationTotals): void {
    if (this.#watchers.size === 0) return;
    const numbered = { ...receipt, request: totals.sums.requests };
    const entered = { receipt: numbered, conversation: totals.summary(), totals: this.sums() };
    for (const watcher of this.#watchers) watcher(entered);
  }

  sums(): Totals {
    const { requests, tokensIn, tokensSent, cached, written, without, sent, unsent, money } = this.#sums;
    return {
      ...{ requests, conversations: this.#conversations, tokensIn, tokensSent, cached, written },
      cost: { without, sent },
      money: money.totals(),
      unsent: { ...unsent },
      ...{ masked: this.#masked, shaped: this.#shaped, refused: this.#refused, failed: this.#failed },
      overheadMs: { median: this.#overhead.at(0.5), p99: this.#overhead.at(0.99) },
    };
  }

  async totals(): Promise<Totals> {
    return this.sums();
  }

  async conversations(limit: number): Promise<readonly ConversationSummary[]> {
    const newest = [...this.#conversationTotals.values()].reverse();
    return newest.slice(0, limit).map((totals) => totals.summary());
  }

  async conversation(id: string): Promise<ConversationDetail | undefined> {
    const totals = this.#conversationTotals.get(id);
    if (!totals) return undefined;
    const { masks, shaped } = totals;
    const lists = { masks: [...masks.values()], shaped: [...shaped.values()] };
    return { conversation: totals.summary(), receipts: totals.numbered(), ...lists };
  }

  watch(watcher: (entered: Entered) => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }
}

const isFailed = ({ status }: Entry['receipt']): boolean => status === 0 || status >= 400;

/** Adds in place, because every request adds to the log and few read it. */
class Sums {
  requests = 0;
  tokensIn = 0;
  tokensSent = 0;
  cached = 0;
  written = 0;
  without = 0;
  sent = 0;
  readonly unsent = { requests: 0, tokens: 0 };
  readonly money = new MoneySums();

  add(receipt: Entry['receipt']): void {
    this.requests++;
    this.tokensIn += receipt.without.tokens;
    this.tokensSent += receipt.sent.tokens;
    this.cached += receipt.sent.cached;
    this.written += receipt.sent.written;
    this.without += receipt.cost.without;
    this.sent += receipt.cost.sent;
    if (receipt.unsent) this.#addUnsent(receipt);
    // A request without tokens was refused, and costs nothing.
    if (receipt.sent.tokens > 0) this.money.add(receipt);
  }

  #addUnsent({ expected: { without, sent } }: Entry['receipt']): void {
    this.unsent.requests++;
    this.unsent.tokens += without.tokens - sent.tokens;
  }
}

/** One conversation. */
class ConversationTotals {
  readonly sums = new Sums();
  /** The newest ones. */
  readonly receipts: Entry['receipt'][] = [];
  readonly masks = new Map<string, Mask>();
  readonly shaped = new Map<string, Shaped>();
  readonly #about: Pick<ConversationSummary, 'id' | 'session' | 'title' | 'api' | 'firstAt'>;
  #last: Entry['receipt'] | undefined;
  #model: string | undefined;
  #epochs = 0;

  constructor(about: Pick<ConversationSummary, 'id' | 'session' | 'title' | 'api' | 'firstAt'>) {
    this.#about = about;
  }

  get id(): string {
    return this.#about.id;
  }

  add(receipt: Entry['receipt']): void {
    this.sums.add(receipt);
    this.receipts.push(receipt);
    this.#last = receipt;
    this.#model = receipt.model ?? this.#model;
    if (!receipt.unsent) this.#epochs = Math.max(this.#epochs, receipt.epoch);
    for (const mask of receipt.newMasks)
      if (this.masks.size < recordLimits.masksPerConversation) this.masks.set(mask.handle, mask);
    for (const one of receipt.newShaped ?? [])
      if (this.shaped.size < recordLimits.masksPerConversation) this.shaped.set(one.handle, one);
  }

  /** The newest receipts with their numbers in the conversation. */
  numbered(): Receipt[] {
    const before = this.sums.requests - this.receipts.length;
    return this.receipts.map((receipt, i) => ({ ...receipt, request: before + i + 1 }));
  }

  summary(): ConversationSummary {
    const {
      prices = '',
      time = '',
      masked = 0,
      shaped = 0,
      act = 'wait',
      because = '',
      arm = 'treated',
    } = this.#last ?? {};
    const { requests, tokensIn, tokensSent, without, sent, unsent, money } = this.sums;
    return {
      ...this.#about,
      ...(this.#model === undefined ? {} : { model: this.#model }),
      ...{ prices, lastAt: time, requests, masked, shaped, epochs: this.#epochs, tokensIn, tokensSent },
      cost: { without, sent },
      money: money.totals(),
      unsent: { ...unsent },
      ...{ act, because, arm },
    };
  }
}

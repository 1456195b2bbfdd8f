import { recordLimits } from '../../limits.ts';
import { Quantiles } from './quantiles.ts';
import type { ConversationSummary, Mask, Receipt, Totals } from './receipt.ts';

/** A receipt before it is entered: which request of its conversation it is, the book knows. */
export interface Entry {
  /** The book's from then on: it writes the number into it. */
  readonly receipt: Omit<Receipt, 'request'>;
  /** First line of the conversation's task; may be empty where the conversation is known. */
  readonly title: string;
}

/** Sent to watchers of the book for each receipt. */
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
}

/** The book as its readers see it: that of this process, or of the process that keeps it for all workers. */
export interface BookReader {
  totals(): Promise<Totals>;
  /** Newest first. */
  conversations(limit: number): Promise<readonly ConversationSummary[]>;
  conversation(id: string): Promise<ConversationDetail | undefined>;
  /** Answers how to stop. */
  watch(watcher: (entered: Entered) => void): () => void;
}

/** The receipts of one tenant since the gateway started. It keeps what a page can show, and sums of the rest. */
export class Book implements BookReader {
  /** By id, the one that slept longest first. */
  readonly #accounts = new Map<string, Account>();
  readonly #watchers = new Set<(entered: Entered) => void>();
  readonly #overhead = new Quantiles();
  readonly #sums = new Sums();
  #newest: Account | undefined;
  #conversations = 0;
  #masked = 0;
  #refused = 0;
  #receipts = 0;

  enter({ receipt: given, title }: Entry): Receipt {
    const account = this.#accountOf(given, title);
    const receipt = given as Omit<Receipt, 'request'> & { request: number };
    receipt.request = account.sums.requests + 1;
    account.enter(receipt);
    this.#sums.add(receipt);
    this.#masked += receipt.newMasks.length;
    if (receipt.refused) this.#refused++;
    this.#overhead.add(receipt.overheadMs);
    this.#receipts++;
    this.#forget(account);
    this.#tell(receipt, account);
    return receipt;
  }

  #accountOf({ conversation, api, time }: Entry['receipt'], title: string): Account {
    if (this.#newest?.id === conversation) return this.#newest;
    const known = this.#accounts.get(conversation);
    if (!known) this.#conversations++;
    const account = known ?? new Account({ id: conversation, title: title || 'A conversation', api, firstAt: time });
    this.#accounts.delete(conversation);
    this.#accounts.set(conversation, account);
    this.#newest = account;
    return account;
  }

  /** Only the sums of a conversation that slept long are kept, and of the oldest nothing. */
  #forget(entered: Account): void {
    if (entered.receipts.length > recordLimits.receiptsPerConversation) {
      entered.receipts.shift();
      this.#receipts--;
    }
    for (const [id, account] of this.#accounts) {
      const isOne = this.#accounts.size > recordLimits.conversations;
      if (!isOne && this.#receipts <= recordLimits.receipts) return;
      this.#receipts -= account.receipts.length;
      account.receipts.length = 0;
      if (isOne) this.#accounts.delete(id);
    }
  }

  #tell(receipt: Receipt, account: Account): void {
    if (this.#watchers.size === 0) return;
    const entered = { receipt, conversation: account.summary(), totals: this.sums() };
    for (const watcher of this.#watchers) watcher(entered);
  }

  sums(): Totals {
    const { requests, tokensIn, tokensSent, cached, written, without, sent } = this.#sums;
    return {
      ...{ requests, conversations: this.#conversations, tokensIn, tokensSent, cached, written },
      cost: { without, sent },
      ...{ masked: this.#masked, refused: this.#refused },
      overheadMs: { median: this.#overhead.at(0.5), p99: this.#overhead.at(0.99) },
    };
  }

  async totals(): Promise<Totals> {
    return this.sums();
  }

  async conversations(limit: number): Promise<readonly ConversationSummary[]> {
    const newest = [...this.#accounts.values()].reverse();
    return newest.slice(0, limit).map((account) => account.summary());
  }

  async conversation(id: string): Promise<ConversationDetail | undefined> {
    const account = this.#accounts.get(id);
    if (!account) return undefined;
    const { receipts, masks } = account;
    return { conversation: account.summary(), receipts: [...receipts], masks: [...masks.values()] };
  }

  watch(watcher: (entered: Entered) => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }
}

/** Counted up in place: a book is entered on every request and read now and then. */
class Sums {
  requests = 0;
  tokensIn = 0;
  tokensSent = 0;
  cached = 0;
  written = 0;
  without = 0;
  sent = 0;

  add(receipt: Receipt): void {
    this.requests++;
    this.tokensIn += receipt.without.tokens;
    this.tokensSent += receipt.sent.tokens;
    this.cached += receipt.sent.cached;
    this.written += receipt.sent.written;
    this.without += receipt.cost.without;
    this.sent += receipt.cost.sent;
  }
}

/** One conversation. */
class Account {
  readonly sums = new Sums();
  readonly receipts: Receipt[] = [];
  readonly masks = new Map<string, Mask>();
  readonly #about: Pick<ConversationSummary, 'id' | 'title' | 'api' | 'firstAt'>;
  #last: Receipt | undefined;
  #model: string | undefined;
  #epochs = 0;

  constructor(about: Pick<ConversationSummary, 'id' | 'title' | 'api' | 'firstAt'>) {
    this.#about = about;
  }

  get id(): string {
    return this.#about.id;
  }

  enter(receipt: Receipt): void {
    this.sums.add(receipt);
    this.receipts.push(receipt);
    this.#last = receipt;
    this.#model = receipt.model ?? this.#model;
    this.#epochs = Math.max(this.#epochs, receipt.epoch);
    for (const mask of receipt.newMasks)
      if (this.masks.size < recordLimits.masksPerConversation) this.masks.set(mask.handle, mask);
  }

  summary(): ConversationSummary {
    const { prices = '', time = '', masked = 0, act = 'wait', because = '' } = this.#last ?? {};
    const { requests, tokensIn, tokensSent, without, sent } = this.sums;
    return {
      ...this.#about,
      ...(this.#model === undefined ? {} : { model: this.#model }),
      ...{ prices, lastAt: time, requests, masked, epochs: this.#epochs, tokensIn, tokensSent },
      cost: { without, sent },
      ...{ act, because },
    };
  }
}

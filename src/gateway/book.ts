import { Quantiles } from './quantiles.ts';
import type { ConversationSummary, Mask, Receipt, Totals } from './receipt.ts';

/** A receipt before it is entered: which request of its conversation it is, the book knows. */
export interface Entry {
  readonly receipt: Omit<Receipt, 'request'>;
  /** First line of the conversation's task. */
  readonly title: string;
}

/** What a watcher of the book gets for each receipt. */
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

const MOST_CONVERSATIONS = 1000;
const MOST_RECEIPTS = 500;
/** Of all conversations together; those that slept longest lose theirs first. */
const MOST_RECEIPTS_IN_ALL = 10_000;
const MOST_MASKS = 2000;

interface Account {
  summary: ConversationSummary;
  receipts: Receipt[];
  readonly masks: Map<string, Mask>;
}

/** The receipts of one tenant since the gateway started. It keeps what a page can show, and sums of the rest. */
export class Book implements BookReader {
  /** By id, the one that slept longest first. */
  readonly #accounts = new Map<string, Account>();
  readonly #watchers = new Set<(entered: Entered) => void>();
  readonly #overhead = new Quantiles();
  #totals: Omit<Totals, 'overheadMs'> = NOTHING;
  #receipts = 0;

  enter({ receipt: given, title }: Entry): Receipt {
    const account = this.#accounts.get(given.conversation);
    const receipt: Receipt = { ...given, request: (account?.summary.requests ?? 0) + 1 };
    const entered = account ?? { summary: open(receipt, title), receipts: [], masks: new Map() };
    this.#accounts.delete(receipt.conversation);
    this.#accounts.set(receipt.conversation, entered);
    entered.summary = add(entered.summary, receipt);
    this.#keep(entered, receipt);
    this.#totals = addTotals(this.#totals, receipt, !account);
    this.#overhead.add(receipt.overheadMs);
    this.#tell(receipt, entered.summary);
    return receipt;
  }

  #keep(account: Account, receipt: Receipt): void {
    account.receipts.push(receipt);
    this.#receipts++;
    if (account.receipts.length > MOST_RECEIPTS) {
      account.receipts.shift();
      this.#receipts--;
    }
    for (const mask of receipt.newMasks) if (account.masks.size < MOST_MASKS) account.masks.set(mask.handle, mask);
    this.#forget();
  }

  /** Only the sums of a conversation that slept long are kept, and of the oldest nothing. */
  #forget(): void {
    for (const [id, account] of this.#accounts) {
      const isOne = this.#accounts.size > MOST_CONVERSATIONS;
      if (!isOne && this.#receipts <= MOST_RECEIPTS_IN_ALL) return;
      this.#receipts -= account.receipts.length;
      account.receipts = [];
      if (isOne) this.#accounts.delete(id);
    }
  }

  #tell(receipt: Receipt, conversation: ConversationSummary): void {
    if (this.#watchers.size === 0) return;
    const entered = { receipt, conversation, totals: this.sums() };
    for (const watcher of this.#watchers) watcher(entered);
  }

  sums(): Totals {
    return { ...this.#totals, overheadMs: { median: this.#overhead.at(0.5), p99: this.#overhead.at(0.99) } };
  }

  get overhead(): Quantiles {
    return this.#overhead;
  }

  async totals(): Promise<Totals> {
    return this.sums();
  }

  async conversations(limit: number): Promise<readonly ConversationSummary[]> {
    const newest = [...this.#accounts.values()].reverse();
    return newest.slice(0, limit).map(({ summary }) => summary);
  }

  async conversation(id: string): Promise<ConversationDetail | undefined> {
    const account = this.#accounts.get(id);
    if (!account) return undefined;
    return { conversation: account.summary, receipts: [...account.receipts], masks: [...account.masks.values()] };
  }

  watch(watcher: (entered: Entered) => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }
}

const NOTHING: Omit<Totals, 'overheadMs'> = {
  requests: 0,
  conversations: 0,
  tokensIn: 0,
  tokensSent: 0,
  cached: 0,
  written: 0,
  cost: { without: 0, sent: 0 },
  masked: 0,
  refused: 0,
};

function open(receipt: Receipt, title: string): ConversationSummary {
  const { conversation: id, api, prices, time, act, because } = receipt;
  const sums = { requests: 0, masked: 0, epochs: 0, tokensIn: 0, tokensSent: 0, cost: { without: 0, sent: 0 } };
  return { id, title, api, prices, firstAt: time, lastAt: time, ...sums, act, because };
}

function add(summary: ConversationSummary, receipt: Receipt): ConversationSummary {
  const sums = {
    id: summary.id,
    title: summary.title,
    api: summary.api,
    prices: receipt.prices,
    firstAt: summary.firstAt,
    lastAt: receipt.time,
    requests: receipt.request,
    masked: receipt.masked,
    epochs: Math.max(summary.epochs, receipt.epoch),
    tokensIn: summary.tokensIn + receipt.without.tokens,
    tokensSent: summary.tokensSent + receipt.sent.tokens,
    cost: addCost(summary.cost, receipt.cost),
    act: receipt.act,
    because: receipt.because,
  };
  const model = receipt.model ?? summary.model;
  return model === undefined ? sums : { ...sums, model };
}

function addTotals(totals: typeof NOTHING, receipt: Receipt, isNew: boolean): typeof NOTHING {
  return {
    requests: totals.requests + 1,
    conversations: totals.conversations + (isNew ? 1 : 0),
    tokensIn: totals.tokensIn + receipt.without.tokens,
    tokensSent: totals.tokensSent + receipt.sent.tokens,
    cached: totals.cached + receipt.sent.cached,
    written: totals.written + receipt.sent.written,
    cost: addCost(totals.cost, receipt.cost),
    masked: totals.masked + receipt.newMasks.length,
    refused: totals.refused + (receipt.refused ? 1 : 0),
  };
}

function addCost(a: Receipt['cost'], b: Receipt['cost']): Receipt['cost'] {
  return { without: a.without + b.without, sent: a.sent + b.sent };
}

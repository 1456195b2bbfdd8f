import { addMoney } from '../../money/money-totals.ts';
import { listPrices, type PriceBook } from '../../money/price-book.ts';
import type { Outcome } from '../exchange/client.ts';
import type { Provider } from '../exchange/route.ts';
import { Counters, toPrometheus } from './metrics.ts';
import { priced } from './priced.ts';
import { Quantiles } from './quantiles.ts';
import type { Receipt, Totals } from './receipt.ts';
import { type Entry, ReceiptLog, type ReceiptLogReader } from './receipt-log.ts';

/** A request that is over. */
export interface Finished {
  readonly tenant: string;
  readonly provider: Provider;
  /** 0 where there was no answer. */
  readonly status: number;
  readonly ended: Outcome['kind'];
  /** Only of requests that were understood. */
  readonly entry?: Entry | undefined;
}

/** Where requests are written down: in this process, or in the one that keeps the records of all workers. */
export interface Records {
  finish(finished: Finished): void;
  receipts(tenant: string): ReceiptLogReader;
  /** For Prometheus. */
  metrics(): Promise<string>;
}

/** Records of this process, in memory. `onReceipt` is for the log. Money is at list prices if no `priceBook` is given. */
export function createRecords(options: {
  readonly startedAt: number;
  readonly priceBook?: PriceBook;
  readonly onReceipt?: (receipt: Receipt) => void;
}): Records {
  const { priceBook = listPrices } = options;
  const logs = new Map<string, ReceiptLog>();
  const counters = new Counters();
  const overhead = new Quantiles();
  const receipts = (tenant: string): ReceiptLog => {
    const found = logs.get(tenant) ?? new ReceiptLog();
    logs.set(tenant, found);
    return found;
  };
  return {
    receipts,
    finish: ({ tenant, provider, status, ended, entry }) => {
      counters.add(`palimpsest_responses_total{provider="${provider}",status="${classOf(status, ended)}"}`);
      if (!entry) return;
      const receipt = priced(entry, priceBook);
      const request = receipts(tenant).add({ receipt, title: entry.title });
      counters.add(`palimpsest_requests_total{api="${receipt.api}",act="${receipt.act}"}`);
      overhead.add(receipt.overheadMs);
      options.onReceipt?.({ ...receipt, request });
    },
    metrics: async () => {
      const totals = [...logs.values()].map((one) => one.sums()).reduce(sum, new ReceiptLog().sums());
      return toPrometheus({ totals, overhead, counters, startedAt: options.startedAt });
    },
  };
}

function classOf(status: number, ended: Outcome['kind']): string {
  return ended === 'passed' || ended === 'held' ? `${Math.floor(status / 100)}xx` : ended;
}

function sum(a: Totals, b: Totals): Totals {
  return {
    requests: a.requests + b.requests,
    conversations: a.conversations + b.conversations,
    tokensIn: a.tokensIn + b.tokensIn,
    tokensSent: a.tokensSent + b.tokensSent,
    cached: a.cached + b.cached,
    written: a.written + b.written,
    cost: { without: a.cost.without + b.cost.without, sent: a.cost.sent + b.cost.sent },
    money: addMoney(a.money, b.money),
    masked: a.masked + b.masked,
    refused: a.refused + b.refused,
    overheadMs: b.overheadMs,
  };
}

import { type MoneyOptions, moneyOf, type UsedTokens } from '../../money/money-of.ts';
import { addMoney } from '../../money/money-totals.ts';
import { listPrices, type PriceBook } from '../../money/price-book.ts';
import type { RequestRecord } from '../../report/request-record.ts';
import type { StoreTrouble } from '../decide/pass-through.ts';
import type { Outcome } from '../exchange/client.ts';
import type { Provider } from '../exchange/route.ts';
import type { Mutable } from '../mutable.ts';
import { Histogram } from './histogram.ts';
import type { Log } from './log.ts';
import { metricList } from './metric-list.ts';
import { Counters, toPrometheus } from './metrics.ts';
import type { Receipt, Totals } from './receipt.ts';
import { type Entry, ReceiptLog, type ReceiptLogReader } from './receipt-log.ts';
import type { RecordStore } from './record-stores.ts';
import { RecordWriter } from './record-writer.ts';

/** A request that is over. */
export interface Finished {
  readonly tenant: string;
  readonly provider: Provider;
  /** 0 if there was no answer. */
  readonly status: number;
  readonly ended: Outcome['kind'];
  /** Only of requests that were understood. */
  readonly entry?: Entry | undefined;
  /** Why nothing new was masked, if the store was the reason. */
  readonly storeTrouble?: StoreTrouble | undefined;
  /** Written to the store. */
  readonly record?: RequestRecord | undefined;
}

/** Records requests, in this process or in the one that keeps the records of all workers. */
export interface Records {
  /** Records a finished request. Must not throw. */
  finish(finished: Finished): void;
  /** The receipts of one tenant. */
  receipts(tenant: string): ReceiptLogReader;
  /** For Prometheus. */
  metrics(): Promise<string>;
  /** Writes pending records. */
  close?(): Promise<void>;
}

/** Options of `createRecords`. */
export interface RecordsOptions {
  readonly startedAt: number;
  /** Shown in the metrics. */
  readonly version?: string;
  /** Money is at list prices if not given. */
  readonly priceBook?: PriceBook;
  /** For the log. */
  readonly onReceipt?: (receipt: Receipt) => void;
  /** The store of request records. Without it, they are not kept. */
  readonly keep?: { open(tenant: string): Promise<RecordStore>; readonly log: Log };
}

/** Receipts and metrics in the memory of this process, and records of requests in the store. */
export function createRecords(options: RecordsOptions): Records {
  const { priceBook = listPrices } = options;
  const logs = new Map<string, ReceiptLog>();
  const writers = new Map<string, RecordWriter>();
  const write = (tenant: string, record: RequestRecord, keep: NonNullable<RecordsOptions['keep']>): void => {
    const writer = writers.get(tenant) ?? new RecordWriter({ open: () => keep.open(tenant), log: keep.log });
    writers.set(tenant, writer);
    writer.add(record);
  };
  const counters = new Counters();
  const overhead = new Histogram(metricList.palimpsest_overhead_seconds.buckets);
  const duration = new Histogram(metricList.palimpsest_request_seconds.buckets);
  const receipts = (tenant: string): ReceiptLog => {
    const found = logs.get(tenant) ?? new ReceiptLog();
    logs.set(tenant, found);
    return found;
  };
  return {
    receipts,
    finish: ({ tenant, provider, status, ended, entry, storeTrouble, record }) => {
      counters.add('palimpsest_responses_total', { provider, status: classOf(status, ended) });
      if (storeTrouble) counters.add('palimpsest_store_troubles_total', { reason: storeTrouble });
      if (record && options.keep) write(tenant, record, options.keep);
      if (!entry) return;
      const receipt = priced(entry, priceBook);
      const request = receipts(tenant).add({ receipt, title: entry.title });
      counters.add('palimpsest_requests_total', { api: receipt.api, act: receipt.act });
      for (const { how } of receipt.newShaped ?? []) counters.add('palimpsest_shaped_results_total', { how });
      overhead.add(receipt.overheadMs / 1000);
      duration.add(receipt.totalMs / 1000);
      options.onReceipt?.({ ...receipt, request });
    },
    metrics: async () => {
      const totals = [...logs.values()].map((one) => one.sums()).reduce(sum, new ReceiptLog().sums());
      const droppedRecords = [...writers.values()].reduce((dropped, writer) => dropped + writer.dropped, 0);
      const waitingRecords = [...writers.values()].reduce((waiting, writer) => waiting + writer.waiting, 0);
      const { startedAt, version = '' } = options;
      const counted = { totals, overhead, duration, counters, droppedRecords, waitingRecords };
      return toPrometheus({ ...counted, startedAt, version });
    },
    close: async () => {
      await Promise.all([...writers.values()].map((writer) => writer.close()));
    },
  };
}

/** The receipt with its money, if the model has a price. The field is set in place, because copying a receipt takes longer. */
export function priced({ receipt, multiples }: Entry, book: PriceBook): Entry['receipt'] {
  const money = moneyFor(receipt, { prices: multiples, book });
  if (money) (receipt as Mutable<Entry['receipt']>).money = money;
  return receipt;
}

function moneyFor(
  { model, sent, without, completionTokens: output }: Entry['receipt'],
  options: Required<MoneyOptions>,
): Entry['receipt']['money'] | undefined {
  const price = options.book.priceOf(model);
  if (!price) return undefined;
  if ('subscription' in price) return price;
  const used: Mutable<UsedTokens> = { cached: sent.cached, written: sent.written, output };
  if (sent.uncached !== undefined) used.uncached = sent.uncached;
  if (sent.hourWritten !== undefined) used.hourWritten = sent.hourWritten;
  const paid = moneyOf(model, used, options);
  const unmasked = without === sent ? paid : moneyOf(model, without, options);
  return paid && unmasked && { sent: paid.input, without: unmasked.input, output: paid.output };
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
    unsent: { requests: a.unsent.requests + b.unsent.requests, tokens: a.unsent.tokens + b.unsent.tokens },
    masked: a.masked + b.masked,
    shaped: a.shaped + b.shaped,
    refused: a.refused + b.refused,
    failed: a.failed + b.failed,
    overheadMs: b.overheadMs,
  };
}

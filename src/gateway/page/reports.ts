import { setImmediate } from 'node:timers/promises';
import { PalimpsestError } from '../../errors.ts';
import { recordLimits } from '../../limits.ts';
import { type RangeWords, readRange } from '../../manager/config/read-range.ts';
import type { PriceBook } from '../../money/price-book.ts';
import { buildReport, LEAD_MS } from '../../report/build-report.ts';
import { dollarsAt, subscriptionWindows } from '../../report/dollars.ts';
import type { Report } from '../../report/report.ts';
import type { RequestRecord } from '../../report/request-record.ts';
import type { Range } from '../../report/sessions.ts';
import type { RecordStore } from '../receipts/record-stores.ts';

/** The reports that pages ask for. */
export interface Reports {
  /** The report from the records in a tenant's store. `since` and `until` are times such as `7d` or `2026-11-01`. */
  reportOf(tenant: string, store: RecordStore, query: URLSearchParams): Promise<Report>;
}

export interface ReportsOptions {
  readonly book: PriceBook;
  now(): number;
}

/** Makes one report at a time, because each reads many records. A report is cached for half a minute. */
export function createReports({ book, now }: ReportsOptions): Reports {
  const kept = new Map<string, { readonly madeAt: number; readonly report: Promise<Report> }>();
  let last: Promise<unknown> = Promise.resolve();
  const make = (store: RecordStore, range: Range): Promise<Report> => {
    const report = last.then(() => reportFrom(store, range, book));
    last = report.catch(() => {});
    return report;
  };
  return {
    reportOf: async (tenant, store, query) => {
      const times = { since: query.get('since') ?? undefined, until: query.get('until') ?? undefined };
      const range = readRange(times, now(), WORDS);
      const key = JSON.stringify([tenant, times.since, times.until]);
      const found = kept.get(key);
      if (found && now() - found.madeAt < FRESH_MS) return found.report;
      const report = make(store, range);
      if (kept.size >= recordLimits.reports) kept.clear();
      kept.set(key, { madeAt: now(), report });
      report.catch(() => kept.delete(key));
      return report;
    },
  };
}

const FRESH_MS = 30_000;
const WORDS: RangeWords = { prefix: '', toError: (complaint) => new PalimpsestError('BAD_INPUT', complaint) };

function reportFrom(store: RecordStore, range: Range, book: PriceBook): Promise<Report> {
  let damaged = 0;
  const onDamaged = (): void => void damaged++;
  const records = store.records({ since: Math.max(0, range.since - LEAD_MS), until: range.until, onDamaged });
  const pricing = { dollarsOf: dollarsAt(book), windowOf: subscriptionWindows(book) };
  return buildReport(inTurns(records), { range, countDamaged: () => damaged, ...pricing });
}

/** Lets requests of agents run in between: records in memory would come without a pause. */
async function* inTurns(records: AsyncIterable<RequestRecord>): AsyncGenerator<RequestRecord> {
  let count = 0;
  for await (const record of records) {
    if (++count % RECORDS_AT_ONCE === 0) await setImmediate();
    yield record;
  }
}

const RECORDS_AT_ONCE = 1000;

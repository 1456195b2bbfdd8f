import { PalimpsestError } from '../errors.ts';
import { readRange } from '../manager/config/read-range.ts';
import { createPriceBook, type PriceBook } from '../money/index.ts';
import { buildReport, LEAD_MS } from '../report/build-report.ts';
import { dollarsAt, subscriptionWindows } from '../report/dollars.ts';
import type { Report } from '../report/report.ts';
import type { RequestRecord } from '../report/request-record.ts';
import type { Range } from '../report/sessions.ts';
import type { RecordRange, Store } from '../store/store.ts';
import { whyNotWritten } from './file-problem.ts';
import { type Io, UsageError } from './io.ts';
import { parseOptions } from './parse-options.ts';
import { readPriceFile } from './price-file.ts';
import { readServeConfig } from './serve/serve-config.ts';
import { showReport } from './show-report.ts';
import { storePath, withRunStores } from './store/with-store.ts';
import { writeReportPage } from './write-report-page.ts';

export const help = `palimpsest report: what masking saves, measured, and whether it does harm.

Usage: palimpsest report [options]

Compares the provider's bill of sessions with masking and of sessions that a
gateway held out (palimpsest serve --holdout 10%). Without held-out sessions it
shows what was spent, and estimates.

Options:
  --since <time>       sessions that began after it: 12h, 7d or 8w ago, or a day
                       such as 2026-11-01 (default: everything in the store).
                       Use a fixed day if you look at the report every day
  --until <time>       and before it (default: now)
  --price-file <file>  own prices of models in dollars (default:
                       gateway.price_file, then list prices)
  --config <file>      where that is set (default: the user's configuration)
  --html <file>        writes a page; - is standard output, and the table then
                       goes to standard error
  --json               prints the report as JSON
  --store <place>      a folder, or a postgres:// address (default:
                       $PALIMPSEST_STORE, else ~/.palimpsest/store)
  --tenant <name>      whose sessions, if a gateway has several tenants
                       (default: those of default, and of runs at the same time)
  -h, --help

Exit codes: 0 done, 1 failed, 2 wrong usage.
Example: palimpsest report --since 2026-11-01 --html report.html
`;

const OPTIONS = {
  since: { type: 'string' },
  until: { type: 'string' },
  'price-file': { type: 'string' },
  config: { type: 'string' },
  html: { type: 'string' },
  json: { type: 'boolean' },
  store: { type: 'string' },
  tenant: { type: 'string' },
} as const;

type Values = ReturnType<typeof parseOptions<typeof OPTIONS>>['values'];

export async function run(args: readonly string[], io: Io, now = Date.now()): Promise<number> {
  const { values, positionals } = parseOptions(args, OPTIONS);
  if (positionals.length > 0) throw new UsageError(`expected no further words but found '${positionals[0]}'`);
  const range = readRange(values, now, { prefix: '--', toError: (complaint) => new UsageError(complaint) });
  const report = await reportOf(values, range, io);
  const say = values.html === '-' ? io.stderr : io.stdout;
  say(values.json ? `${JSON.stringify(report, null, 2)}\n` : showReport(report));
  if (isEmpty(report) && !values.json) say(FIRST_STEP);
  if (values.html !== undefined) await writeHtml(values.html, report, io);
  if (values.html !== undefined && values.html !== '-' && !values.json) say(`\nThe page is in ${values.html}\n`);
  return 0;
}

/** Whether the store has no session of that time at all: no gateway has used it. */
const isEmpty = ({ headline: { verdict, details } }: Report): boolean => verdict === 'nothing' && details.length === 0;

const FIRST_STEP =
  'Next: npx palimpsest serve, and point an agent at it; or name another store, or an earlier --since.\n';

async function reportOf(values: Values, range: Range, io: Io): Promise<Report> {
  const book = await priceBook(values, io);
  return withRunStores({ path: storePath(values.store, io), tenant: values.tenant }, async (stores) => {
    let damaged = 0;
    const onDamaged = (): void => void damaged++;
    const lead = { since: Math.max(0, range.since - LEAD_MS), until: range.until, onDamaged };
    const pricing = { dollarsOf: dollarsAt(book), windowOf: subscriptionWindows(book) };
    return buildReport(recordsIn(stores, lead), { range, countDamaged: () => damaged, ...pricing });
  });
}

async function* recordsIn(stores: readonly Store[], range: RecordRange): AsyncGenerator<RequestRecord> {
  for (const store of stores) {
    if (!store.records) throw new PalimpsestError('BAD_INPUT', 'this store keeps no records of requests');
    yield* store.records(range);
  }
}

async function priceBook(values: Values, io: Io): Promise<PriceBook> {
  const file = values['price-file'] ?? (await readServeConfig(values.config, quiet(io))).gateway?.price_file;
  return createPriceBook(file === undefined ? {} : await readPriceFile(file, io));
}

const quiet = (io: Io): Io => ({ ...io, stderr: () => {} });

async function writeHtml(file: string, report: Report, io: Io): Promise<void> {
  const page = writeReportPage(report);
  if (file === '-') return io.stdout(page);
  try {
    await io.writeFile(file, page);
  } catch (error) {
    throw new PalimpsestError('BAD_INPUT', `could not write ${file}: ${whyNotWritten(error)}`, { cause: error });
  }
}

import { DELETION, type LogRecord, START, USE } from '../log.ts';
import { readUse } from '../records.ts';
import type { Catalogue } from './catalogue.ts';
import type { SessionTimes } from './chains.ts';
import { chainOf, NO_SESSION } from './indexed-log.ts';

/**
 * Every session and its times, most recently used first. Sessions of an older version have no use record: they are found in the
 * log, and count as used now.
 */
export function sessionTimes(catalogue: Catalogue, now: number): SessionTimes[] {
  const { latest, counts } = catalogue;
  const known: SessionTimes[] = [];
  for (const use of usesOf(catalogue)) {
    const { session, firstAt } = readUse(use.body);
    if (latest.has(use)) known.push({ session, firstAt, lastAt: use.time });
  }
  const all = known.length === counts.sessions ? known : [...known, ...timesWithoutUse(catalogue, known)];
  return all.map(({ session, firstAt, lastAt }) => ({ session, firstAt: firstAt || now, lastAt: lastAt || now }));
}

/** The records of uses, the newest first. If one is damaged, it is the end. */
function* usesOf({ log, counts }: Catalogue): Generator<LogRecord> {
  for (let at = counts.newestUse; at > 0; ) {
    const record = log.recordAt(at);
    if (record?.type !== USE) return;
    yield record;
    at = readUse(record.body).older;
  }
}

function timesWithoutUse({ log, deletions }: Catalogue, known: readonly SessionTimes[]): SessionTimes[] {
  const names = new Set([NO_SESSION, ...known.map(({ session }) => session)]);
  const found = new Map<string, SessionTimes>();
  for (const record of log.file.records()) {
    const session = chainOf(record);
    if (session === undefined || names.has(session) || record.position < deletions.of(session)) continue;
    if (record.type === DELETION) continue;
    const { firstAt = record.time } = found.get(session) ?? {};
    found.set(session, { session, firstAt, lastAt: record.time });
  }
  return [...found.values()].reverse();
}

interface Ages {
  readonly oldestAt: number;
  readonly newestAt: number;
  readonly bytesSince: number;
}

/** The times of the first record and of the last use, and the bytes stored since a time. */
export function agesOf(catalogue: Catalogue, since: number): Ages {
  const { log } = catalogue;
  const oldestAt = log.recordAt(START)?.time ?? 0;
  let [newestAt, from] = [0, log.file.end];
  for (const { position, time } of usesOf(catalogue)) {
    newestAt = Math.max(newestAt, time);
    if (time < since) break;
    from = position;
  }
  return { oldestAt, newestAt, bytesSince: log.file.end - from };
}

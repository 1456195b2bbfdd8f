import type { StoreStats } from '../store.ts';
import type { Database } from './database.ts';
import { msOf, usedBytes } from './retention.ts';

/** Counts everything, which reads every row. */
export async function statsOf(database: Database): Promise<StoreStats> {
  const [row] = await database.scan(counts);
  return {
    kind: 'postgres',
    texts: Number(row?.texts),
    turns: Number(row?.turns),
    notes: Number(row?.notes),
    records: Number(row?.records),
    sessions: Number(row?.sessions),
    textBytes: Number(row?.text_bytes),
    diskBytes: Number(row?.disk_bytes),
    usedBytes: Number(row?.used_bytes),
    ...(row?.oldest_at ? { oldestAt: Number(row.oldest_at), newestAt: Number(row.newest_at) } : {}),
    weekBytes: Number(row?.week_bytes),
  };
}

const counts = (schema: string): string =>
  `SELECT count(*) AS texts, coalesce(sum(bytes), 0) AS text_bytes, coalesce(sum(pg_column_size(body)), 0) AS disk_bytes,
     ${usedBytes(schema)} AS used_bytes, ${msOf('min(at)')} AS oldest_at, ${msOf('max(at)')} AS newest_at,
     coalesce(sum(pg_column_size(body)) FILTER (WHERE at > now() - interval '7 days'), 0) AS week_bytes,
     (SELECT count(*) FROM "${schema}".turns WHERE tenant = $1) AS turns,
     (SELECT count(*) FROM "${schema}".notes WHERE tenant = $1) AS notes,
     (SELECT count(*) FROM "${schema}".records WHERE tenant = $1) AS records,
     (SELECT count(*) FROM (SELECT session FROM "${schema}".refs WHERE tenant = $1 AND session <> ''
       UNION SELECT session FROM "${schema}".turns WHERE tenant = $1
       UNION SELECT session FROM "${schema}".notes WHERE tenant = $1) AS every) AS sessions
   FROM "${schema}".texts WHERE tenant = $1`;

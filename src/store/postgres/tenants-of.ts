import { type PostgresPool, withConnection } from './connection.ts';

/** The tenants that have anything in a database. Undefined where the tables are missing: whoever writes first makes them. */
export const tenantsOf = (pool: PostgresPool): Promise<string[] | undefined> =>
  withConnection(pool, async (query) => {
    const { rows: found } = await query(
      `SELECT to_regclass('palimpsest.texts') AS texts, to_regclass('palimpsest.notes') AS notes,
         to_regclass('palimpsest.records') AS records`,
    );
    if (!found[0]?.texts) return undefined;
    // An older version made the tables without some of these, and no store of this one was opened yet.
    const tables = ['texts', 'turns', ...['notes', 'records'].filter((table) => found[0]?.[table])];
    const { rows } = await query(tables.map(eachTenantIn).join(' UNION '));
    return rows.map(({ tenant }) => String(tenant));
  });

/** From one tenant to the next by the primary key: to look at every row would take long. */
const eachTenantIn = (table: string): string =>
  `(WITH RECURSIVE found AS (
      SELECT min(tenant) AS tenant FROM palimpsest.${table}
      UNION ALL SELECT (SELECT min(tenant) FROM palimpsest.${table} AS more WHERE more.tenant > found.tenant)
        FROM found WHERE found.tenant IS NOT NULL)
    SELECT tenant FROM found WHERE tenant IS NOT NULL)`;

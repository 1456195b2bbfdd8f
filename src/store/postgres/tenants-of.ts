import { type PostgresPool, withConnection } from './connection.ts';

/** The tenants that have data in a database. Undefined if the tables are missing: the first writer creates them. */
export const tenantsOf = (pool: PostgresPool): Promise<string[] | undefined> =>
  withConnection(pool, async (query) => {
    const { rows: found } = await query(
      `SELECT to_regclass('palimpsest.texts') AS texts, to_regclass('palimpsest.notes') AS notes,
         to_regclass('palimpsest.records') AS records`,
    );
    if (!found[0]?.texts) return undefined;
    // Tables of an older version may lack some of these until a store of this version is opened.
    const tables = ['texts', 'turns', ...['notes', 'records'].filter((table) => found[0]?.[table])];
    const { rows } = await query(tables.map(eachTenantIn).join(' UNION '));
    return rows.map(({ tenant }) => String(tenant));
  });

/** Jumps from tenant to tenant by the primary key. Reading every row would take long. */
const eachTenantIn = (table: string): string =>
  `(WITH RECURSIVE found AS (
      SELECT min(tenant) AS tenant FROM palimpsest.${table}
      UNION ALL SELECT (SELECT min(tenant) FROM palimpsest.${table} AS more WHERE more.tenant > found.tenant)
        FROM found WHERE found.tenant IS NOT NULL)
    SELECT tenant FROM found WHERE tenant IS NOT NULL)`;

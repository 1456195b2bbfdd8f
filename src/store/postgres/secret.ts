import { randomBytes } from 'node:crypto';
import { inTransaction, withConnection } from './connection.ts';
import type { Place } from './place.ts';

/** The secret of a tenant. If several processes create it at once, the row of the first stays and all read it. */
export async function keepSecret(place: Place): Promise<string> {
  const { pool, schema, tenant } = place;
  // Read first: a read-only role finds the secret that a writer created.
  const found = await readSecret(place);
  if (found !== undefined) return found;
  await inTransaction(pool, 'SELECT 1', (query) =>
    query(
      `INSERT INTO "${schema}".secrets (tenant, secret) VALUES ($1, $2) ON CONFLICT (tenant) DO NOTHING`,
      tenant,
      randomBytes(32).toString('hex'),
    ),
  );
  return (await readSecret(place)) as string;
}

async function readSecret({ pool, schema, tenant }: Place): Promise<string | undefined> {
  const select = `SELECT secret FROM "${schema}".secrets WHERE tenant = $1`;
  const { rows } = await withConnection(pool, (query) => query(select, tenant));
  return rows[0]?.secret ?? undefined;
}

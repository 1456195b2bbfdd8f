import { handleOfDigest } from '../handle.ts';
import type { GcOptions, GcReport, Handle, Problem } from '../store.ts';
import { inTransaction, patient, type Query } from './connection.ts';
import type { Database } from './database.ts';
import { noteDamage } from './notes.ts';
import { ownLock, type Place } from './place.ts';
import { countDeletion } from './retention.ts';
import { pagesOf } from './texts.ts';

/** The server computes the hashes again: no text is sent for it. */
export async function verify(database: Database): Promise<Problem[]> {
  const problems: Problem[] = [];
  for await (const page of pagesOf(database)) {
    const rows = await database.query(
      (schema) =>
        `SELECT handle, encode(digest, 'hex') AS digest, encode(sha256(body), 'hex') AS found
         FROM "${schema}".texts WHERE tenant = $1 AND handle = ANY ($2::text[]) ORDER BY seq`,
      page.map(({ handle }) => handle),
    );
    for (const { handle, digest, found } of rows)
      if (handle && (digest !== found || handleOfDigest(Buffer.from(found ?? '', 'hex').toString('latin1')) !== handle))
        problems.push(damage(handle));
  }
  const lost = await database.scan(
    (schema) =>
      `SELECT DISTINCT handle FROM "${schema}".refs WHERE tenant = $1
         AND NOT EXISTS (SELECT FROM "${schema}".texts WHERE texts.tenant = $1 AND texts.handle = refs.handle)`,
  );
  const notes = await database.scan(
    (schema) => `SELECT session, name FROM "${schema}".notes WHERE tenant = $1 AND digest <> sha256(body)`,
  );
  return [...problems, ...lost.map(({ handle }) => loss(handle ?? '')), ...notes.map(noteDamage)];
}

const damage = (handle: Handle): Problem => ({
  what: `the text ${handle} is not what was stored: its hash differs`,
  remedy: 'restore the row from a backup, or give it up with gc --repair',
  handle,
});

const loss = (handle: Handle): Problem => ({
  what: `the text ${handle} is referred to and is not there`,
  remedy: 'restore the row from a backup, or remove the references with gc --repair',
  handle,
});

/** Removes texts without references, and with `repair` what `verify` reports. */
export async function gc(database: Database, { repair = false, force = false }: GcOptions): Promise<GcReport> {
  const problems = repair ? await verify(database) : [];
  const place = await database.ready();
  const { pool, schema, tenant } = place;
  const removed = await inTransaction(patient(pool), ownLock(place), async (query) => {
    if (repair) await giveUp(query, place, problems);
    const { rows } = await query(
      `WITH gone AS (DELETE FROM "${schema}".texts WHERE tenant = $1
         AND NOT EXISTS (SELECT FROM "${schema}".refs WHERE refs.tenant = $1 AND refs.handle = texts.handle)
         RETURNING bytes)
       SELECT count(*) AS texts, coalesce(sum(bytes), 0) AS bytes FROM gone`,
      tenant,
    );
    return rows[0];
  });
  if (force) await database.vacuum();
  return {
    freedBytes: Number(removed?.bytes),
    removedTexts: Number(removed?.texts),
    repaired: problems.length,
  };
}

/** Without references a damaged text is removed like any other. */
async function giveUp(query: Query, place: Place, problems: readonly Problem[]): Promise<void> {
  const { schema, tenant } = place;
  const handles = problems.flatMap(({ handle }) => handle ?? []);
  await query(`DELETE FROM "${schema}".refs WHERE tenant = $1 AND handle = ANY ($2::text[])`, tenant, handles);
  await query(`DELETE FROM "${schema}".notes WHERE tenant = $1 AND digest <> sha256(body)`, tenant);
  if (problems.length > 0) await countDeletion(query, place);
}

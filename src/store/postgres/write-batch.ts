import { PalimpsestError } from '../../errors.ts';
import { storeLimits } from '../../limits.ts';
import { clashError } from '../check-input.ts';
import { handleOf } from '../handle.ts';
import type { Handle, Reference } from '../store.ts';
import { hexDigestOf, toBytes } from '../text-bytes.ts';
import { inTransaction, type Query, type TimedPool } from './connection.ts';
import { lockKey } from './migrate.ts';
import { type ReferenceRow, toRow } from './references.ts';

/** A schema, and a tenant whose rows are in it. */
export interface Place {
  readonly pool: TimedPool;
  readonly schema: string;
  readonly tenant: string;
}

export interface Item {
  readonly text: string;
  readonly about: Reference;
}

/** Puts share this lock; a deletion has it alone, so that no text is removed while a reference to it is added. */
export const sharedLock = ({ schema, tenant }: Place): string =>
  `SELECT pg_advisory_xact_lock_shared(${lockKey(schema, 'tenant', tenant)})`;
export const ownLock = ({ schema, tenant }: Place): string =>
  `SELECT pg_advisory_xact_lock(${lockKey(schema, 'tenant', tenant)})`;

/** Stores texts and references in one transaction. Bodies that the server has are not sent. */
export async function writeBatch(place: Place, items: readonly Item[]): Promise<Handle[]> {
  if (items.length > MAX_ITEMS)
    throw new PalimpsestError('BAD_INPUT', `Expected at most ${MAX_ITEMS} texts in a batch but found ${items.length}`);
  const handles = items.map(({ text }) => handleOf(text));
  const first = `${sharedLock(place)}; SELECT nextval('"${place.schema}".batches') AS batch`;
  await inTransaction(place.pool, first, async (query, begun) => {
    const seq = Number(begun[0]?.batch) * MAX_ITEMS;
    await writeTexts(query, place, textsOf(items, handles, seq));
    await writeReferences(query, place, referencesOf(items, handles, seq));
  });
  return handles;
}

/** A batch has this many places in `seq`, so 2 ** 33 batches fit below the largest safe integer. */
const MAX_ITEMS = storeLimits.batchTexts;

interface TextRow {
  readonly handle: Handle;
  readonly seq: number;
  readonly digest: string;
  readonly bytes: number;
  readonly body: Buffer;
}

/** Each text once, in the order of handles: two batches that wait for each other's rows would wait for ever. */
function textsOf(items: readonly Item[], handles: readonly Handle[], seq: number): TextRow[] {
  const rows = new Map<Handle, TextRow>();
  for (const [index, { text }] of items.entries()) {
    const handle = handles[index] as Handle;
    const body = toBytes(text);
    const known = rows.get(handle);
    if (known && !known.body.equals(body)) throw clashError(handle);
    if (!known)
      rows.set(handle, { handle, seq: seq + index, digest: hexDigestOf(body), bytes: Buffer.byteLength(text), body });
  }
  return [...rows.values()].sort((a, b) => compare(a.handle, b.handle));
}

function referencesOf(items: readonly Item[], handles: readonly Handle[], seq: number) {
  const rows = new Map<string, ReferenceRow & { readonly handle: Handle; readonly seq: number }>();
  for (const [index, { about }] of items.entries()) {
    const handle = handles[index] as Handle;
    const row = toRow(about);
    const name = handle + row.key;
    if (!rows.has(name)) rows.set(name, { ...row, handle, seq: seq + index });
  }
  return [...rows.entries()].sort(([a], [b]) => compare(a, b)).map(([, row]) => row);
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

async function writeTexts(query: Query, place: Place, texts: readonly TextRow[]): Promise<void> {
  const known = await checkKnown(query, place, texts);
  const missing = texts.filter(({ handle }) => !known.has(handle));
  const written = new Set<string | null | undefined>();
  for (const chunk of chunksOf(missing))
    for (const handle of await insertTexts(query, place, chunk)) written.add(handle);
  // Those that another batch has written meanwhile.
  const others = missing.filter(({ handle }) => !written.has(handle));
  if (others.length > 0) await checkKnown(query, place, others);
}

/** The handles that are there already, with the same text behind them. */
async function checkKnown(query: Query, { schema, tenant }: Place, texts: readonly TextRow[]): Promise<Set<Handle>> {
  const { rows } = await query(
    `SELECT handle, encode(digest, 'hex') AS digest, bytes FROM "${schema}".texts
     WHERE tenant = $1 AND handle = ANY ($2::text[])`,
    tenant,
    texts.map(({ handle }) => handle),
  );
  const known = new Map(rows.map((row) => [row.handle, row]));
  for (const { handle, digest, bytes } of texts) {
    const row = known.get(handle);
    if (row && (row.digest !== digest || Number(row.bytes) !== bytes)) throw clashError(handle);
  }
  return new Set(known.keys()) as Set<Handle>;
}

const CHUNK_BYTES = 8_000_000;
const CHUNK_ROWS = 5000;

function* chunksOf(texts: readonly TextRow[]): Generator<TextRow[]> {
  let chunk: TextRow[] = [];
  let bytes = 0;
  for (const row of texts) {
    if (chunk.length > 0 && (chunk.length === CHUNK_ROWS || bytes + row.body.length > CHUNK_BYTES)) {
      yield chunk;
      chunk = [];
      bytes = 0;
    }
    chunk.push(row);
    bytes += row.body.length;
  }
  if (chunk.length > 0) yield chunk;
}

/** All bodies go as one value, which `pg` sends as it is: a list of bytes would go as hexadecimal, twice as long. */
async function insertTexts(query: Query, { schema, tenant }: Place, texts: readonly TextRow[]) {
  const starts: number[] = [];
  let at = 1;
  for (const { body } of texts) {
    starts.push(at);
    at += body.length;
  }
  const { rows } = await query(
    `INSERT INTO "${schema}".texts (tenant, handle, seq, digest, bytes, body)
     SELECT $1, handle, seq, decode(digest, 'hex'), bytes, substring($2::bytea FROM start FOR length)
     FROM unnest($3::text[], $4::bigint[], $5::text[], $6::bigint[], $7::integer[], $8::integer[])
       AS item (handle, seq, digest, bytes, start, length)
     ON CONFLICT DO NOTHING RETURNING handle`,
    tenant,
    Buffer.concat(texts.map(({ body }) => body)),
    texts.map(({ handle }) => handle),
    texts.map(({ seq }) => seq),
    texts.map(({ digest }) => digest),
    texts.map(({ bytes }) => bytes),
    starts,
    texts.map(({ body }) => body.length),
  );
  return rows.map(({ handle }) => handle);
}

async function writeReferences(
  query: Query,
  { schema, tenant }: Place,
  references: readonly (ReferenceRow & { readonly handle: Handle; readonly seq: number })[],
): Promise<void> {
  await query(
    `INSERT INTO "${schema}".refs (tenant, handle, key, seq, session, turn, tool)
     SELECT $1, handle, decode(key, 'hex'), seq, session, turn, tool
     FROM unnest($2::text[], $3::text[], $4::bigint[], $5::text[], $6::bigint[], $7::text[])
       AS item (handle, key, seq, session, turn, tool)
     ON CONFLICT DO NOTHING`,
    tenant,
    references.map(({ handle }) => handle),
    references.map(({ key }) => key),
    references.map(({ seq }) => seq),
    references.map(({ session }) => session),
    references.map(({ turn }) => turn),
    references.map(({ tool }) => tool),
  );
}

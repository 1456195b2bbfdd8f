import { PalimpsestError } from '../../errors.ts';
import { clashError } from '../check-input.ts';
import { digestOf, handleOfDigest } from '../handle.ts';
import type { Handle, Reference } from '../store.ts';
import { toBytes } from '../text-bytes.ts';
import { inTransaction, type Query, type Row, withConnection, write } from './connection.ts';
import type { Place } from './place.ts';
import { type ReferenceRow, toRow } from './references.ts';
import { BATCH_PLACES } from './statements.ts';

export interface Item {
  readonly text: string;
  readonly about: Reference;
}

/** Stores texts and references: in one statement, or where that would be too large, in several of one transaction. */
export async function writeBatch(place: Place, items: readonly Item[]): Promise<Handle[]> {
  if (items.length > BATCH_PLACES)
    throw new PalimpsestError(
      'BAD_INPUT',
      `Expected at most ${BATCH_PLACES} texts in a batch but found ${items.length}`,
    );
  const digests = items.map(({ text }) => digestOf(text));
  const handles = digests.map(handleOfDigest);
  const texts = textsOf(items, handles, digests);
  const references = referencesOf(items, handles);
  const chunks = [...chunksOf(texts)];
  try {
    if (chunks.length > 1) await writeChunks(place, chunks, references);
    else await writeAtOnce(place, texts, references);
  } catch (error) {
    const clash = clashOf(error);
    throw clash ? clashError(clash) : error;
  }
  return handles;
}

async function writeAtOnce(
  place: Place,
  texts: readonly TextRow[],
  references: readonly PlacedReference[],
): Promise<void> {
  const { pool, statements } = place;
  const [text, reference] = [texts[0] as TextRow, references[0] as PlacedReference];
  const isOne = texts.length === 1 && references.length === 1;
  const [row] = await (isOne
    ? write(pool, statements.putOne, ...valuesOfOne(place, text, reference))
    : write(pool, statements.putMany, ...valuesOf(place, null, texts, references)));
  await checkSettled((...sent) => withConnection(pool, (query) => query(...sent)), place, texts, row);
}

/** The handle that names another text, if that is why the server refused. */
function clashOf(error: unknown): Handle | undefined {
  const [, handle] = /HANDLE_CLASH (p_[a-z2-7]{26})/.exec(error instanceof Error ? error.message : '') ?? [];
  return handle;
}

interface TextRow {
  readonly handle: Handle;
  readonly place: number;
  readonly digest: string;
  /** In UTF-8. */
  readonly bytes: number;
  readonly text: string;
  /** Of what is stored: see `toBytes`. */
  readonly length: number;
}

interface PlacedReference extends ReferenceRow {
  readonly handle: Handle;
  readonly place: number;
}

/** Each text once, in the order of handles: two batches that wait for each other's rows would wait for ever. */
function textsOf(items: readonly Item[], handles: readonly Handle[], digests: readonly string[]): TextRow[] {
  const rows = new Map<Handle, TextRow>();
  items.forEach(({ text }, place) => {
    const handle = handles[place] as Handle;
    const digest = digests[place] as string;
    const known = rows.get(handle);
    if (known && known.digest !== digest) throw clashError(handle);
    const bytes = Buffer.byteLength(text);
    const length = text.isWellFormed() ? bytes : 1 + 2 * text.length;
    if (!known) rows.set(handle, { handle, place, digest, bytes, text, length });
  });
  return [...rows.values()].sort((a, b) => compare(a.handle, b.handle));
}

/** Each reference once, in the order of handles and keys. */
function referencesOf(items: readonly Item[], handles: readonly Handle[]): PlacedReference[] {
  const rows = items.map(({ about }, place) => ({ ...toRow(about), handle: handles[place] as Handle, place }));
  rows.sort((a, b) => compare(a.handle, b.handle) || compare(a.key, b.key) || a.place - b.place);
  return rows.filter(({ handle, key }, i) => i === 0 || rows[i - 1]?.handle !== handle || rows[i - 1]?.key !== key);
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

const CHUNK_BYTES = 8_000_000;
const CHUNK_ROWS = 5000;

function* chunksOf(texts: readonly TextRow[]): Generator<TextRow[]> {
  let chunk: TextRow[] = [];
  let bytes = 0;
  for (const row of texts) {
    if (chunk.length > 0 && (chunk.length === CHUNK_ROWS || bytes + row.length > CHUNK_BYTES)) {
      yield chunk;
      chunk = [];
      bytes = 0;
    }
    chunk.push(row);
    bytes += row.length;
  }
  if (chunk.length > 0) yield chunk;
}

/** All texts before all references, as in one statement: other batches may have other chunks. */
async function writeChunks(
  place: Place,
  chunks: readonly (readonly TextRow[])[],
  references: readonly PlacedReference[],
): Promise<void> {
  const { pool, schema, statements } = place;
  const number = `SELECT nextval('"${schema}".batches') AS batch`;
  await inTransaction(pool, number, async (query, begun) => {
    const batch = begun[0]?.batch ?? null;
    for (const chunk of chunks) {
      const { rows } = await query(statements.putMany.text, ...valuesOf(place, batch, chunk, []));
      await checkSettled(query, place, chunk, rows[0]);
    }
    await query(statements.putMany.text, ...valuesOf(place, batch, [], references));
  });
}

/** A text that is neither new nor was there before the statement is one that another batch has written meanwhile. */
async function checkSettled(query: Query, { schema, tenant }: Place, texts: readonly TextRow[], row: Row | undefined) {
  if (Number(row?.settled) === texts.length) return;
  const { rows } = await query(
    `SELECT handle, encode(digest, 'hex') AS digest FROM "${schema}".texts WHERE tenant = $1 AND handle = ANY ($2::text[])`,
    tenant,
    texts.map(({ handle }) => handle),
  );
  const digests = new Map(rows.map(({ handle, digest }) => [handle, digest]));
  for (const { handle, digest } of texts)
    if ((digests.get(handle) ?? hexOf(digest)) !== hexOf(digest)) throw clashError(handle);
}

const hexOf = (digest: string): string => Buffer.from(digest, 'latin1').toString('hex');

/** The values of `putOne`. */
function valuesOfOne(place: Place, row: TextRow, { key, session, turn, tool }: PlacedReference): unknown[] {
  const digest = Buffer.from(row.digest, 'latin1');
  const text = [row.handle, digest, row.bytes, toBytes(row.text)];
  return [place.tenant, place.lock, null, ...text, Buffer.from(key, 'hex'), session, turn, tool];
}

/** The values of `putMany`. Handles, sessions and numbers need no escapes in a list. */
function valuesOf(
  place: Place,
  batch: string | null,
  texts: readonly TextRow[],
  references: readonly PlacedReference[],
): unknown[] {
  const bodies = Buffer.allocUnsafe(texts.reduce((sum, { length }) => sum + length, 0));
  const starts: number[] = [];
  let end = 0;
  for (const { text, length } of texts) {
    starts.push(end + 1);
    if (text.isWellFormed()) bodies.write(text, end);
    else toBytes(text).copy(bodies, end);
    end += length;
  }
  return [
    place.tenant,
    place.lock,
    batch,
    Buffer.from(texts.map(({ digest }) => digest).join(''), 'latin1'),
    listOf(texts.map(({ handle }) => handle)),
    listOf(texts.map((text) => text.place)),
    listOf(texts.map(({ bytes }) => bytes)),
    listOf(starts),
    listOf(texts.map(({ length }) => length)),
    bodies,
    Buffer.from(references.map(({ key }) => key).join(''), 'hex'),
    listOf(references.map(({ handle }) => handle)),
    listOf(references.map((reference) => reference.place)),
    listOf(references.map(({ session }) => `"${session}"`)),
    listOf(references.map(({ turn }) => turn)),
    references.map(({ tool }) => tool),
  ];
}

const listOf = (values: readonly (string | number)[]): string => `{${values.join(',')}}`;

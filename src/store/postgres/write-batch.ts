import { PalimpsestError } from '../../errors.ts';
import { clashError } from '../check-input.ts';
import { digestOf, handleOfDigest } from '../handle.ts';
import type { Handle, Reference } from '../store.ts';
import { hexDigestOf, toBytes } from '../text-bytes.ts';
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
  const { statements } = place;
  const texts = textsOf(items, handles, digests);
  const references = referencesOf(items, handles);
  const chunks = [...chunksOf(texts)];
  if (chunks.length > 1) await writeChunks(place, chunks, references);
  else {
    const [text, reference] = [texts[0] as TextRow, references[0] as PlacedReference];
    const isOne = texts.length === 1 && references.length === 1;
    const [row] = await (isOne
      ? write(place.pool, statements.putOne, ...valuesOfOne(place, text, reference))
      : write(place.pool, statements.putMany, ...valuesOf(place, null, texts, references)));
    await checkSettled((...sent) => withConnection(place.pool, (query) => query(...sent)), place, texts, row);
  }
  return handles;
}

interface TextRow {
  readonly handle: Handle;
  readonly place: number;
  readonly digest: string;
  readonly bytes: number;
  readonly body: Buffer;
}

interface PlacedReference extends ReferenceRow {
  readonly handle: Handle;
  readonly place: number;
}

/** Each text once, in the order of handles: two batches that wait for each other's rows would wait for ever. */
function textsOf(items: readonly Item[], handles: readonly Handle[], digests: readonly string[]): TextRow[] {
  const rows = new Map<Handle, TextRow>();
  for (const [place, { text }] of items.entries()) {
    const handle = handles[place] as Handle;
    const digest = digests[place] as string;
    const known = rows.get(handle);
    if (known && known.digest !== digest) throw clashError(handle);
    if (!known) {
      const body = toBytes(text);
      rows.set(handle, {
        handle,
        place,
        digest,
        bytes: text.isWellFormed() ? body.length : Buffer.byteLength(text),
        body,
      });
    }
  }
  return [...rows.values()].sort((a, b) => compare(a.handle, b.handle));
}

function referencesOf(items: readonly Item[], handles: readonly Handle[]): PlacedReference[] {
  const rows = new Map<string, PlacedReference>();
  for (const [place, { about }] of items.entries()) {
    const handle = handles[place] as Handle;
    const row = toRow(about);
    const name = handle + row.key;
    if (!rows.has(name)) rows.set(name, { ...row, handle, place });
  }
  return [...rows.entries()].sort(([a], [b]) => compare(a, b)).map(([, row]) => row);
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

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

/**
 * Nothing is written where a handle names another text. A text that is neither new nor was there before the statement is one
 * that another batch has written meanwhile.
 */
async function checkSettled(query: Query, { schema, tenant }: Place, texts: readonly TextRow[], row: Row | undefined) {
  if (row?.clash) throw clashError(row.clash);
  if (Number(row?.settled) === texts.length) return;
  const { rows } = await query(
    `SELECT handle, encode(digest, 'hex') AS digest FROM "${schema}".texts WHERE tenant = $1 AND handle = ANY ($2::text[])`,
    tenant,
    texts.map(({ handle }) => handle),
  );
  const digests = new Map(rows.map(({ handle, digest }) => [handle, digest]));
  for (const { handle, body } of texts)
    if (digests.has(handle) && digests.get(handle) !== hexDigestOf(body)) throw clashError(handle);
}

/** The values of `putOne`. */
function valuesOfOne(place: Place, text: TextRow, { key, session, turn, tool }: PlacedReference): unknown[] {
  const { handle, digest, bytes, body } = text;
  const digestBytes = Buffer.from(digest, 'latin1');
  return [
    place.tenant,
    place.lock,
    null,
    handle,
    digestBytes,
    bytes,
    body,
    Buffer.from(key, 'hex'),
    session,
    turn,
    tool,
  ];
}

/** The values of `putMany`. Handles, sessions and numbers need no escapes in a list. */
function valuesOf(
  place: Place,
  batch: string | null,
  texts: readonly TextRow[],
  references: readonly PlacedReference[],
): unknown[] {
  const starts: number[] = [];
  let start = 1;
  for (const { body } of texts) {
    starts.push(start);
    start += body.length;
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
    listOf(texts.map(({ body }) => body.length)),
    Buffer.concat(texts.map(({ body }) => body)),
    Buffer.from(references.map(({ key }) => key).join(''), 'hex'),
    listOf(references.map(({ handle }) => handle)),
    listOf(references.map((reference) => reference.place)),
    listOf(references.map(({ session }) => `"${session}"`)),
    listOf(references.map(({ turn }) => turn)),
    references.map(({ tool }) => tool),
  ];
}

const listOf = (values: readonly (string | number)[]): string => `{${values.join(',')}}`;

import { PalimpsestError } from '../../errors.ts';
import { clashError } from '../check-input.ts';
import { type Digest, digestOf, handleOfDigest } from '../handle.ts';
import type { Handle } from '../store.ts';
import { asciiList, bytesList, int4List, int8List } from './binary-list.ts';
import {
  BATCH_BYTES,
  type Bodies,
  bodiesOf,
  type EncodedBatch,
  encode,
  giveBack,
  giveUp,
  storedLength,
} from './bodies.ts';
import { DUPLICATE, inTransaction, stateOf, write } from './connection.ts';
import type { Place } from './place.ts';
import type { ReferenceRow } from './references.ts';
import { BATCH_PLACES, UNSEEN } from './statements.ts';

export interface Item {
  readonly text: string;
  readonly reference: ReferenceRow;
}

/** Stores texts and references: in one statement, or in several of one transaction if that would be too large. */
export async function writeBatch(place: Place, items: readonly Item[]): Promise<Handle[]> {
  if (items.length > BATCH_PLACES)
    throw new PalimpsestError(
      'BAD_INPUT',
      `Expected at most ${BATCH_PLACES} texts in a batch but found ${items.length}`,
    );
  const encoded = items.length > CHUNK_ROWS ? undefined : encode(items);
  try {
    const handles = await writeTexts(place, items, encoded);
    if (encoded) giveBack(encoded);
    return handles;
  } catch (error) {
    if (encoded) giveUp(encoded);
    throw error;
  }
}

async function writeTexts(place: Place, items: readonly Item[], encoded: EncodedBatch | undefined): Promise<Handle[]> {
  const digests = encoded?.digests ?? items.map(({ text }) => digestOf(text));
  const lengths = encoded?.lengths ?? items.map(({ text }) => storedLength(text));
  const handles = digests.map(handleOfDigest);
  const rows = rowsOf(items, { handles, digests, lengths });
  const chunks = encoded ? [rows] : [...chunksOf(rows)];
  const bodies = encoded
    ? { bytes: encoded.bytes, starts: rows.map((row) => encoded.starts[row.place] as number) }
    : undefined;
  for (let attempt = 1; ; attempt++)
    try {
      if (chunks.length > 1) await writeChunks(place, chunks, rows, attempt > 1);
      else await writeAtOnce(place, rows, bodies ?? bodiesOfRows(rows), attempt > 1);
      return handles;
    } catch (error) {
      const message = error instanceof Error ? error.message : '';
      const [, clash] = /HANDLE_CLASH (p_[a-z2-7]{26})/.exec(message) ?? [];
      if (clash) throw clashError(clash);
      // The next statement sees the text that another process has stored meanwhile.
      const isRaced = message.includes(UNSEEN) || stateOf(error) === DUPLICATE;
      if (!isRaced || attempt === ATTEMPTS) throw error;
    }
}

/** Each attempt fails only if another process stores one of the texts at the same moment. */
const ATTEMPTS = 20;

async function writeAtOnce(place: Place, rows: readonly BatchRow[], bodies: Bodies, isCareful: boolean): Promise<void> {
  const { pool, statements } = place;
  await (rows.length === 1
    ? write(pool, statements.putOne, ...valuesOfOne(place, rows[0] as BatchRow, bodies.bytes))
    : write(pool, statements.putMany, ...valuesOf(place, rows, bodies, { batch: null, isCareful })));
}

/** A reference. The first one of a text also carries the text. */
interface BatchRow extends ReferenceRow {
  readonly handle: Handle;
  readonly digest: Digest;
  readonly text: string;
  /** The size in UTF-8. */
  readonly bytes: number;
  /** The stored size: see `toBytes`. -1 if the text is not stored with this row. */
  readonly length: number;
  /** The first place of the text in the batch. */
  readonly first: number;
  /** The place of the reference. -1 if it is not stored with this row. */
  readonly place: number;
}

/** Each reference once, in the order of handles and keys: two batches would otherwise wait forever for each other's rows. */
function rowsOf(
  items: readonly Item[],
  { handles, digests, lengths }: Pick<EncodedBatch, 'digests' | 'lengths'> & { readonly handles: readonly Handle[] },
): BatchRow[] {
  const handleAt = (place: number): string => handles[place] as string;
  const keyAt = (place: number): string => (items[place] as Item).reference.key;
  const places = Array.from(items.keys()).sort(
    (a, b) => compare(handleAt(a), handleAt(b)) || compare(keyAt(a), keyAt(b)) || a - b,
  );
  const rows: BatchRow[] = [];
  let last: BatchRow | undefined;
  for (const [index, place] of places.entries()) {
    const { text, reference } = items[place] as Item;
    const { key, session, turn, tool } = reference;
    const handle = handleAt(place);
    const digest = digests[place] as string;
    const isKnown = last?.handle === handle;
    if (isKnown && last?.digest !== digest) throw clashError(handle);
    if (isKnown && last?.key === key) continue;
    let first = place;
    for (let next = index + 1; !isKnown && next < places.length && handleAt(places[next] as number) === handle; next++)
      first = Math.min(first, places[next] as number);
    const length = isKnown ? -1 : (lengths[place] as number);
    const bytes = isKnown || text.isWellFormed() ? length : Buffer.byteLength(text);
    last = { handle, digest, text, bytes, length, first, place, key, session, turn, tool };
    rows.push(last);
  }
  return rows;
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

const CHUNK_ROWS = 5000;

/** Texts that one statement stores, without their references. */
function* chunksOf(rows: readonly BatchRow[]): Generator<BatchRow[]> {
  let chunk: BatchRow[] = [];
  let bytes = 0;
  for (const row of rows) {
    if (row.length < 0) continue;
    if (chunk.length > 0 && (chunk.length === CHUNK_ROWS || bytes + row.length > BATCH_BYTES)) {
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
  chunks: readonly (readonly BatchRow[])[],
  all: readonly BatchRow[],
  isCareful: boolean,
): Promise<void> {
  const { pool, schema, statements } = place;
  const number = `SELECT nextval('"${schema}".batches') AS batch`;
  await inTransaction(pool, number, async (query, begun) => {
    const batch = begun[0]?.batch ?? null;
    const send = (rows: readonly BatchRow[]) =>
      query(statements.putMany.text, ...valuesOf(place, rows, bodiesOfRows(rows), { batch, isCareful }));
    for (const chunk of chunks) await send(chunk.map((row) => ({ ...row, place: -1 })));
    await send(all.map((row) => ({ ...row, length: -1 })));
  });
}

const bodiesOfRows = (rows: readonly BatchRow[]): Bodies =>
  bodiesOf(rows.map(({ text, length }) => (length < 0 ? undefined : text)));

/** The values of `putOne`. */
function valuesOfOne(place: Place, row: BatchRow, body: Buffer): unknown[] {
  const { handle, digest, bytes, key, session, turn, tool } = row;
  const values = [handle, Buffer.from(digest, 'latin1'), bytes, body, Buffer.from(key, 'latin1')];
  return [place.tenant, place.lock, null, ...values, session, turn, tool];
}

interface BatchOptions {
  /** The number of the batch, if it has one already. */
  readonly batch: string | null;
  /** Whether some rows may be stored already: see `putMany`. */
  readonly isCareful: boolean;
}

/** The values of `putMany`. */
function valuesOf(
  { tenant, lock }: Place,
  rows: readonly BatchRow[],
  { bytes, starts }: Bodies,
  { batch, isCareful }: BatchOptions,
): unknown[] {
  return [
    tenant,
    lock,
    batch,
    isCareful,
    bytesList(rows.map(({ digest }) => digest)),
    bytesList(rows.map(({ key }) => key)),
    asciiList(rows.map(({ handle }) => handle)),
    int4List(rows.map(({ first }) => first)),
    int8List(rows.map((row) => row.bytes)),
    int4List(starts),
    int4List(rows.map(({ length }) => length)),
    int4List(rows.map(({ place }) => place)),
    asciiList(rows.map(({ session }) => session)),
    int8List(rows.map(({ turn }) => turn)),
    asciiList(rows.map(({ tool }) => tool)),
    bytes,
  ];
}

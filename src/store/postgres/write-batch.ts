import { PalimpsestError } from '../../errors.ts';
import { clashError } from '../check-input.ts';
import { digestOf, handleOfDigest } from '../handle.ts';
import type { Handle, Reference } from '../store.ts';
import { toBytes } from '../text-bytes.ts';
import { inTransaction, write } from './connection.ts';
import type { Place } from './place.ts';
import { type ReferenceRow, toRow } from './references.ts';
import { BATCH_PLACES, UNSEEN } from './statements.ts';

export interface Item {
  readonly text: string;
  readonly about: Reference;
}

/** Stores texts and references: in one statement, or in several of one transaction if that would be too large. */
export async function writeBatch(place: Place, items: readonly Item[]): Promise<Handle[]> {
  if (items.length > BATCH_PLACES)
    throw new PalimpsestError(
      'BAD_INPUT',
      `Expected at most ${BATCH_PLACES} texts in a batch but found ${items.length}`,
    );
  const digests = items.map(({ text }) => digestOf(text));
  const handles = digests.map(handleOfDigest);
  const rows = rowsOf(items, handles, digests);
  const chunks = [...chunksOf(rows)];
  for (let attempt = 1; ; attempt++)
    try {
      if (chunks.length > 1) await writeChunks(place, chunks, rows);
      else await writeAtOnce(place, rows);
      return handles;
    } catch (error) {
      const message = error instanceof Error ? error.message : '';
      const [, clash] = /HANDLE_CLASH (p_[a-z2-7]{26})/.exec(message) ?? [];
      if (clash) throw clashError(clash);
      // The next statement sees the text that another process has stored meanwhile.
      if (!message.includes(UNSEEN) || attempt === ATTEMPTS) throw error;
    }
}

/** Each attempt fails only if another process stores one of the texts at the same moment. */
const ATTEMPTS = 20;

async function writeAtOnce(place: Place, rows: readonly BatchRow[]): Promise<void> {
  const { pool, statements } = place;
  await (rows.length === 1
    ? write(pool, statements.putOne, ...valuesOfOne(place, rows[0] as BatchRow))
    : write(pool, statements.putMany, ...valuesOf(place, null, rows)));
}

/** A reference. The first one of a text also carries the text. */
interface BatchRow extends ReferenceRow {
  readonly handle: Handle;
  readonly digest: string;
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
function rowsOf(items: readonly Item[], handles: readonly Handle[], digests: readonly string[]): BatchRow[] {
  const firsts = new Map<Handle, number>();
  for (const [place, handle] of handles.entries()) if (!firsts.has(handle)) firsts.set(handle, place);
  // No spread of objects here: it takes longer than all the rest.
  const references = items.map(({ text, about }, place) => {
    return { handle: handles[place] as Handle, reference: toRow(about), text, place };
  });
  references.sort(
    (a, b) => compare(a.handle, b.handle) || compare(a.reference.key, b.reference.key) || a.place - b.place,
  );
  const rows: BatchRow[] = [];
  let last: BatchRow | undefined;
  for (const { handle, reference, text, place } of references) {
    const { key, session, turn, tool } = reference;
    const digest = digests[place] as string;
    const isKnown = last?.handle === handle;
    if (isKnown && last?.digest !== digest) throw clashError(handle);
    if (isKnown && last?.key === key) continue;
    const bytes = isKnown ? 0 : Buffer.byteLength(text);
    const length = isKnown ? -1 : text.isWellFormed() ? bytes : 1 + 2 * text.length;
    last = { handle, digest, text, bytes, length, first: firsts.get(handle) ?? 0, place, key, session, turn, tool };
    rows.push(last);
  }
  return rows;
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

const CHUNK_BYTES = 8_000_000;
const CHUNK_ROWS = 5000;

/** Texts that one statement stores, without their references. */
function* chunksOf(rows: readonly BatchRow[]): Generator<BatchRow[]> {
  let chunk: BatchRow[] = [];
  let bytes = 0;
  for (const row of rows) {
    if (row.length < 0) continue;
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
  chunks: readonly (readonly BatchRow[])[],
  rows: readonly BatchRow[],
): Promise<void> {
  const { pool, schema, statements } = place;
  const number = `SELECT nextval('"${schema}".batches') AS batch`;
  await inTransaction(pool, number, async (query, begun) => {
    const batch = begun[0]?.batch ?? null;
    for (const chunk of chunks) {
      const texts = chunk.map((row) => ({ ...row, place: -1 }));
      await query(statements.putMany.text, ...valuesOf(place, batch, texts));
    }
    const references = rows.map((row) => ({ ...row, length: -1 }));
    await query(statements.putMany.text, ...valuesOf(place, batch, references));
  });
}

/** The values of `putOne`. */
function valuesOfOne(place: Place, row: BatchRow): unknown[] {
  const { handle, digest, bytes, text, key, session, turn, tool } = row;
  const values = [handle, Buffer.from(digest, 'latin1'), bytes, toBytes(text), Buffer.from(key, 'hex')];
  return [place.tenant, place.lock, null, ...values, session, turn, tool];
}

/** The values of `putMany`. Handles, sessions and numbers need no escapes in a list; the JSON of a tool does. */
function valuesOf(place: Place, batch: string | null, rows: readonly BatchRow[]): unknown[] {
  const bodies = Buffer.allocUnsafe(rows.reduce((sum, { length }) => sum + Math.max(0, length), 0));
  let [texts, end] = [0, 0];
  let [digests, keys, handles, firsts, sizes, starts, lengths, places, sessions, turns, tools] = Array(11).fill('');
  for (const { handle, digest, text, bytes, length, first, place: at, key, session, turn, tool } of rows) {
    digests += digest;
    keys += key;
    handles += `,${handle}`;
    firsts += `,${first}`;
    sizes += `,${bytes}`;
    starts += `,${end + 1}`;
    lengths += `,${length}`;
    places += `,${at}`;
    sessions += `,"${session}"`;
    turns += `,${turn}`;
    tools += tool === '' ? ',""' : `,"${tool.replace(/[\\"]/g, '\\$&')}"`;
    if (length < 0) continue;
    texts += 1;
    if (text.isWellFormed()) bodies.write(text, end);
    else toBytes(text).copy(bodies, end);
    end += length;
  }
  return [
    place.tenant,
    place.lock,
    batch,
    texts,
    Buffer.from(digests, 'latin1'),
    Buffer.from(keys, 'hex'),
    ...[handles, firsts, sizes, starts, lengths, places, sessions, turns, tools].map((list) => `{${list.slice(1)}}`),
    bodies,
  ];
}

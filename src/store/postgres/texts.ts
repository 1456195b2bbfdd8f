import { PalimpsestError } from '../../errors.ts';
import { type Handle, isHandle, type Stored } from '../store.ts';
import { askBinary, type BinaryRow } from './connection.ts';
import type { Database } from './database.ts';
import { type FoundText, type FoundTexts, fromBinaryRows, fromHexRows, toFoundText } from './found-texts.ts';

/** The number of handles per query, and of texts, which may be large. */
const PAGE = 1000;
const BATCH = 256;
const BATCH_BYTES = 4_000_000;

/** The texts of the handles, in their order. Undefined for a handle without a text. */
export async function textsOf(database: Database, handles: readonly string[]): Promise<(Stored | undefined)[]> {
  await database.ready();
  const found = new Map<string, Stored>();
  const asked = [...new Set(handles)].filter(isHandle);
  for (let first = 0; first < asked.length; first += PAGE) {
    const { sound, damaged } = await read(database, asked.slice(first, first + PAGE));
    if (damaged.length > 0) throw damagedError(damaged);
    for (const stored of sound) found.set(stored.handle, stored);
  }
  return handles.map((handle) => found.get(handle));
}

interface Wanted {
  readonly session?: string;
  /** A text that they hold. */
  readonly holding?: string;
}

/** Reads few at a time, and holds no connection in between. Damaged texts are reported after all others were returned. */
export async function* allTexts(database: Database, { session, holding }: Wanted): AsyncGenerator<Stored> {
  const allDamaged: Handle[] = [];
  for await (const page of pagesOf(database, session)) {
    for (const batch of batchesOf(page)) {
      const { sound, damaged } = await read(database, batch, holding);
      allDamaged.push(...damaged);
      yield* sound;
    }
  }
  if (allDamaged.length > 0) throw damagedError(allDamaged);
}

interface Sized {
  readonly handle: Handle;
  readonly bytes: number;
}

/** The handles and sizes of a session's texts, or of all, oldest first. */
export async function* pagesOf(database: Database, session?: string): AsyncGenerator<Sized[]> {
  for (let last = -1; ; ) {
    const rows = await (session === undefined
      ? database.query(pageOfAll, last)
      : database.query(pageOfSession, last, session));
    yield rows.map(({ handle, bytes }) => ({ handle: handle ?? '', bytes: Number(bytes) }));
    if (rows.length < PAGE) return;
    last = Number(rows.at(-1)?.seq);
  }
}

const pageOfAll = (schema: string): string =>
  `SELECT handle, bytes, seq FROM "${schema}".texts WHERE tenant = $1 AND seq > $2 ORDER BY seq LIMIT ${PAGE}`;

const pageOfSession = (schema: string): string =>
  `SELECT handle, bytes, first AS seq
   FROM (SELECT handle, min(seq) AS first FROM "${schema}".refs WHERE tenant = $1 AND session = $3
     GROUP BY handle) AS mine
   JOIN "${schema}".texts USING (handle)
   WHERE tenant = $1 AND first > $2 ORDER BY first LIMIT ${PAGE}`;

function* batchesOf(page: readonly Sized[]): Generator<Handle[]> {
  let batch: Handle[] = [];
  let size = 0;
  for (const { handle, bytes } of page) {
    if (batch.length > 0 && (batch.length === BATCH || size + bytes > BATCH_BYTES)) {
      yield batch;
      batch = [];
      size = 0;
    }
    batch.push(handle);
    size += bytes;
  }
  if (batch.length > 0) yield batch;
}

/** In the order of the handles. Handles without a text are left out; UTF-16 is returned unsearched. */
async function read(database: Database, handles: readonly Handle[], holding?: string): Promise<FoundTexts> {
  if (holding !== undefined)
    return fromHexRows(handles, await database.ask('getManyHolding', handles, Buffer.from(holding)));
  const first = fromBinaryRows(handles, await fetchBinary(database, handles));
  if (first.damaged.length === 0) return first;
  const again = await database.ask('getManyAsHex', first.damaged);
  const { sound, damaged } = fromHexRows(first.damaged, again);
  if (sound.length === 0) return { sound: first.sound, damaged };
  const all = new Map([...first.sound, ...sound].map((stored) => [stored.handle, stored]));
  return { sound: handles.flatMap((handle) => all.get(handle) ?? []), damaged };
}

async function fetchBinary(database: Database, handles: readonly Handle[]): Promise<readonly BinaryRow<FoundText>[]> {
  const { pool, tenant, statements } = await database.ready();
  return handles.length === 1
    ? askBinary(pool, statements.getOne, toFoundText, tenant, handles[0])
    : askBinary(pool, statements.getMany, toFoundText, tenant, handles);
}

function damagedError(handles: readonly Handle[]): PalimpsestError {
  const shown = handles.slice(0, 3).join(', ') + (handles.length > 3 ? ` and ${handles.length - 3} more` : '');
  const remedy = 'see verify; all others can be had';
  return new PalimpsestError(
    'STORE_DAMAGED',
    `Expected texts with the hash of their handle but found ${shown} changed; ${remedy}`,
  );
}

import { PalimpsestError } from '../../errors.ts';
import type { Problem, SessionNote } from '../store.ts';
import { fromBytes, hexDigestOf, toBytes } from '../text-bytes.ts';
import { type Row, write } from './connection.ts';
import type { Database } from './database.ts';
import type { Place } from './place.ts';
import { ROWS_AT_ONCE } from './statements.ts';

/** Stores a note in place of an earlier one. */
export async function writeNote({ pool, statements, tenant }: Place, note: SessionNote): Promise<void> {
  const body = toBytes(note.text);
  const digest = Buffer.from(hexDigestOf(body), 'hex');
  await write(pool, statements.putNote, tenant, note.session, note.name, digest, body);
}

/** The text of a note. */
export async function findNote(database: Database, session: string, name: string): Promise<string | undefined> {
  const [row] = await database.ask('note', session, name);
  if (!row) return undefined;
  const found = toNote(row);
  if (!found) throw damagedNote(row);
  return found.text;
}

/** The notes of all sessions. Damaged ones are reported after all others were returned. */
export async function* allNotes(database: Database): AsyncGenerator<SessionNote> {
  let damaged: Row | undefined;
  for (let [session, name] = ['', '']; ; ) {
    const rows = await database.query(pageOfNotes, session, name);
    for (const row of rows) {
      const found = toNote(row);
      if (found) yield found;
      else damaged ??= row;
      [session, name] = [row.session ?? '', row.name ?? ''];
    }
    if (rows.length < ROWS_AT_ONCE) break;
  }
  if (damaged) throw damagedNote(damaged);
}

const pageOfNotes = (schema: string): string =>
  `SELECT ${NOTE_COLUMNS} FROM "${schema}".notes
   WHERE tenant = $1 AND (session, name) > ($2, $3) ORDER BY session, name LIMIT ${ROWS_AT_ONCE}`;

export const NOTE_COLUMNS = `session, name, encode(digest, 'hex') AS digest, encode(body, 'hex') AS body`;

/** Undefined if the row was changed by another program. */
function toNote({ session, name, digest, body }: Row): SessionNote | undefined {
  const bytes = Buffer.from(body ?? '', 'hex');
  if (hexDigestOf(bytes) !== digest) return undefined;
  return { session: session ?? '', name: name ?? '', text: fromBytes(bytes) };
}

export const noteDamage = ({ session, name }: Row): Problem => ({
  what: `the note ${name} of session ${session} is not what was stored: its hash differs`,
  remedy: 'put the note again, or give it up with gc --repair',
});

const damagedNote = ({ session, name }: Row): PalimpsestError =>
  new PalimpsestError(
    'STORE_DAMAGED',
    `Expected the note ${name} of session ${session} as it was stored but found it changed; put it again, or see verify`,
  );

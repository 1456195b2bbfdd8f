import { PalimpsestError } from '../../errors.ts';
import type { Problem, SessionNote } from '../store.ts';
import { fromBytes, hexDigestOf, toBytes } from '../text-bytes.ts';
import { type Row, write } from './connection.ts';
import type { Place } from './place.ts';

/** Stores a note in place of an earlier one. */
export async function writeNote({ pool, statements, tenant }: Place, note: SessionNote): Promise<void> {
  const body = toBytes(note.text);
  const digest = Buffer.from(hexDigestOf(body), 'hex');
  await write(pool, statements.putNote, tenant, note.session, note.name, digest, body);
}

export const NOTE_COLUMNS = `session, name, encode(digest, 'hex') AS digest, encode(body, 'hex') AS body`;

/** Undefined if the row was changed by another program. */
export function toNote({ session, name, digest, body }: Row): SessionNote | undefined {
  const bytes = Buffer.from(body ?? '', 'hex');
  if (hexDigestOf(bytes) !== digest) return undefined;
  return { session: session ?? '', name: name ?? '', text: fromBytes(bytes) };
}

export const noteDamage = ({ session, name }: Row): Problem => ({
  what: `the note ${name} of session ${session} is not what was stored: its hash differs`,
  remedy: 'put the note again, or give it up with gc --repair',
});

export const damagedNote = ({ session, name }: Row): PalimpsestError =>
  new PalimpsestError(
    'STORE_DAMAGED',
    `Expected the note ${name} of session ${session} as it was stored but found it changed; put it again, or see verify`,
  );

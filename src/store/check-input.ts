import { PalimpsestError } from '../errors.ts';
import { storeLimits } from '../limits.ts';
import { badOption, checkOptions, flag, kindOfValue } from '../options.ts';
import { checkSession, type GcOptions, type Reference, type SessionNote, type TurnRecord } from './store.ts';

/** Checks that every store makes before it writes: the text, the session and the turn. */
export function checkItem(item: { readonly text: string; readonly about: Reference }): void {
  if (typeof item !== 'object' || item === null) throw badOption('an item', 'an object with text and about', item);
  const { text, about } = item;
  checkText('the text to store', text);
  if (typeof about !== 'object' || about === null) throw badOption('what a text is about', 'an object', about);
  const { session, turn, tool } = about;
  if (session !== undefined) checkSession(session);
  if (turn !== undefined) checkTurn(turn);
  if (tool !== undefined && typeof tool !== 'string') throw badOption('the tool', 'a text', tool);
}

export function checkRecord(record: TurnRecord): void {
  if (typeof record !== 'object' || record === null) throw badOption('the turn', 'an object', record);
  checkSession(record.session);
  checkTurn(record.turn);
  for (const part of ['reasoning', 'action', 'observation'] as const) checkText(`the ${part} of a turn`, record[part]);
  if (record.user !== undefined) checkText('the words of the user in a turn', record.user);
}

export function checkNote(note: SessionNote): void {
  if (typeof note !== 'object' || note === null) throw badOption('the note', 'an object', note);
  checkSession(note.session);
  checkNoteName(note.name);
  checkText('the text of a note', note.text);
  const bytes = Buffer.byteLength(note.text);
  if (bytes <= storeLimits.noteBytes) return;
  throw new PalimpsestError(
    'BAD_OPTION',
    `Expected the text of a note to have at most ${storeLimits.noteBytes} bytes of UTF-8 but found ${bytes}; store a larger one with put`,
  );
}

export function checkNoteName(name: string): void {
  if (typeof name === 'string' && /^[A-Za-z0-9_.:-]{1,128}$/.test(name)) return;
  throw badOption('the name of a note', '1 to 128 letters, digits, _, ., : and -', name);
}

export const checkGc = (options: GcOptions): void => checkOptions('gc', options, { repair: flag, force: flag });

export function checkTurn(turn: number): void {
  if (!Number.isSafeInteger(turn) || turn < 0) throw badOption('the turn', 'a whole number of 0 or more', turn);
}

/** A path as a shell takes it. Node would make a folder of the name `~`. */
export const isOfHome = (path: string): boolean => /^~([/\\]|$)/.test(path);

export const NOT_OF_HOME = 'a path that does not begin with ~, which only a shell takes for the home folder,';

/** Tenants become part of keys and paths, like sessions. */
export const isTenant = (tenant: unknown): tenant is string =>
  typeof tenant === 'string' && /^[A-Za-z0-9_-]{1,128}$/.test(tenant);

export const TENANT_RULE = '1 to 128 letters, digits, _ and -';

export function checkTenant(tenant: string): void {
  if (!isTenant(tenant)) throw badOption('the tenant', TENANT_RULE, tenant);
}

function checkText(what: string, text: unknown): void {
  if (typeof text === 'string') return;
  throw new PalimpsestError('BAD_INPUT', `Expected ${what} to be a string but found ${kindOfValue(text)}`);
}

/** A reference without other fields, so that stored references can be compared. */
export function toReference({ session, turn, tool }: Reference): Reference {
  const reference: { -readonly [Name in keyof Reference]: Reference[Name] } = {};
  if (session !== undefined) reference.session = session;
  if (turn !== undefined) reference.turn = turn;
  if (tool !== undefined) reference.tool = tool;
  return reference;
}

export const isSameReference = (a: Reference, b: Reference): boolean =>
  a.session === b.session && a.turn === b.turn && a.tool === b.tool;

export const closedError = (): PalimpsestError =>
  new PalimpsestError('STORE_CLOSED', 'Expected an open store but found it closed; open it again');

/** It never happens in practice: two texts would share 130 bits of SHA-256. */
export const clashError = (handle: string): PalimpsestError =>
  new PalimpsestError(
    'HANDLE_CLASH',
    `Expected ${handle} to name one text but found another stored under it; this text cannot be masked`,
  );

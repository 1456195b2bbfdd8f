import { badOption, checkOptions, func, rule } from '../options.ts';
import type { RequestRecord } from '../report/request-record.ts';
import { sessionOf } from './access.ts';
import type { Removable } from './prune.ts';
import { checkSession, type RecordRange } from './store.ts';

const DAY_MS = 86_400_000;

/** Days are those of UTC, counted from 1970. */
export const dayOf = (at: number): number => Math.floor(at / DAY_MS);

/** The start of a day, in ms since the epoch. */
export const startOf = (day: number): number => day * DAY_MS;

/** The number and size of removed records. */
export interface RemovedRecords {
  readonly records: number;
  readonly bytes: number;
}

export const NO_RECORDS: RemovedRecords = { records: 0, bytes: 0 };

/** Records are pruned by whole days. A day that has not ended was used just now. */
export const removableDays = (days: Iterable<number>, now: number): Removable[] =>
  [...days].map((day) => ({ day, usedAt: Math.min(startOf(day + 1), now) }));

/** Whether a record is deleted with a session: its own records, and those with texts of the session or its conversation. */
export const isOfSession = ({ session, conversation }: RequestRecord, deleted: string): boolean =>
  session === deleted || sessionOf(session) === deleted || sessionOf(conversation) === deleted;

export const isInRange = (
  { at }: RequestRecord,
  { since = 0, until = Number.POSITIVE_INFINITY }: RecordRange,
): boolean => at >= since && at < until;

/** Throws BAD_OPTION for a record that could not be found later. */
export function checkRecords(records: readonly RequestRecord[]): void {
  for (const { id, at, session, root = session, conversation } of records) {
    if (typeof id !== 'string' || !/^[\w-]{1,128}$/.test(id))
      throw badOption('the id of a record', '1 to 128 letters, digits, _ and -', id);
    if (!Number.isSafeInteger(at) || at < 0) throw badOption('the start of a record', 'whole ms since 1970', at);
    checkSession(session);
    checkSession(root);
    checkSession(conversation);
  }
}

export function checkRange(range: RecordRange): void {
  checkOptions('records', range, { since: time, until: time, onDamaged: func });
}

const time = rule('a time in ms since 1970', (value) => Number.isFinite(value) && Number(value) >= 0);

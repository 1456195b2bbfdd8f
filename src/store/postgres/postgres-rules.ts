import { rule, text } from '../../options.ts';
import type { PostgresPool } from './connection.ts';

export const isPool = (value: unknown): value is PostgresPool =>
  typeof (value as Partial<PostgresPool> | null)?.connect === 'function';

/** A time that fits a timer. */
export const wholeMs = rule(
  'a whole number from 1 to 2147483647',
  (v) => Number.isInteger(v) && Number(v) > 0 && Number(v) < 2 ** 31,
);

/** The rules of the options that the store and sessions have in common. */
export const POSTGRES_RULES = {
  pool: rule('a Pool of the package pg', isPool),
  tenant: text,
  schema: rule(
    'a name of 1 to 63 small letters, digits and _',
    (v) => typeof v === 'string' && /^[a-z_][a-z0-9_]{0,62}$/.test(v),
  ),
  timeoutMs: wholeMs,
};

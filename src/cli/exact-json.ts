import { randomUUID } from 'node:crypto';
import { replaceOutsideStrings } from '../lab/readers/outside-strings.ts';

/** A value that was read from JSON, and a writer for that value and for changed versions of it. */
export interface ExactJson {
  readonly value: unknown;
  /** Numbers that no JavaScript number holds, such as long ids, are written as they were read, in every object that is still the same. */
  write(value: unknown): string;
}

/** Throws what `JSON.parse` throws. */
export function readExactJson(text: string): ExactJson {
  const mark = randomUUID();
  const marked = replaceOutsideStrings(text, NUMBER, (token) => (isChanged(token) ? `"${mark}${token}"` : token));
  const value = JSON.parse(text);
  if (marked === text) return { value, write: toJson };
  const numbers = new WeakMap<object, Map<string, string>>();
  const unmark = function (this: object, key: string, one: unknown): unknown {
    if (typeof one !== 'string' || !one.startsWith(mark)) return one;
    const token = one.slice(mark.length);
    numbers.set(this, (numbers.get(this) ?? new Map<string, string>()).set(key, token));
    return Number(token);
  };
  const remark = function (this: object, key: string, one: unknown): unknown {
    const token = numbers.get(this)?.get(key);
    return token !== undefined && one === Number(token) ? mark + token : one;
  };
  const inQuotes = new RegExp(`"${mark}([^"]*)"`, 'g');
  return {
    value: JSON.parse(marked, unmark),
    write: (made) => toJson(made, remark).replace(inQuotes, '$1'),
  };
}

export const toJson = (value: unknown, replacer?: (this: object, key: string, one: unknown) => unknown): string =>
  `${JSON.stringify(value, replacer, 2)}\n`;

const NUMBER = '-?\\d[\\d.eE+-]*';

/** Whether JavaScript would write another number. Digits that it loses behind the point do not count. */
function isChanged(token: string): boolean {
  const number = Number(token);
  if (!Number.isFinite(number)) return true;
  return /^-?\d{16,}$/.test(token) && BigInt(token) !== BigInt(number);
}

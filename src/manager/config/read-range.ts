import type { Range } from '../../report/sessions.ts';
import { isMoving, readTime } from './read-time.ts';

export interface Times {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

export interface RangeWords {
  /** Before the names `since` and `until` in a complaint, such as `--`. */
  readonly prefix: string;
  toError(complaint: string): Error;
}

/** The range of a report, from times as people write them. Without them it is everything up to now. */
export function readRange({ since, until }: Times, now: number, { prefix, toError }: RangeWords): Range {
  const read = (name: string, text: string): number => {
    const time = readTime(text, now);
    if (time !== undefined) return time;
    throw toError(`expected ${prefix}${name} to be a time such as 7d or 2026-11-01 but found '${text}'`);
  };
  const range = {
    since: since === undefined ? 0 : read('since', since),
    until: until === undefined ? now : read('until', until),
  };
  const end = until === undefined ? 'now' : `${prefix}until`;
  if (range.since >= range.until) throw toError(`expected ${prefix}since to be before ${end}`);
  return { ...range, isMoving: isMoving(since ?? '') };
}

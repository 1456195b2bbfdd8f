import type { Segment, Violation } from '../message.ts';
import { type Law, movedTo } from './law.ts';

/** Law 2, metadata: an edit changes content only. Roles, ids, names, flags and positions stay the caller's own. */
export const metadata: Law = {
  name: 'metadata',
  check({ before, after, segments, plan }) {
    const moved = movedTo(before.length, plan.edits);
    const violations: Violation[] = [];
    for (const edit of plan.edits) {
      const segment = edit.kind === 'replace' ? segments[edit.segment] : undefined;
      if (!segment || sameButContent(segment, before[segment.message], after[moved[segment.message] ?? -1])) continue;
      const text = `The edit of message ${segment.message} changes more than the content of its result.`;
      violations.push({ law: 'metadata', message: segment.message, text, about: segment.callId ?? '' });
    }
    return violations;
  },
};

function sameButContent(segment: Segment, before: unknown, after: unknown): boolean {
  let [old, edited] = [before, after];
  for (const key of segment.path) {
    if (!isObject(old) || !isObject(edited) || !sameBeside(old, edited, key)) return false;
    [old, edited] = [old[key], edited[key]];
  }
  return true;
}

type Fields = Record<string | number, unknown>;

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

/** LangChain repeats the content in `lc_kwargs`; beside a list's part, other parts may have been edited too. */
function sameBeside(old: Fields, edited: Fields, key: string | number): boolean {
  if (Array.isArray(old)) return Array.isArray(edited) && old.length === edited.length;
  let left = 0;
  for (const name in edited) if (Object.hasOwn(edited, name)) left += 1;
  for (const name in old) {
    if (!Object.hasOwn(old, name)) continue;
    if (name !== key && name !== 'lc_kwargs' && old[name] !== edited[name]) return false;
    left -= 1;
  }
  return left === 0;
}

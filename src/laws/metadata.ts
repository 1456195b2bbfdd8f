import { isRecord } from '../formats/lens.ts';
import type { Segment } from '../message.ts';
import { replacementLaw } from './law.ts';
import { onlyOldTextsDiffer } from './old-texts.ts';

/** Law 2, metadata: an edit changes content only. Roles, ids, names, flags and positions stay the caller's own. */
export const metadata = replacementLaw('metadata', (_edit, segment, old, edited) => {
  if (segment.kind === 'action')
    return onlyOldTextsDiffer(old, edited)
      ? undefined
      : `The edit of message ${segment.message} changes more than the old texts of its calls.`;
  return sameButContent(segment, old, edited)
    ? undefined
    : `The edit of message ${segment.message} changes more than the content of its result.`;
});

function sameButContent(segment: Segment, before: unknown, after: unknown): boolean {
  let [old, edited] = [before, after];
  for (const key of segment.path) {
    if (!isRecord(old) || !isRecord(edited) || !sameBeside(old, edited, key)) return false;
    [old, edited] = [old[key], edited[key]];
  }
  return true;
}

type Fields = Record<string | number, unknown>;

/** Whether all other fields are the same. LangChain repeats the content in `lc_kwargs`, and other parts of a list may be edited too. */
function sameBeside(old: Fields, edited: Fields, key: string | number): boolean {
  if (Array.isArray(old)) return Array.isArray(edited) && old.length === edited.length;
  let left = 0;
  for (const name in edited) if (Object.hasOwn(edited, name)) left += 1;
  for (const name in old) {
    if (!Object.hasOwn(old, name)) continue;
    if (name !== key && name !== 'lc_kwargs' && !Object.is(old[name], edited[name])) return false;
    left -= 1;
  }
  return left === 0;
}

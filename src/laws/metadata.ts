import type { Segment, Violation } from '../message.ts';

/** Law 2, metadata: an edit changes content only. Everything beside it is the caller's own, by reference. */
export function checkMetadata(segment: Segment, before: unknown, after: unknown): Violation[] {
  let [old, edited] = [before, after];
  for (const key of segment.path) {
    if (!isObject(old) || !isObject(edited) || !sameBeside(old, edited, key)) return [changed(segment)];
    [old, edited] = [old[key], edited[key]];
  }
  return [];
}

type Fields = Record<string | number, unknown>;

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

/** LangChain repeats the content in `lc_kwargs`; other results of the same message may have been edited too. */
function sameBeside(old: Fields, edited: Fields, key: string | number): boolean {
  const keys = Object.keys(old);
  if (keys.length !== Object.keys(edited).length) return false;
  if (Array.isArray(old)) return true;
  return keys.every((name) => name === String(key) || name === 'lc_kwargs' || old[name] === edited[name]);
}

function changed(segment: Segment): Violation {
  const text = `The edit of message ${segment.message} changes more than the content of its result.`;
  return { law: 'metadata', message: segment.message, text, about: segment.callId ?? '' };
}

import { isDeepStrictEqual } from 'node:util';
import { countTokens, type Edit, type Format, type Segment } from '../../src/index.ts';
import { deepFreeze } from './deep-freeze.ts';

/** A message with a field of its own, by which an edited copy of it is found again: edits keep what they do not know. */
export interface Numbered {
  readonly serial: number;
}

/** Copies of messages, each with its index, that nobody can change. */
export const numbered = (messages: readonly object[]): readonly Numbered[] =>
  deepFreeze(messages.map((message, serial) => ({ ...structuredClone(message), serial })));

/** How one list became another. */
export interface Difference {
  readonly edits: readonly Edit[];
  /** For each message of the result, its index in the list that came in; undefined for a note. */
  readonly origins: readonly (number | undefined)[];
  /** The list that came in, with messages in which a user's words were shortened as they are now. */
  readonly before: readonly object[];
}

/** Finds the edits by comparing two lists: not every door answers a plan. Throws where more changed than edits change. */
export function editsBetween(
  format: Format<unknown>,
  messages: readonly object[],
  after: readonly object[],
  { shortensWords = false }: { readonly shortensWords?: boolean | undefined } = {},
): Difference {
  const before = messages.slice();
  const edits: Edit[] = [];
  const origins = after.map((message) => (message as Partial<Numbered>).serial);
  let next = 0;
  for (const [i, at] of origins.entries()) {
    const message = after[i] as object;
    if (at === undefined) {
      const [note] = format.view([message]);
      edits.push({ kind: 'insert', before: next, role: note?.kind as 'system' | 'user', text: note?.text ?? '' });
      continue;
    }
    if (at > next) edits.push({ kind: 'drop', from: next, to: at });
    if (message !== messages[at]) {
      const replaced = replacements(format, messages, at, message);
      const edited = format.apply(messages, { version: 1, edits: replaced })[at];
      if (isDeepStrictEqual(edited, message)) edits.push(...replaced);
      else if (shortensWords && hasShortWords(format, edited, message)) before[at] = message;
      else throw new Error(`Message ${at} is more than an edited copy: ${JSON.stringify(message)}`);
    }
    next = at + 1;
  }
  if (next < before.length) edits.push({ kind: 'drop', from: next, to: before.length });
  return { edits, origins, before };
}

function replacements(format: Format<unknown>, messages: readonly object[], at: number, message: object): Edit[] {
  const shown = format.view([message]);
  const old = [...format.view(messages).entries()].filter(([, segment]) => segment.message === at);
  return old.flatMap(([segment, { kind, text, media }], i): Edit[] => {
    const edited = shown[i];
    if (kind !== 'observation' || edited?.kind !== kind) return [];
    const isSame = text === edited.text && media?.length === edited.media?.length;
    return isSame ? [] : [{ kind: 'replace', segment, text: edited.text, why: 'mask' }];
  });
}

/** Whether only the words of a user changed: each text is the beginning of what it was, with a word on what is missing. */
function hasShortWords(format: Format<unknown>, edited: unknown, message: object): boolean {
  const isUser = ({ kind }: Segment): boolean => kind === 'user';
  const [old, shown] = [format.view([edited]), format.view([message])];
  const [words, left] = [old.filter(isUser), shown.filter(isUser)];
  // Results may stay behind with their call.
  const isAll = shown.length === left.length || withoutTexts(edited) === withoutTexts(message);
  return isAll && words.length === left.length && words.every(({ text }, i) => isCut(text, left[i]?.text));
}

function isCut(whole: string, shown = ''): boolean {
  const [head = ''] = shown.split('\n\n[truncated: ');
  return whole === shown || (countTokens(shown) < countTokens(whole) && whole.startsWith(head));
}

const withoutTexts = (message: unknown): string =>
  JSON.stringify(message, (key, value) =>
    (key === 'text' || key === 'content') && typeof value === 'string' ? '' : value,
  );

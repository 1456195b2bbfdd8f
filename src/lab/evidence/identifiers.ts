import type { Argument } from './call-arguments.ts';
import { isOldText } from './edit-quotes.ts';
import { isPatch, readPatch } from './patch.ts';

/** The paths and identifiers that a call names: those that address something first, then those it writes. */
export function identifiersOf(args: readonly Argument[], oldTexts: readonly string[]): string[] {
  // Tokens of the old text are already quoted as lines.
  const old = new Set(oldTexts.flatMap(tokensOf));
  const texts = args.filter((argument) => !isOldText(argument)).map(splitText);
  const ordered = [...texts.map(({ addressing }) => addressing), ...texts.map(({ payload }) => payload)];
  const tokens = ordered.flatMap(tokensOf).filter((token) => !old.has(token));
  return [...new Set(tokens)].slice(0, MOST_IDENTIFIERS);
}

/** The ends of a path that can replace it, shortest first. The removed part ends with a slash. */
export function* endsOf(path: string): Generator<string> {
  for (let slash = path.lastIndexOf('/'); slash >= 0; slash = path.lastIndexOf('/', slash - 1)) {
    const end = path.slice(slash + 1);
    if (isIdentifier(end)) yield end;
    // A negative index counts as 0, so the slash at the beginning would be found again.
    if (slash === 0) return;
  }
}

/** The first ones of a call: a whole written file names hundreds. */
const MOST_IDENTIFIERS = 60;

interface SplitText {
  readonly addressing: string;
  readonly payload: string;
}

function splitText({ keys, text }: Argument): SplitText {
  if (isPatch(text)) {
    const { files, added } = readPatch(text);
    return { addressing: files.join('\n'), payload: added.join('\n') };
  }
  const isPayload = keys.some((key) => PAYLOAD_KEYS.has(key));
  return isPayload ? { addressing: '', payload: text } : { addressing: text, payload: '' };
}

/** Values under these keys are written, not looked up. */
const PAYLOAD_KEYS = new Set([
  ...['new_string', 'new_str', 'newString', 'newText', 'new_text', 'content', 'contents', 'file_text', 'code'],
  ...['todos', 'plan', 'prompt', 'description'],
]);

function tokensOf(text: string): string[] {
  return (text.match(/[A-Za-z0-9_./@~-]{8,}/g) ?? []).map(stripPunctuation).filter(isIdentifier);
}

/** Removes the punctuation of the sentence or command around a token. `../` is part of a path. */
function stripPunctuation(token: string): string {
  const ended = token.slice(0, endWithout(token, './@~-')).replace(/^(?:\.\/)+/, '');
  return ended.startsWith('../') ? ended : ended.replace(/^[@~.-]+/, '');
}

/** At least four letters, and more than one word: a separator inside, or a capital after a small letter. */
function isIdentifier(token: string): boolean {
  if (token.length < LEAST_LENGTH || !/(?:[A-Za-z][^A-Za-z]*){4}/.test(token)) return false;
  return /[a-z][A-Z]/.test(token) || /.[/_.]./.test(withoutUnderscores(token));
}

const LEAST_LENGTH = 8;

/** `__name__` is one word. */
const withoutUnderscores = (token: string): string => token.slice(0, endWithout(token, '_')).replace(/^_+/, '');

/** The end of a token without these characters. Not /[…]+$/, which takes quadratic time for a long line of dashes. */
function endWithout(token: string, characters: string): number {
  let end = token.length;
  while (end > 0 && characters.includes(token.charAt(end - 1))) end -= 1;
  return end;
}

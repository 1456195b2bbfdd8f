import { isRecord } from '../formats/lens.ts';
import { headOf } from '../text.ts';

/** The arguments of edits that hold the text which the edit replaced: `old_string`, `oldText`, `old_str`, `search`. */
const NAMES =
  /^(?:old(?:_?(?:string|str|text|content|code|source|snippet|lines))?|search(?:_?(?:string|str|text|block|content))?|find|original_?(?:string|text|content|code)|target_?content)$/i;

export const isOldTextName = (name: string): boolean => NAMES.test(name);

/** A shorter text stays. */
const LEAST_CHARS = 160;
/** The longest shortened text, including the note. */
const MOST_CHARS = 48;

/** `const total = … [… 812 chars of old text left out]`; undefined if the text is too short for that. */
export function shortenOldText(text: string): string | undefined {
  if (text.length < LEAST_CHARS) return undefined;
  const note = (left: number): string => `… [${left} chars of old text left out]`;
  const head = headOf(text, MOST_CHARS - note(text.length).length);
  return `${head}${note(text.length - head.length)}`;
}

/** The arguments of an edit with its old texts shortened, and all other bytes unchanged. Undefined if none is long. */
export function shortenOldTexts(args: string): string | undefined {
  if (args.length < LEAST_CHARS || !isRecord(parse(args))) return undefined;
  let written = '';
  let copied = 0;
  for (let at = args.indexOf('"'); at >= 0; ) {
    const end = endOfString(args, at);
    const colon = skipBlanks(args, end);
    const value = args[colon] === ':' ? skipBlanks(args, colon + 1) : -1;
    if (args[value] !== '"') {
      at = args.indexOf('"', end);
      continue;
    }
    const valueEnd = endOfString(args, value);
    const short = isOldTextName(JSON.parse(args.slice(at, end)))
      ? shortenOldText(JSON.parse(args.slice(value, valueEnd)))
      : undefined;
    if (short !== undefined) {
      written += args.slice(copied, value) + JSON.stringify(short);
      copied = valueEnd;
    }
    at = args.indexOf('"', valueEnd);
  }
  return copied === 0 ? undefined : written + args.slice(copied);
}

/** Whether two values differ in shortened old texts only. Arguments may be written as JSON in a text. */
export function onlyOldTextsDiffer(before: unknown, after: unknown, name = ''): boolean {
  if (Object.is(before, after)) return true;
  if (typeof before === 'string' && typeof after === 'string') {
    if (isOldTextName(name)) return after === shortenOldText(before);
    const parsed = parse(before);
    return isRecord(parsed) && onlyOldTextsDiffer(parsed, parse(after), name);
  }
  if (!isRecord(before) || !isRecord(after) || Array.isArray(before) !== Array.isArray(after)) return false;
  const [keys, others] = [ownKeys(before), ownKeys(after)];
  return (
    keys.length === others.length &&
    keys.every((key) => Object.hasOwn(after, key) && onlyOldTextsDiffer(before[key], after[key], key))
  );
}

/** LangChain repeats the fields of a message in `lc_kwargs`. */
const ownKeys = (value: object): string[] => Object.keys(value).filter((key) => key !== 'lc_kwargs');

function parse(text: string): unknown {
  if (!text.startsWith('{')) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The index after the closing quote of a string of valid JSON. */
function endOfString(json: string, start: number): number {
  let end = json.indexOf('"', start + 1);
  while (isEscaped(json, end)) end = json.indexOf('"', end + 1);
  return end + 1;
}

function isEscaped(json: string, at: number): boolean {
  let first = at;
  while (json[first - 1] === '\\') first -= 1;
  return (at - first) % 2 === 1;
}

function skipBlanks(json: string, from: number): number {
  let at = from;
  while (/\s/.test(json.charAt(at))) at += 1;
  return at;
}

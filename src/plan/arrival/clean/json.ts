/**
 * A text that is JSON as a whole, without white space, and with lists of objects that have the same keys as columns and rows:
 * `{"list of objects with the keys":["id","name"],"values":[[1,"a"],[2,"b"],[3,"c"]]}`. Undefined if a text is not JSON.
 * Numbers and strings stay as they are written: `1.0`, `1e400` and `12345678901234567890` have no equal in JavaScript.
 */
export function compactJson(text: string): string | undefined {
  if (!isJson(text)) return undefined;
  const compact = withoutWhiteSpace(text);
  // A text with these words keeps its lists, so the words always mean the same.
  return compact.includes('},{') && !plainLetters(compact).includes(COLUMNS) ? withColumns(compact) : compact;
}

function isJson(text: string): boolean {
  if (!/^[ \t\r\n]*[[{]/.test(text) || !/[\]}]/.test(text.trimEnd().slice(-1))) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const [SPACE, QUOTE, COMMA, COLON, BACKSLASH] = [32, 34, 44, 58, 92];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125];

function withoutWhiteSpace(json: string): string {
  const parts: string[] = [];
  let start = 0;
  for (let i = 0; i < json.length; ) {
    const code = json.charCodeAt(i);
    if (code === QUOTE) i = endOfString(json, i);
    else if (code > SPACE) i += 1;
    else {
      if (start < i) parts.push(json.slice(start, i));
      i += 1;
      start = i;
    }
  }
  if (start === 0) return json;
  parts.push(json.slice(start));
  return parts.join('');
}

const COLUMNS = 'list of objects with the keys';
const FEWEST_OBJECTS = 3;

/** With letters that are written as `\u006c`. */
const plainLetters = (json: string): string =>
  json.includes('\\u00')
    ? json.replace(/\\u00([2-7][0-9a-f])/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    : json;

interface Value {
  readonly text: string;
  /** For an object: its keys as written, and the text of each value. */
  readonly keys?: string;
  readonly cells?: readonly string[];
}

interface Open {
  readonly start: number;
  readonly isList: boolean;
  readonly keys: string[];
  readonly values: Value[];
  /** Whether a value in it has columns: its text then differs from the source. */
  hasColumns: boolean;
}

/** One walk without recursion: a text may be nested a million times. */
function withColumns(json: string): string {
  const root: Open = { start: 0, isList: true, keys: [], values: [], hasColumns: false };
  const open = [root];
  for (let i = 0; i < json.length; ) {
    const code = json.charCodeAt(i);
    const inside = open[open.length - 1] ?? root;
    if (code === OPEN_LIST || code === OPEN_OBJECT) {
      open.push({ start: i, isList: code === OPEN_LIST, keys: [], values: [], hasColumns: false });
      i += 1;
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) {
      i += 1;
      open.pop();
      const outside = open[open.length - 1] ?? root;
      const source = json.slice(inside.start, i);
      const value = inside.isList ? listOf(inside, source) : objectOf(inside, source);
      if (value.text !== source) outside.hasColumns = true;
      outside.values.push(value);
    } else if (code === COMMA || code === COLON) {
      i += 1;
    } else {
      const end = code === QUOTE ? endOfString(json, i) : endOfWord(json, i);
      const written = json.slice(i, end);
      if (!inside.isList && inside.keys.length === inside.values.length) inside.keys.push(written);
      else inside.values.push({ text: written });
      i = end;
    }
  }
  return root.values[0]?.text ?? json;
}

function objectOf({ keys, values, hasColumns }: Open, source: string): Value {
  const text = hasColumns ? `{${joined(values, ({ text }, i) => `${keys[i]}:${text}`)}}` : source;
  return { text, keys: keys.join(), cells: values.map((value) => value.text) };
}

function listOf({ values, hasColumns }: Open, source: string): Value {
  const plain = hasColumns ? `[${joined(values, ({ text }) => text)}]` : source;
  const keys = values[0]?.keys;
  const isTable = keys && values.length >= FEWEST_OBJECTS && values.every((value) => value.keys === keys);
  if (!isTable) return { text: plain };
  const rows = joined(values, ({ cells = [] }) => `[${joined(cells, (cell) => cell)}]`);
  const table = `{"${COLUMNS}":[${keys}],"values":[${rows}]}`;
  return { text: table.length < plain.length ? table : plain };
}

/** Uses +, which copies nothing; `join` would copy a nested text at every level. */
function joined<T>(parts: readonly T[], write: (part: T, index: number) => string): string {
  return parts.reduce((text, part, i) => (i === 0 ? write(part, i) : `${text},${write(part, i)}`), '');
}

function endOfString(json: string, start: number): number {
  let end = json.indexOf('"', start + 1);
  while (isEscaped(json, end)) end = json.indexOf('"', end + 1);
  return end + 1;
}

function isEscaped(json: string, at: number): boolean {
  let start = at;
  while (json.charCodeAt(start - 1) === BACKSLASH) start -= 1;
  return (at - start) % 2 === 1;
}

/** A number or a word ends before a comma or a bracket. */
function endOfWord(json: string, start: number): number {
  let end = start + 1;
  for (; end < json.length; end++) {
    const code = json.charCodeAt(end);
    if (code === COMMA || code === CLOSE_LIST || code === CLOSE_OBJECT) break;
  }
  return end;
}

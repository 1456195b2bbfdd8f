import { isRecord } from '../../formats/lens.ts';
import { clipText } from '../../text.ts';
import type { Lines } from '../lines.ts';
import type { Outline } from './outline.ts';

/** The keys of a JSON text with the kind and size of their values. Undefined for other texts. */
export function outlineJson(text: string, lines: Lines, most: number): Outline | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (Array.isArray(value)) return outlineList(value);
  const entries = Object.entries(value as object);
  const lineOf = keyLines(lines, most);
  const shown = entries.slice(0, most).map(([key, item]) => {
    const line = lineOf.get(key);
    return `${line === undefined ? '' : `${line}:`}${JSON.stringify(clipText(key, 40))}: ${describe(item)}`;
  });
  return { kind: 'keys', lines: shown, total: entries.length };
}

const FIRST_ITEMS = 3;

function outlineList(list: readonly unknown[]): Outline {
  const shown = list.slice(0, FIRST_ITEMS).map((item, i) => `[${i}] ${describe(item)}`);
  return { kind: 'items of a list', lines: shown, total: list.length };
}

const SHORT = 40;
const KEYS_CHARS = 80;

function describe(value: unknown): string {
  if (typeof value === 'string' && value.length > SHORT) return `text of ${value.length} characters`;
  if (Array.isArray(value)) {
    const [first] = value;
    return `list of ${value.length}${isRecord(first) && !Array.isArray(first) ? `, the first with ${keysOf(first)}` : ''}`;
  }
  return isRecord(value) ? `object with ${keysOf(value)}` : JSON.stringify(value);
}

function keysOf(value: object): string {
  const keys = Object.keys(value);
  return `${keys.length} ${keys.length === 1 ? 'key' : 'keys'}${keys.length > 0 ? `: ${clipText(keys.slice(0, KEYS_CHARS).join(', '), KEYS_CHARS)}` : ''}`;
}

/** The lines of the first outermost keys, counted from 1, if each key is on its own line. */
function keyLines(lines: Lines, most: number): Map<string, number> {
  const found = new Map<string, number>();
  let indent: string | undefined;
  for (let line = 1; line < lines.count && found.size < most; line++) {
    const [, blanks, key] = /^(\s*)("(?:[^"\\]|\\.)*")\s*:/.exec(lines.at(line)) ?? [];
    if (blanks === undefined || key === undefined) continue;
    indent ??= blanks;
    const name = blanks === indent ? String(JSON.parse(key)) : undefined;
    if (name !== undefined && !found.has(name)) found.set(name, line + 1);
  }
  return found;
}

import { isRecord } from '../../formats/lens.ts';
/** One text in the arguments of a call, and the names that lead to it. */
export interface Argument {
  /** The keys of the enclosing objects, outermost first. Indices of lists are left out. */
  readonly keys: readonly string[];
  readonly text: string;
}

/** The texts of a call's arguments. Arguments that are not JSON are one text without a name. */
export function argumentsOf(json: string): Argument[] {
  const value = parse(json);
  return value === undefined ? [{ keys: [], text: withoutCarriageReturns(json) }] : leavesOf(value);
}

/** The searchable text of an observation. Of a JSON document only the texts, so that no escape hides a line. */
export function observationText(content: string): string {
  const trimmed = content.trim();
  const value = JSON_DOCUMENT.test(trimmed) ? parse(trimmed) : undefined;
  return value === undefined ? withoutCarriageReturns(content) : textOf(leavesOf(value));
}

export const textOf = (args: readonly Argument[]): string => args.map(({ text }) => text).join('\n');

export const withoutCarriageReturns = (text: string): string =>
  text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text;

const JSON_DOCUMENT = /^[{["][\s\S]*[}\]"]$/;

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** The values in order. A list of open values replaces recursion, because logs nest without limit. */
function leavesOf(root: unknown): Argument[] {
  const leaves: Argument[] = [];
  const open: { readonly keys: readonly string[]; readonly value: unknown }[] = [{ keys: [], value: root }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { keys, value } = next;
    if (typeof value === 'string') leaves.push({ keys, text: withoutCarriageReturns(value) });
    else if (typeof value === 'number') leaves.push({ keys, text: String(value) });
    else if (Array.isArray(value)) for (const item of value.toReversed()) open.push({ keys, value: item });
    else if (isRecord(value))
      for (const [key, item] of Object.entries(value).reverse()) open.push({ keys: [...keys, key], value: item });
  }
  return leaves;
}

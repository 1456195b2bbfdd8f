import { isRecord } from '../../formats/lens.ts';
import { headOf } from '../../text.ts';
import { subjectIn } from '../placeholder.ts';
import { parseArguments } from '../tool-kind/call-fields.ts';

/** The subject of a call, and the texts among its arguments. */
export interface ReadCall {
  readonly subject: string;
  readonly texts: readonly CallText[];
}

export interface CallText {
  /** The name of the argument, with the place of the text in it if there are several: `edits.2.newText`. */
  readonly argument: string;
  /** The last part of that name. */
  readonly field: string;
  readonly text: string;
}

/** Further texts of one call are ignored. */
const MOST_TEXTS = 100;
const MOST_SUBJECT = 240;

export function readCall(args: string): ReadCall {
  const parsed = parseArguments(args);
  if (!parsed) return { subject: headOf(args, MOST_SUBJECT), texts: [{ argument: '', field: '', text: args }] };
  const texts: CallText[] = [];
  collect(parsed, { argument: '', field: '' }, texts);
  return { subject: subjectIn(parsed), texts };
}

/** Recursion is safe: parsed JSON is not nested too deeply. */
function collect(value: unknown, { argument, field }: Omit<CallText, 'text'>, into: CallText[]): void {
  if (into.length >= MOST_TEXTS) return;
  const inside = argument === '' ? '' : `${argument}.`;
  if (typeof value === 'string') into.push({ argument, field, text: value });
  else if (Array.isArray(value))
    value.forEach((item, i) => void collect(item, { argument: `${inside}${i + 1}`, field }, into));
  else if (isRecord(value))
    for (const [key, item] of Object.entries(value)) collect(item, { argument: `${inside}${key}`, field: key }, into);
}

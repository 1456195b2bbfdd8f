import { headOf } from '../../text.ts';
import { subjectIn } from '../placeholder.ts';

/** The subject of a call, and the texts among its arguments. */
export interface ReadCall {
  readonly subject: string;
  readonly texts: readonly CallText[];
}

export interface CallText {
  /** The name of the argument, with the place of the text in it where there are several: `edits.2.newText`. */
  readonly argument: string;
  /** The last part of that name. */
  readonly field: string;
  readonly text: string;
}

/** More texts of one call are not looked at. */
const MOST_TEXTS = 100;
const MOST_SUBJECT = 240;

export function readCall(args: string): ReadCall {
  const parsed = args.startsWith('{') ? parse(args) : undefined;
  if (!parsed) return { subject: headOf(args, MOST_SUBJECT), texts: [{ argument: '', field: '', text: args }] };
  const texts: CallText[] = [];
  collect(parsed, { argument: '', field: '' }, texts);
  return { subject: subjectIn(parsed), texts };
}

function parse(args: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(args);
  } catch {
    return undefined;
  }
}

/** JSON that was parsed is not nested deeper than this function can call itself. */
function collect(value: unknown, { argument, field }: Omit<CallText, 'text'>, into: CallText[]): void {
  if (into.length >= MOST_TEXTS) return;
  const inside = argument === '' ? '' : `${argument}.`;
  if (typeof value === 'string') into.push({ argument, field, text: value });
  else if (Array.isArray(value))
    value.forEach((item, i) => void collect(item, { argument: `${inside}${i + 1}`, field }, into));
  else if (typeof value === 'object' && value !== null)
    for (const [key, item] of Object.entries(value)) collect(item, { argument: `${inside}${key}`, field: key }, into);
}

import { headOf } from '../../text.ts';
import { subjectIn } from '../placeholder.ts';

/** The subject of a call, and the texts among its arguments. */
export interface ReadCall {
  readonly subject: string;
  readonly texts: readonly CallText[];
}

export interface CallText {
  /** The name of the argument; in a list, that of the list. */
  readonly argument: string;
  readonly text: string;
}

/** More texts of one call are not looked at. */
const MOST_TEXTS = 100;
const MOST_SUBJECT = 240;

export function readCall(args: string): ReadCall {
  const parsed = args.startsWith('{') ? parse(args) : undefined;
  if (!parsed) return { subject: headOf(args, MOST_SUBJECT), texts: [{ argument: '', text: args }] };
  const texts: CallText[] = [];
  collect(parsed, '', texts);
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
function collect(value: unknown, argument: string, into: CallText[]): void {
  if (into.length >= MOST_TEXTS) return;
  if (typeof value === 'string') into.push({ argument, text: value });
  else if (Array.isArray(value)) for (const item of value) collect(item, argument, into);
  else if (typeof value === 'object' && value !== null)
    for (const [key, item] of Object.entries(value)) collect(item, key, into);
}

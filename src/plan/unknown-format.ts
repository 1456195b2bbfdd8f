import { PalimpsestError } from '../errors.ts';
import type { ListCoverage } from '../formats/coverage.ts';
import { asList, asString } from '../formats/lens.ts';
import type { AnyFormat } from '../message.ts';
import { kindOfValue } from '../options.ts';

/** The error for a list that looks like none of the formats. */
export const fitsNone = (messages: readonly unknown[]): PalimpsestError =>
  unknownFormat(`found a list that fits none: ${describe(messages, 0)}`, FORMAT_IS);

interface Unread {
  readonly coverage: ListCoverage;
  readonly isNamed: boolean;
}

/** The error for a list of which a format reads little. */
export function readsLittle(
  messages: readonly unknown[],
  { name }: AnyFormat,
  { coverage, isNamed }: Unread,
): PalimpsestError {
  const { held, read, worst } = coverage;
  const found =
    `found ${held} characters, of which ${isNamed ? 'the format that was named' : 'the likeliest format'}, ` +
    `${name}, reads ${read}. Most of the rest is in ${describe(messages, worst)}`;
  return unknownFormat(found, isNamed ? 'name another format, or none' : FORMAT_IS);
}

/** The error for a format that was named and reads no result where another one does. */
export const readsNoResult = (named: string, { name, pairs }: { readonly name: string; readonly pairs: number }) =>
  unknownFormat(
    `found ${pairs === 1 ? 'a result' : `${pairs} results`} of tools that ${name} reads, and ${named}, which was named, reads none`,
    'name another format, or none',
  );

const FORMAT_IS = 'pass { format } to say which it is';

const unknownFormat = (found: string, advice: string): PalimpsestError =>
  new PalimpsestError('UNKNOWN_FORMAT', `Expected messages of a known format but ${found}; ${advice}`);

/** One message in a few words: its fields, and the types of its parts. */
function describe(messages: readonly unknown[], index: number): string {
  const message = messages[index] as Readonly<Record<string, unknown>>;
  const kind = kindOfValue(message);
  if (kind !== 'object') return `message ${index}: ${kind}`;
  const role = asString(message.role ?? message.type);
  const parts = asList(message.content ?? message.parts).map((part) => asString(part.type) ?? Object.keys(part)[0]);
  const said = [
    ...(role === undefined ? [] : [`role ${role.slice(0, MOST_CHARS)}`]),
    `fields ${short(Object.keys(message))}`,
    ...(parts.length > 0 ? [`parts ${short(parts)}`] : []),
  ];
  return `message ${index} (${said.join(', ')})`;
}

const MOST_CHARS = 40;

const short = (names: readonly (string | undefined)[]): string => {
  const different = [...new Set(names)].map((name) => String(name).slice(0, MOST_CHARS));
  return different.length > 8 ? `${different.slice(0, 8).join(' ')} …` : different.join(' ') || 'none';
};

import { PalimpsestError } from '../errors.ts';
import { growingCoverage, type ListCoverage } from '../formats/coverage.ts';
import { formatByName, guessFormat, isCertain, isOfFormat } from '../formats/detect-format.ts';
import { asList, asString, isRecord } from '../formats/lens.ts';
import type { AnyFormat, Format, FormatName } from '../message.ts';

/** The format of a list: the one that is named, or the one it has. Throws where the format reads little of its text. */
export function resolveFormat<M>(messages: readonly M[], named: AnyFormat | FormatName | undefined): Format<M> {
  if (!Array.isArray(messages)) {
    const message = `Expected a list of messages but found ${typeof messages}; pass the array itself`;
    throw new PalimpsestError('BAD_INPUT', message);
  }
  const format = formatOf<M>(messages, named);
  if (!format) throw unknownFormat(`found a list that fits none: ${describe(messages, 0)}`, FORMAT_IS);
  if (messages.length === 0) return format;
  const coverage = growingCoverage(format, messages);
  const isNamed = named !== undefined;
  if (isOfFormat(format.name, coverage, { messages, isNamed })) return format;
  throw unknownFormat(...describeUnread(messages, format, { coverage, isNamed }));
}

function formatOf<M>(messages: readonly M[], named: AnyFormat | FormatName | undefined): Format<M> | undefined {
  if (typeof named === 'object') return named as unknown as Format<M>;
  const name = named ?? (messages.length === 0 ? 'chat' : likelyFormat(messages));
  return name === undefined ? undefined : (formatByName(name) as unknown as Format<M>);
}

/** Plain text without a system message might be anybody's: then a note goes in as a user message, which all accept. */
function likelyFormat(messages: readonly unknown[]): FormatName | undefined {
  const name = guessFormat(messages);
  if (name !== 'openai-chat' || isCertain(messages)) return name;
  const roles = messages.map((message) => (message as { role?: unknown }).role);
  return roles.includes('system') || roles.includes('developer') ? name : 'anthropic';
}

const FORMAT_IS = 'pass { format } to say which it is';

const unknownFormat = (found: string, advice: string): PalimpsestError =>
  new PalimpsestError('UNKNOWN_FORMAT', `Expected messages of a known format but ${found}; ${advice}`);

interface Unread {
  readonly coverage: ListCoverage;
  readonly isNamed: boolean;
}

function describeUnread(
  messages: readonly unknown[],
  { name }: AnyFormat,
  { coverage, isNamed }: Unread,
): [found: string, advice: string] {
  const { held, read, worst } = coverage;
  const found =
    `found ${held} characters, of which ${isNamed ? 'the format that was named' : 'the likeliest format'}, ` +
    `${name}, reads ${read}. Most of the rest is in ${describe(messages, worst)}`;
  return [found, isNamed ? 'name another format, or leave it out to have it detected' : FORMAT_IS];
}

/** One message in a few words: its fields, and the types of its parts. */
function describe(messages: readonly unknown[], index: number): string {
  const message = messages[index];
  if (!isRecord(message) || Array.isArray(message))
    return `message ${index}, ${Array.isArray(message) ? 'a list' : message === null ? 'null' : `a ${typeof message}`}`;
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

import { PalimpsestError } from '../errors.ts';
import { coverageOf, forgetCoverage, growingCoverage } from '../formats/coverage.ts';
import { formatByName, formats, guessFormat, isCertain, isOfFormat } from '../formats/detect-format.ts';
import type { AnyFormat, Format, FormatName } from '../message.ts';
import { kindOfValue } from '../options.ts';
import { fitsNone, readsLittle, readsNoResult } from './unknown-format.ts';

/**
 * The format of a list: the named one, or the detected one. Throws if the format reads little of its text, or no result although another
 * one does: nothing would be masked, and a cut could take a result from its call.
 */
export function resolveFormat<M>(messages: readonly M[], named: AnyFormat | FormatName | undefined): Format<M> {
  if (!Array.isArray(messages)) {
    const message = `Expected a list of messages but found ${kindOfValue(messages)}; pass the array itself`;
    throw new PalimpsestError('BAD_INPUT', message);
  }
  const format = formatOf<M>(messages, named);
  if (!format) throw fitsNone(messages);
  if (messages.length === 0) return format;
  const coverage = growingCoverage(format, messages);
  const isNamed = named !== undefined;
  const isOf = isOfFormat(format.name, coverage, { messages, isNamed });
  const other = isOf && isNamed && coverage.pairs === 0 ? otherReader(messages, format) : undefined;
  if (isOf && !other) return format;
  // The caller may repair a message in place.
  forgetCoverage(messages);
  throw other ? readsNoResult(format.name, other) : readsLittle(messages, format, { coverage, isNamed });
}

/** The format that a list looks like, if that reads results and is not the one that was named. A custom format may read them in its own way. */
function otherReader(messages: readonly unknown[], named: AnyFormat) {
  const name = named === formats[named.name as FormatName] ? guessFormat(messages) : undefined;
  if (name === undefined || name === named.name) return undefined;
  const { pairs } = coverageOf(formatByName(name), messages);
  return pairs > 0 ? { name, pairs } : undefined;
}

/** Throws if a format reads little of a list that has changed in place since it was resolved. */
export function checkFormatAgain(messages: readonly unknown[], named: AnyFormat | FormatName | undefined): void {
  forgetCoverage(messages);
  resolveFormat(messages, named);
}

function formatOf<M>(messages: readonly M[], named: AnyFormat | FormatName | undefined): Format<M> | undefined {
  if (typeof named === 'object') return named as unknown as Format<M>;
  const name = named ?? (messages.length === 0 ? 'chat' : likelyFormat(messages));
  return name === undefined ? undefined : (formatByName(name) as unknown as Format<M>);
}

/** Plain text without a system message may have any format. A note is then a user message, which all formats accept. */
function likelyFormat(messages: readonly unknown[]): FormatName | undefined {
  const name = guessFormat(messages);
  if (name !== 'openai-chat' || isCertain(messages)) return name;
  const roles = messages.map((message) => (message as { role?: unknown }).role);
  return roles.includes('system') || roles.includes('developer') ? name : 'anthropic';
}

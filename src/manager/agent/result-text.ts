import { PalimpsestError } from '../../errors.ts';
import { toText } from '../../formats/lens.ts';

/** The answer of a tool as the text that the model reads. Throws if it cannot be written as text. */
export function resultText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === undefined) return '';
  if (value instanceof Error) throw value;
  if (value instanceof Uint8Array) return bytesText(value);
  return JSON.stringify(value) ?? String(value);
}

/** A file that was read without naming its encoding. As JSON each of its bytes would be a number. */
function bytesText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    const remedy = 'answer a text, or where they can be found';
    throw new PalimpsestError('BAD_INPUT', `Expected a text but found ${bytes.length} bytes that are none; ${remedy}`, {
      cause,
    });
  }
}

/** A thrown value, in words. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return toText(error) || String(error);
  if (error.message !== '') return error.message;
  // If every address of a host refuses, Node throws an AggregateError without a message.
  return (error instanceof AggregateError ? error.errors.map(errorText).join('; ') : '') || error.name;
}

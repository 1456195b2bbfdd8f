import { hash } from 'node:crypto';
import type { Segment } from '../../message.ts';

/** One piece of a message, as a prefix is known by it. */
export type Hashed = Pick<Segment, 'kind' | 'text' | 'callId'>;

const firstPrefixes = new Map<string, string>();

/** The prefix before the first message. */
export function firstPrefix(api: string): string {
  const prefix = firstPrefixes.get(api) ?? digest(`palimpsest 1 ${api}`);
  firstPrefixes.set(api, prefix);
  return prefix;
}

/**
 * The canonical hashes of a conversation up to and including each piece of a message: kinds, texts and call ids. Cache
 * markers, the system prompt and whether a text is alone or in a list make no difference, since clients change them
 * at will. Piece by piece, so that a message that grew before it was answered still begins with what it was.
 */
export function nextPrefixes(prefix: string, pieces: readonly Hashed[]): readonly string[] {
  const prefixes: string[] = [];
  let last = prefix;
  for (const { kind, text, callId = '' } of pieces) {
    if (kind === 'system') continue;
    last = digest(`${last}\n${kind} ${callId.length} ${text.length} ${callId}`, text);
    prefixes.push(last);
  }
  return prefixes;
}

/** For one piece after the other. Most are shorter. */
const ascii = Buffer.allocUnsafeSlow(1 << 16);

/** Short enough to be a part of a session's name, long enough never to clash. */
function digest(head: string, text = ''): string {
  return hash('sha256', toAscii(head, text) ?? wellFormed(head + text), 'hex').slice(0, 32);
}

/** Both texts as bytes, where they are short and ASCII: to join them as a string would copy them once more. */
function toAscii(head: string, text: string): Buffer | undefined {
  const length = head.length + text.length;
  if (length > ascii.length || Buffer.byteLength(head) + Buffer.byteLength(text) > length) return undefined;
  ascii.write(head, 'latin1');
  ascii.write(text, head.length, 'latin1');
  return ascii.subarray(0, length);
}

/** All halves of characters would be hashed as one and the same. */
const wellFormed = (text: string): string => (text.isWellFormed() ? text : JSON.stringify(text));

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
    last = digest(`${last}\n${kind} ${callId.length} ${text.length} ${callId}${text}`);
    prefixes.push(last);
  }
  return prefixes;
}

/** The names that receipts and stored texts go by. They decide no byte that is sent. */
export interface SessionNames {
  /** An agent's run with its sub-agents. */
  readonly session: string;
  /** The conversation within it. */
  readonly part: string;
}

/** Named by the id that the agent sends, of which only a hash is kept; else by the prefix of the task. */
export function sessionNames(id: string | undefined, task: string): SessionNames {
  if (id === undefined) return { session: task, part: task };
  const session = digest(`palimpsest session\n${id}`);
  return { session, part: task && digest(`palimpsest part\n${session}\n${task}`) };
}

/** Short enough to be a part of a session's name, long enough never to clash. */
const digest = (text: string): string => hash('sha256', wellFormed(text), 'hex').slice(0, 32);

/** All halves of characters would be hashed as one and the same. */
const wellFormed = (text: string): string => (text.isWellFormed() ? text : JSON.stringify(text));

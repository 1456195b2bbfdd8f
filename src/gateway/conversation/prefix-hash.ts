import { hash } from 'node:crypto';
import type { Segment } from '../../message.ts';

/** The parts of a message piece that a prefix covers. */
export type Hashed = Pick<Segment, 'kind' | 'text' | 'callId'>;

const firstPrefixes = new Map<string, string>();

/** The prefix before the first message. */
export function firstPrefix(api: string): string {
  const prefix = firstPrefixes.get(api) ?? digest(`palimpsest 1 ${api}`);
  firstPrefixes.set(api, prefix);
  return prefix;
}

/**
 * The canonical hashes of a conversation up to and including each piece of a message: kinds, texts and call ids. Cache markers, the
 * system prompt and whether a text is alone or in a list make no difference, because clients change them. It has one hash for each
 * piece, so a message that grew before it was answered still begins with its earlier pieces.
 */
export function nextPrefixes(prefix: string, pieces: readonly Hashed[]): readonly string[] {
  const said = pieces.some(({ kind }) => kind === 'system') ? pieces.filter(({ kind }) => kind !== 'system') : pieces;
  let last = prefix;
  return said.map(({ kind, text, callId = '' }) => {
    last = digest(`${last}\n${kind} ${callId.length} ${text.length} ${callId}`, text);
    return last;
  });
}

/** The names in receipts and stored texts. No sent byte depends on them. */
export interface SessionNames {
  /** An agent's run with its sub-agents. */
  readonly session: string;
  /** The conversation within it. */
  readonly part: string;
}

/** Made from a hash of the agent's id, otherwise from the prefix of the task. */
export function sessionNames(id: string | undefined, task: string): SessionNames {
  if (id === undefined) return { session: task, part: task };
  const session = digest(`palimpsest session\n${id}`);
  return { session, part: task && digest(`palimpsest part\n${session}\n${task}`) };
}

/**
 * The name of a tool result that no other session has. It shows that one conversation continues another. Undefined for a result that two
 * sessions may share.
 */
export function resultName({ callId = '', text }: Pick<Hashed, 'callId' | 'text'>): string | undefined {
  if (isRandom(callId)) return digest(`palimpsest result\n${callId}`);
  return text.length < LEAST_RESULT_CHARS ? undefined : digest(`palimpsest result text\n${callId}\n`, text);
}

/** Shorter results, such as `ok`, are the same in many sessions. */
const LEAST_RESULT_CHARS = 200;

/** Some servers count up: `call_1` and `functions.bash:0` are in every session. */
const isRandom = (id: string): boolean =>
  (id.match(/[0-9a-z]{8,}/gi) ?? []).some((run) => /\d.*\d/.test(run) && new Set(run).size >= 5);

/** Short enough to be a part of a session's name, long enough never to clash. */
function digest(head: string, text = ''): string {
  return hash('sha256', toBytes(head, text) ?? wellFormed(head + text), 'hex').slice(0, 32);
}

/** Only for longer texts, a copy costs more than the conversion to bytes. */
const LONG_CHARS = 1000;
/** A reused buffer. Most texts are shorter. */
const bytes = Buffer.allocUnsafeSlow(1 << 18);

/** Head and long text as UTF-8, without a copy of both as a string. Undefined for other texts. */
function toBytes(head: string, text: string): Buffer | undefined {
  const mostBytes = 3 * (head.length + text.length);
  if (text.length < LONG_CHARS || mostBytes > bytes.length || !head.isWellFormed() || !text.isWellFormed())
    return undefined;
  const headBytes = bytes.write(head);
  return bytes.subarray(0, headBytes + bytes.write(text, headBytes));
}

/** Lone surrogates would all have the same hash. */
const wellFormed = (text: string): string => (text.isWellFormed() ? text : JSON.stringify(text));

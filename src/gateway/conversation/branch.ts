import type { ReplaceEdit } from '../../message.ts';
import type { Planner } from '../../plan/planner.ts';
import type { EpochRecord } from '../../plan/policy.ts';
import type { ReadMessage } from '../decide/read-message.ts';

/** A message of a request, and where it stands in the body. */
export interface Listed {
  readonly start: number;
  readonly end: number;
  /** The canonical hash of all messages up to this one. */
  readonly prefix: string;
  /** The same up to each piece of this one, where it has some. */
  readonly prefixes: readonly string[];
  readonly read: ReadMessage;
  /** How many JSON values it has. */
  readonly values: number;
}

/** One line of a conversation, as its last request carried it. */
export interface Branch {
  readonly body: Buffer;
  readonly listed: readonly Listed[];
  readonly model: string | undefined;
  /** What decided about it, with all its messages taken in. */
  readonly planner: Planner<object>;
  /** The settings it was planned with. */
  readonly settings: string;
  readonly overheadTokens: number;
  /** False once an epoch of it was taken back: its planner cannot do that, so all is planned anew. */
  canGoOn: boolean;
  /** What nothing in the history explains. The planner looks at this list. */
  readonly epochs: EpochRecord[];
  /** What the last request that was answered carried in the place of results, by segment. */
  sent: ReadonlyMap<number, string>;
  /** How many messages that request had, and its size without any mask. */
  sentMessages: number;
  sentTokens: { readonly before: number; readonly after: number };
  /** The edits that were found to keep the laws. */
  readonly lawful: Set<ReplaceEdit>;
  /** How much memory it takes, about. */
  readonly size: number;
}

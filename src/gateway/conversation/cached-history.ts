import type { ReplaceEdit } from '../../message.ts';
import type { ArrivalPeriod } from '../../plan/arrival/arrivals.ts';
import type { Planner } from '../../plan/planner.ts';
import type { EpochRecord } from '../../plan/policy.ts';
import type { ReadMessage } from '../decide/read-message.ts';

/** A message of a request, and its place in the body. */
export interface Listed {
  readonly start: number;
  readonly end: number;
  /** The canonical hash of all messages up to this one. */
  readonly prefix: string;
  /** The same up to each piece of this message, if it has pieces. */
  readonly prefixes: readonly string[];
  readonly read: ReadMessage;
  /** The number of its JSON values. */
  readonly values: number;
}

export const hasResult = ({ read: { results, fixed } }: Listed): boolean => results.size > 0 || fixed.size > 0;

/**
 * A planned request, kept so that the next request of the conversation costs only its new messages. A conversation has several if it was
 * forked, or sent to several models.
 */
export interface CachedHistory {
  readonly body: Buffer;
  readonly listed: readonly Listed[];
  readonly model: string | undefined;
  /** The planner that decided about it, with all its messages appended. */
  readonly planner: Planner<ReadMessage>;
  /** The key of the settings it was planned with. */
  readonly settings: string;
  readonly overheadTokens: number;
  /** False once one of its epochs was withdrawn. The planner cannot undo that, so the next request is planned from the start. */
  isExtendable: boolean;
  /** Epochs that the history does not show. The planner reads this list. */
  readonly epochs: EpochRecord[];
  /** How its results are made smaller when they are first sent. The planner reads this list. */
  readonly arrivals: ArrivalPeriod[];
  /** The last request that was answered. Shared with the histories that extend this one: their requests overlap. */
  readonly answered: { last: SentRequest };
  /** Results that were made smaller when they were first sent in an earlier request, answered or not: their edits, by segment. */
  readonly shaped: Map<number, ReplaceEdit>;
  /** The edits that its request carried. */
  carried: readonly ReplaceEdit[];
  /** The edits of its plan, checked and written. */
  readonly checked: Map<ReplaceEdit, CheckedEdit>;
  /** Its size in memory, roughly, in bytes. */
  readonly size: number;
}

/** The parts of an answered request that the next one is compared with. */
export interface SentRequest {
  /** The edits that it carried, by segment. */
  readonly edits: ReadonlyMap<number, ReplaceEdit>;
  /** The number of its messages. */
  readonly messages: number;
  /** Its size without any mask, and as it was sent. */
  readonly tokens: { readonly before: number; readonly after: number };
}

/** An edit that keeps the laws. Its bytes are used again for as long as the message is the same to the byte. */
export interface CheckedEdit {
  readonly read: ReadMessage;
  readonly bytes: Uint8Array;
}

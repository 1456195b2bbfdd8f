import type { Cut } from '../../plan/held-cut.ts';
import type { Truncation } from '../../plan/policy.ts';
import type { KnownDamage } from './log/damage.ts';

/** Whether a session is in use, waits for a person, or is over. */
export type SessionStatus = 'active' | 'paused' | 'completed';

interface Stamp {
  /** Counts from 1. Each event has its own number. */
  readonly seq: number;
  /** ISO 8601. Never earlier than the time of the previous event, even if the clock is set back. */
  readonly time: string;
}

/** The first event of a session. */
export interface SessionStart {
  readonly type: 'session_start';
  readonly id: string;
  readonly format: string;
  /** How results are made smaller. Absent in the log of an older version: results were only cut. */
  readonly arrival?: ArrivalSettings;
}

/** How results are made smaller when they are first sent. */
export interface ArrivalSettings {
  readonly clean: boolean;
  readonly references: boolean;
  /** The most tokens of a shell's output. */
  readonly shell_output: number | false;
  /** The most tokens of any result. */
  readonly truncate: number | false;
  readonly truncation: Truncation;
}

/** Later results are made smaller by these settings. Earlier results stay as they were sent. */
export interface ArrivalChange extends ArrivalSettings {
  readonly type: 'arrival';
}

/** Results that are sent whole from now on: their originals could not be stored, or the text that they refer to is left out. */
export interface ArrivalSkipped {
  readonly type: 'arrival_skipped';
  readonly results: readonly ResultPlace[];
  readonly reason: string;
}

/** A result: its message, and which of the message's segments it is. */
export interface ResultPlace {
  readonly message: string;
  readonly segment: number;
}

/** Results that were masked because the provider's cache had expired: masking costs nothing then. */
export interface ColdEpoch {
  readonly type: 'cold_epoch';
  /** The time since the previous request. */
  readonly idle_ms: number;
  readonly masks: readonly Mask[];
}

/** A message in full, as it was added. */
export interface MessageEvent<M> {
  readonly type: 'message';
  readonly message: M;
  /** Written by the session itself: it answers a call that a crash or a restart left open. */
  readonly recovered?: boolean;
  /**
   * The message before which this one is inserted; at the end if absent. Used for a result whose call was still running while
   * messages were added.
   */
  readonly before?: string;
}

/** The usage that a provider reported for one request. */
export interface TokenUsage {
  readonly type: 'token_usage';
  readonly turn: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly cached_tokens?: number;
  readonly cache_write_tokens?: number;
  /** A share of the context limit, 0.5 for half of it. */
  readonly context_used_pct: number;
  /** The estimated size of the view at that time. Tokens beyond it were added after the count. */
  readonly view_tokens?: number;
  readonly winding_down?: boolean;
}

/** One masked result: its message, its segment, and the placeholder text. */
export interface Mask extends ResultPlace {
  readonly text: string;
}

/** Results that were masked because the context was full. */
export interface ContextMask {
  readonly type: 'context_mask';
  readonly observations_masked: number;
  readonly total_masked: number;
  /** In percent. */
  readonly context_reclaimed_pct: number;
  /** The rest of the last provider count, if there was one, and the estimated size of the view at that time. */
  readonly prompt_tokens?: number;
  readonly view_tokens?: number;
  readonly masks: readonly Mask[];
}

/** The model was told to save its state, since the context is nearly full. */
export interface WindDown {
  readonly type: 'wind_down';
  readonly notice: string;
}

/** Replaces the conversation by `messages`: the carried-over messages and the notice. */
export interface SessionRestart<M> {
  readonly type: 'session_restart';
  readonly session_number: number;
  readonly previous_turns: number;
  readonly carryover_messages: number;
  readonly reason: string;
  readonly messages: readonly M[];
}

/** The budget required a cut. The cut stays until it must move. */
export interface ContextCut {
  readonly type: 'context_cut';
  /** Null if the cut was removed. */
  readonly cut: Cut | null;
  readonly omitted: number;
  /** The first message at that time. If another message is first now, the cut belongs to an earlier conversation. */
  readonly first?: string | null;
}

/**
 * A summary by the caller's function, or the reason why it failed. Its key is the replaced text, so no summary is written twice.
 */
export interface ContextSummary {
  readonly type: 'context_summary';
  /** The handle of the text that the summary replaced. */
  readonly replaced: string;
  readonly text?: string;
  readonly failed?: string;
}

/**
 * An agent's loop begins. Messages before this event are the conversation; they stay as long as an iteration can be dropped
 * instead.
 */
export interface RunStart {
  readonly type: 'run_start';
}

/** The session is over. It continues if a message is added. */
export interface SessionEnd {
  readonly type: 'session_end';
  readonly reason: string;
  readonly total_turns: number;
}

export interface StatusChange {
  readonly type: 'status_change';
  readonly from: SessionStatus;
  readonly to: SessionStatus;
}

/** A call that waits for a person. Recovery leaves it open. */
export interface ApprovalRequired {
  readonly type: 'approval_required';
  readonly call_id: string;
  readonly tool: string;
  readonly arguments?: unknown;
}

export interface ApprovalDecision {
  readonly type: 'approval_decision';
  readonly call_id: string;
  readonly decision: 'approved' | 'denied';
  readonly reason?: string;
}

/** Calls that will not be made. Recovery answers those without a result with this reason. */
export interface ToolsSkipped {
  readonly type: 'tools_skipped';
  readonly call_ids: readonly string[];
  readonly reason: string;
}

export interface ErrorEvent {
  readonly type: 'error';
  readonly message: string;
}

/** The conversation starts again empty. The log is kept. */
export interface Reset {
  readonly type: 'reset';
}

/** The damage found so far is acknowledged and no longer reported. */
export interface DamageAcknowledged {
  readonly type: 'damage_acknowledged';
  /** Damaged lines that were found so far, in log and archive. */
  readonly lines: number;
  /** Events that were missing. */
  readonly missing: readonly number[];
}

/** The state that all earlier events add up to. A compaction writes it and keeps only the events that are still needed. */
export interface Checkpoint {
  readonly type: 'checkpoint';
  /** The number of archive bytes that were synced before this event. */
  readonly archive_bytes: number;
  readonly state: unknown;
  /** Damage that was found before. */
  readonly damage?: KnownDamage;
}

/** Events that `session.log` accepts. */
export type LoggedEvent =
  | TokenUsage
  | RunStart
  | SessionEnd
  | StatusChange
  | ApprovalRequired
  | ApprovalDecision
  | ToolsSkipped
  | ErrorEvent
  | CustomEvent;

/** A custom event: its type is `x_` and a name. */
export interface CustomEvent {
  readonly type: `x_${string}`;
  readonly [field: string]: unknown;
}

/** An event without sequence number and time. */
export type EventBody<M> =
  | SessionStart
  | ArrivalChange
  | ArrivalSkipped
  | MessageEvent<M>
  | ContextMask
  | ColdEpoch
  | ContextCut
  | ContextSummary
  | WindDown
  | SessionRestart<M>
  | Reset
  | DamageAcknowledged
  | Checkpoint
  | LoggedEvent;

/** One line of `events.jsonl`, parsed. */
export type SessionEvent<M = unknown> = Stamp & EventBody<M>;

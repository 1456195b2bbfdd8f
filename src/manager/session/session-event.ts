import type { Truncation } from '../../plan/policy.ts';
import type { KnownDamage } from './damage.ts';

/** Whether a session is being worked in, waits for somebody, or is over. */
export type SessionStatus = 'active' | 'paused' | 'completed';

interface Stamp {
  /** Counts from 1; no two events have the same. */
  readonly seq: number;
  /** ISO 8601; never before that of the event before it, whatever the clock does. */
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

/** How results are made smaller when they first go out. */
export interface ArrivalSettings {
  readonly clean: boolean;
  readonly references: boolean;
  /** The most tokens of a shell's output. */
  readonly shell_output: number | false;
  /** The most tokens of any result. */
  readonly truncate: number | false;
  readonly truncation: Truncation;
}

/** Later results are made smaller like this. Those before it stay as they were sent. */
export interface ArrivalChange extends ArrivalSettings {
  readonly type: 'arrival';
}

/** Results that go out whole from now on: their originals could not be stored, or the text that they referred to is left out. */
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

/** Results that were masked before a request because the provider's cache had expired: masks cost nothing then. */
export interface ColdEpoch {
  readonly type: 'cold_epoch';
  /** The time since the request before. */
  readonly idle_ms: number;
  readonly masks: readonly Mask[];
}

/** A message in full, as it was added. */
export interface MessageEvent<M> {
  readonly type: 'message';
  readonly message: M;
  /** Written by the session itself: it answers a call that a crash or a restart left open. */
  readonly recovered?: boolean;
  /** The message that it stands before, if not at the end: the result of a call, and what was added while it ran. */
  readonly before?: string;
}

/** What a provider reported for one request. */
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
  /** What would have been sent then, estimated: what comes later is more than was counted. */
  readonly view_tokens?: number;
  readonly winding_down?: boolean;
}

/** One result that was masked: which message, which of its segments, and what stands there now. */
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
  /** What is left of the last count, where there was one, and what would have been sent then, estimated. */
  readonly prompt_tokens?: number;
  readonly view_tokens?: number;
  readonly masks: readonly Mask[];
}

/** The model was told to save its state, since the context is nearly full. */
export interface WindDown {
  readonly type: 'wind_down';
  readonly notice: string;
}

/** From here on the conversation is `messages`: what was carried over, and the notice. */
export interface SessionRestart<M> {
  readonly type: 'session_restart';
  readonly session_number: number;
  readonly previous_turns: number;
  readonly carryover_messages: number;
  readonly reason: string;
  readonly messages: readonly M[];
}

/** A render had to cut: the cut holds until it must be moved. */
export interface ContextCut {
  readonly type: 'context_cut';
  /** Null where it was lifted. */
  readonly cut: unknown;
  readonly omitted: number;
  /** The message that was the first then: where it is another by now, the cut is for a conversation that is over. */
  readonly first?: string | null;
}

/** A summary that the caller's function wrote, or why it did not: recorded by what it replaced, and never written twice. */
export interface ContextSummary {
  readonly type: 'context_summary';
  /** The handle of the text that the summary replaced. */
  readonly replaced: string;
  readonly text?: string;
  readonly failed?: string;
}

/** An agent's loop begins: the messages before it are the conversation, which stays while an iteration could go. */
export interface RunStart {
  readonly type: 'run_start';
}

/** The session is over. It goes on if a message is added. */
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

/** Calls that are not made. Recovery answers those that got no result with the reason. */
export interface ToolsSkipped {
  readonly type: 'tools_skipped';
  readonly call_ids: readonly string[];
  readonly reason: string;
}

export interface ErrorEvent {
  readonly type: 'error';
  readonly message: string;
}

/** The conversation begins anew; the log goes on. */
export interface Reset {
  readonly type: 'reset';
}

/** Somebody knows of the damage that was found until then: it is no longer reported. */
export interface DamageAcknowledged {
  readonly type: 'damage_acknowledged';
  /** Damaged lines that were found so far, in log and archive. */
  readonly lines: number;
  /** Events that were missing. */
  readonly missing: readonly number[];
}

/** All that the events before it amount to: written by a compaction, which keeps only those that are still needed. */
export interface Checkpoint {
  readonly type: 'checkpoint';
  /** So much of the archive was synced before. */
  readonly archive_bytes: number;
  readonly state: unknown;
  /** Damage that was found before. */
  readonly damage?: KnownDamage;
}

/** What `session.log` takes. */
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

/** An event of one's own: `x_` and a name. */
export interface CustomEvent {
  readonly type: `x_${string}`;
  readonly [field: string]: unknown;
}

/** What happened, without when. */
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

/** One line of `events.jsonl`, as it stands there. */
export type SessionEvent<M = unknown> = Stamp & EventBody<M>;

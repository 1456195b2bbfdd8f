import type { Format } from '../../message.ts';
import type { Disk } from '../../store/embedded/disk.ts';
import type { Store } from '../../store/store.ts';
import type { MaskOptions, MaskResult } from '../context-action.ts';
import type { ContextManager } from '../context-manager.ts';
import type { Rendered, RenderOptions } from '../render-with-budget.ts';
import type { SessionSettings } from '../session-settings.ts';
import type { ToolResult } from '../tool-call.ts';
import type { SessionPlaceOptions } from './find-place.ts';
import type { LoggedEvent, SessionEvent, SessionStatus } from './session-event.ts';

export type * from './session-event.ts';

/** Options of `openSession`. */
export interface SessionOptions<M> extends SessionSettings<M>, SessionPlaceOptions {
  /** 1 to 128 letters, digits, `_` and `-`. */
  readonly id: string;
  /** Where the texts go that are hidden from the model. Without it they are in the log only, and no handle is shown. */
  readonly store?: Store;
  /** Stores the turns there too: recent ones whole, masked ones with a placeholder. True if not given. */
  readonly recordTurns?: boolean;
  /** What happens to events that are no longer needed: `archive` (default) moves them to `events.archive.jsonl`. */
  readonly compaction?: 'archive' | 'discard' | 'off';
  /** That waits until so many bytes are no longer needed, and half of the log; 1 MiB if not given. */
  readonly compactAfterBytes?: number;
  /** `state.yaml` is written after so many events; 50 if not given. */
  readonly snapshotEvery?: number;
  /** Calls that nobody executes any more: answered with an error when the session is opened (default), or kept open. */
  readonly openCalls?: 'answer' | 'keep';
  /** Called when the context is nearly full, before the restart: the place to save what must not be forgotten. */
  readonly onWindDown?: (session: Session<M>) => Promise<void> | void;
  /** Told what went wrong without harm to the log, such as a snapshot that could not be written. Warns if not given. */
  readonly onProblem?: (problem: Error) => void;
  /** @internal A disk to stand in for the real one. */
  readonly disk?: Disk;
}

/** What a forced epoch of masks did. */
export interface MaskReport<M> extends Omit<MaskResult<M>, 'messages' | 'hidden'> {
  /** What would be sent now. */
  readonly messages: readonly M[];
}

/** How a session was found when it was opened. */
export interface Recovery {
  /** From the snapshot and what came after it, from the events alone, or there was nothing yet. */
  readonly from: 'snapshot' | 'events' | 'nothing';
  /** How many events were read. */
  readonly events: number;
  /** Bytes at the end that were never synced, such as half a line, and were cut off. */
  readonly tornBytes: number;
  /** Damaged lines that nobody acknowledged yet. They stay where they are, unless their batch was never synced. */
  readonly damagedLines: number;
  /** Acknowledged events that are missing, by sequence number. */
  readonly missing: readonly number[];
  /** Calls that a crash left open and that were answered. */
  readonly answeredCalls: number;
  /** Why the snapshot was not used, where there was one. */
  readonly snapshotProblem?: string;
}

/** Which events to read. */
export interface EventOptions {
  /** Only those after this one. */
  readonly afterSeq?: number;
  readonly types?: readonly SessionEvent['type'][];
}

/** A conversation that survives the process. Do not change a message that was added: the session has its own copy. */
export interface Session<M> {
  readonly id: string;
  /** The folder of this session; empty for one in a database. */
  readonly directory: string;
  readonly format: Format<M>;
  /** 1, and one more with each restart. */
  readonly number: number;
  /** How many replies since the last restart. */
  readonly turns: number;
  readonly status: SessionStatus;
  readonly recovery: Recovery;
  /** Its `recordUsage` is logged as `token_usage`, and recovered. */
  readonly manager: ContextManager<M>;
  /** Durable when it resolves. All of one call, in order. */
  add(...messages: readonly M[]): Promise<void>;
  /** Adds results right behind the reply that made the calls, though more was added meanwhile. Durable when it resolves. */
  answer(...results: readonly ToolResult[]): Promise<void>;
  /** The conversation since the last restart, results whole. Whole turns leave memory, never the task, never the log. */
  messages(): readonly M[];
  /** The messages as they would be sent now: results made smaller when they arrived, masked by the policy or by `mask`. */
  view(): readonly M[];
  /** The view within a budget. What it hides is stored, and its cut is in the log, when it resolves. */
  render(budget?: RenderOptions<M>): Promise<Rendered<M>>;
  /** Masks the oldest results now, whatever the policy would wait for; with `insideWindow`, also inside its window. */
  mask(count?: number, options?: MaskOptions): Promise<MaskReport<M>>;
  /** Begins the next session with what must not be forgotten. Throws where `maxRestarts` is reached. */
  restart(reason?: string): Promise<void>;
  /** What to add to the system prompt: empty in the first session, else that and why the model was restarted. */
  continuity(): string;
  /** Calls `onWindDown`. */
  windDown(): Promise<void>;
  /** Durable when it resolves. */
  log(event: LoggedEvent): Promise<void>;
  /** For what nobody awaits: durable after 10 of them, 100 ms, or the next `add`. */
  record(event: LoggedEvent): void;
  /** The whole log, archive included, oldest first. */
  events(options?: EventOptions): AsyncIterable<SessionEvent<M>>;
  /** Calls that got no result yet and wait for a person, as `approval_required` said. */
  pendingApprovals(): readonly { readonly callId: string; readonly tool: string; readonly arguments?: unknown }[];
  /** Begins an empty conversation. The log goes on. */
  reset(): Promise<void>;
  /** Ends the report of the damage that was found so far. The damaged lines stay where they are. Durable when it resolves. */
  acknowledgeDamage(): Promise<void>;
  /** Takes what is no longer needed out of `events.jsonl` now. It does so by itself when half of it is. */
  compact(): Promise<void>;
  /** Writes all that is waiting, and a snapshot, and lets others open the session. */
  close(): Promise<void>;
}

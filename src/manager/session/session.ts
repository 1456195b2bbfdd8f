import type { Format } from '../../message.ts';
import type { Disk } from '../../store/embedded/disk.ts';
import type { Store } from '../../store/store.ts';
import type { Rendered, RenderOptions } from '../budget/render-with-budget.ts';
import type { MaskOptions, MaskResult } from '../context/context-action.ts';
import type { ContextManager } from '../context/context-manager.ts';
import type { ToolResult } from '../tool-call.ts';
import type { SessionPlaceOptions } from './find-place.ts';
import type { LoggedEvent, SessionEvent, SessionStatus } from './session-event.ts';
import type { SessionSettings } from './session-settings.ts';

export type * from './session-event.ts';

/** Options of `openSession`. */
export interface SessionOptions<M> extends SessionSettings<M>, SessionPlaceOptions {
  /** 1 to 128 letters, digits, `_` and `-`. */
  readonly id: string;
  /**
   * The store for texts that are hidden from the model. Without a store they are in the log only, and no handle is
   * shown. @default none
   */
  readonly store?: Store;
  /** Also puts the turns into the store: recent turns whole, masked turns with a placeholder. @default true */
  readonly recordTurns?: boolean;
  /**
   * How events that are no longer needed are removed: `archive` moves them to `events.archive.jsonl`. @default
   * 'archive'
   */
  readonly compaction?: 'archive' | 'discard' | 'off';
  /** Compaction starts when this many bytes, and half of the log, are no longer needed. @default 1048576 */
  readonly compactAfterBytes?: number;
  /** `state.yaml` is written every this many events. @default 50 */
  readonly snapshotEvery?: number;
  /**
   * Calls that a crash left without a result: answered with an error when the session is opened, or kept open.
   * @default 'answer'
   */
  readonly openCalls?: 'answer' | 'keep';
  /**
   * Called before a restart, when the context is nearly full. Save everything that must not be lost here. @default
   * none
   */
  readonly onWindDown?: (session: Session<M>) => Promise<void> | void;
  /** Called with problems that do not harm the log, such as a failed snapshot. @default a warning on the console */
  readonly onProblem?: (problem: Error) => void;
  /** @internal Replaces the real disk. */
  readonly disk?: Disk;
}

/** The result of `mask`. */
export interface MaskReport<M> extends Omit<MaskResult<M>, 'messages' | 'hidden'> {
  /** The messages that would be sent now. */
  readonly messages: readonly M[];
}

/** How a session was found when it was opened. */
export interface Recovery {
  /** The source: the snapshot and later events, the events alone, or nothing because the session is new. */
  readonly from: 'snapshot' | 'events' | 'nothing';
  /** How many events were read. */
  readonly events: number;
  /** Bytes that were cut off at the end because they were never synced, such as half a line. */
  readonly tornBytes: number;
  /** Damaged lines that were not acknowledged yet. They stay in the log, unless their batch was never synced. */
  readonly damagedLines: number;
  /** Acknowledged events that are missing, by sequence number. */
  readonly missing: readonly number[];
  /** Calls that a crash left open and that were answered. */
  readonly answeredCalls: number;
  /** Why an existing snapshot was not used. */
  readonly snapshotProblem?: string;
}

/** Which events to read. */
export interface EventOptions {
  /** Only events after this sequence number. @default 0 */
  readonly afterSeq?: number;
  /** Only events of these types. @default all */
  readonly types?: readonly SessionEvent['type'][];
}

/**
 * A conversation that survives the process. The session keeps its own copy of each message: do not change a message after adding
 * it.
 */
export interface Session<M> {
  /** The id that `openSession` was given. */
  readonly id: string;
  /** The folder of this session; empty for one in a database. */
  readonly directory: string;
  /** The format of its messages. */
  readonly format: Format<M>;
  /** 1, and one more with each restart. */
  readonly number: number;
  /** The number of replies since the last restart. */
  readonly turns: number;
  /** `active`, `paused` or `completed`. */
  readonly status: SessionStatus;
  /** The source of its state, and damage that was found when it was opened. */
  readonly recovery: Recovery;
  /** The manager of this session. Its `recordUsage` is logged as `token_usage` and survives a crash. */
  readonly manager: ContextManager<M>;
  /** Adds messages in order. They are durable when the promise resolves. */
  add(...messages: readonly M[]): Promise<void>;
  /** Adds results right after the reply that made the calls, even if more messages were added since. Durable when it resolves. */
  answer(...results: readonly ToolResult[]): Promise<void>;
  /**
   * The conversation since the last restart, with whole results. Old turns may leave memory, but never the task and never the
   * log.
   */
  messages(): readonly M[];
  /** The messages as they would be sent now: results made smaller when they arrived, masked by the policy or by `mask`. */
  view(): readonly M[];
  /** The view within a budget. When it resolves, the hidden texts are stored and the cut is in the log. */
  render(budget?: RenderOptions<M>): Promise<Rendered<M>>;
  /** Masks the oldest results now, without waiting for the policy. `insideWindow` also masks results inside its window. */
  mask(count?: number, options?: MaskOptions): Promise<MaskReport<M>>;
  /** Begins the next session with everything that must not be lost. Throws if `maxRestarts` is reached. */
  restart(reason?: string): Promise<void>;
  /** Text to add to the system prompt. Empty in the first session; later it says that the model was restarted, and why. */
  continuity(): string;
  /** Calls `onWindDown`. */
  windDown(): Promise<void>;
  /** Adds an event to the log. It is durable when the promise resolves. */
  log(event: LoggedEvent): Promise<void>;
  /** Adds an event without waiting. It is durable after 10 such events, 100 ms, or the next `add`. */
  record(event: LoggedEvent): void;
  /** The whole log, archive included, oldest first. */
  events(options?: EventOptions): AsyncIterable<SessionEvent<M>>;
  /** Calls without a result that wait for a person, as `approval_required` said. */
  pendingApprovals(): readonly { readonly callId: string; readonly tool: string; readonly arguments?: unknown }[];
  /** Decisions about calls that were not made yet, because another call of the same reply waits. `resumeAgent` uses them. */
  decidedApprovals(): readonly { readonly callId: string; readonly approved: boolean; readonly reason?: string }[];
  /** Begins an empty conversation. The log is kept. */
  reset(): Promise<void>;
  /** Stops reporting the damage that was found so far. The damaged lines stay in the log. Durable when it resolves. */
  acknowledgeDamage(): Promise<void>;
  /**
   * Removes events that are no longer needed from `events.jsonl` now. This also happens on its own when they are half of the log.
   */
  compact(): Promise<void>;
  /** Writes all pending events and a snapshot. Then other processes can open the session. */
  close(): Promise<void>;
}

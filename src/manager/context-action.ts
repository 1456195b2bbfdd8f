import type { Hidden } from '../plan/ledger/hidden.ts';

/** The next step for the reader. */
export type ContextAction<M> =
  | { readonly type: 'continue'; readonly because?: 'nothing-to-mask' | 'too-little-to-mask' }
  /** Mask so many results: `maskOldest(count)`. */
  | { readonly type: 'mask'; readonly count: number }
  /** Tell the model to save its state. */
  | { readonly type: 'wind-down'; readonly notice: string }
  /** Start the next session with these messages: `restart()`. Undefined where the manager was given no messages. */
  | { readonly type: 'restart'; readonly carryover: readonly M[] | undefined }
  /** The window is full, and `maxRestarts` is reached. */
  | { readonly type: 'context-full'; readonly because: 'max-restarts' };

/** How far `maskOldest` may go. */
export interface MaskOptions {
  /** Results inside the policy's window may go too, but never the newest turn's. */
  readonly insideWindow?: boolean;
}

/** What `maskOldest` did. */
export interface MaskResult<M> {
  /** What would be sent now. */
  readonly messages: M[];
  /** How many results were masked now, and in this session so far. */
  readonly masked: number;
  /** In this session so far. */
  readonly total: number;
  /** To be told to the model; undefined where nothing was masked. */
  readonly notice: string | undefined;
  /** How much of the window that freed, in percent. */
  readonly reclaimedPct: number;
  /** What the messages hide, to be stored. */
  readonly hidden: readonly Hidden[];
}

/** How large a request would be, before it is sent. */
export interface Preflight {
  /** Estimated, corrected by what the provider counted before. */
  readonly tokens: number;
  /** The same as a share of the limit, in percent. */
  readonly usagePct: number;
  /** Whether it fits into the window. */
  readonly fits: boolean;
}

/** How a session goes on after a restart. */
export interface Restart<M> {
  /** The number of the new session. */
  readonly sessionNumber: number;
  /** The task and the last turns. */
  readonly carryover: readonly M[];
  /** To be told to the model behind them. */
  readonly notice: string;
}

import type { Hidden } from '../../plan/ledger/hidden.ts';

/** The next step of the caller. */
export type ContextAction<M> =
  /** Send the request. `because` says why nothing is masked above the soft threshold. */
  | { readonly type: 'continue'; readonly because?: 'nothing-to-mask' | 'too-little-to-mask' }
  /** Mask this many results: `maskOldest(count)`. */
  | { readonly type: 'mask'; readonly count: number }
  /** Tell the model to save its state. */
  | { readonly type: 'wind-down'; readonly notice: string }
  /** Start the next session with these messages: `restart()`. Undefined if the manager has no messages. */
  | { readonly type: 'restart'; readonly carryover: readonly M[] | undefined }
  /** The window is full, and `maxRestarts` is reached. */
  | { readonly type: 'context-full'; readonly because: 'max-restarts' };

/** How far `maskOldest` may go. */
export interface MaskOptions {
  /** Results inside the policy's window may go too, but never the newest turn's. @default false */
  readonly insideWindow?: boolean;
}

/** The result of `maskOldest`. */
export interface MaskResult<M> {
  /** The messages that would be sent now. */
  readonly messages: M[];
  /** The number of results that this call masked. */
  readonly masked: number;
  /** The number of results that are masked in this session so far. */
  readonly total: number;
  /** The notice for the model. Undefined if nothing was masked. */
  readonly notice: string | undefined;
  /** The share of the window that this freed, in percent. */
  readonly reclaimedPct: number;
  /** The hidden texts. Store them. */
  readonly hidden: readonly Hidden[];
}

/** How large a request would be, before it is sent. */
export interface Preflight {
  /** The estimate, corrected by the provider's earlier counts. */
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
  /** The notice for the model, after these messages. */
  readonly notice: string;
  /** With `recall: true`, the originals of texts that were cut to carry them over. Store them. */
  readonly hidden: readonly Hidden[];
}

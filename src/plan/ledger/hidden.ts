import type { Why } from './rows.ts';

/** A text that was removed from the history. */
export interface Hidden {
  /** Empty if no function for handles was given. */
  readonly handle: string;
  /** The text itself. */
  readonly text: string;
  /** The reason: a mask, a cut, a summary. */
  readonly why: Why | 'summarize' | 'drop';
  /** The turn it belongs to. */
  readonly turn: number;
  /** The tool, for results. */
  readonly tool?: string | undefined;
  /** The call, for results. */
  readonly callId?: string | undefined;
}

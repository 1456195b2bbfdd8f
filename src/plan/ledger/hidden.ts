import type { Why } from './rows.ts';

/** Something that was taken out of the history. */
export interface Hidden {
  /** Empty where no way to name texts was given. */
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

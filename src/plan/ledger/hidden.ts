import type { Why } from './rows.ts';

/** Something that was taken out of the history. */
export interface Hidden {
  /** Empty where no way to name texts was given. */
  readonly handle: string;
  readonly text: string;
  readonly why: Why | 'summarize' | 'drop';
  readonly turn: number;
  readonly tool?: string | undefined;
  readonly callId?: string | undefined;
}

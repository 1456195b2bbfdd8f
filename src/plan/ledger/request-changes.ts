import type { Notes } from '../notes.ts';
import type { Ledger } from './ledger.ts';
import type { Move } from './questions.ts';
import type { Result, ResultState, Turn } from './rows.ts';
import type { ShortCall } from './short-call.ts';

/** A result, and its state before a request changed it. */
export interface ResultChange extends ResultState {
  readonly result: Result;
  readonly sentText: string;
}

/** The turns and notes that were sent before. */
export interface Shape {
  readonly rows: Turn[];
  readonly observations: Result[];
  readonly notes: Notes;
  /** The place of the summary. */
  readonly summarySlot: number;
  /** Questions that moved from a turn to the next, with the old border. */
  readonly moved: Move[];
}

type Counted = 'maskedCount' | 'maskedChars' | 'requestTokens' | 'frontier' | 'firstEdited' | 'summaryAuthor';

/** Counters of the ledger before a request, and the number of hidden texts. */
export type Counts = Pick<Ledger<unknown>, Counted> & { readonly hidden: number };

/** The earlier state of everything that the current request changed, so that the ledger can undo it. */
export class RequestChanges {
  results: ResultChange[] = [];
  /** Calls whose arguments it shortened. */
  calls: ShortCall[] = [];
  /** Undefined while turns and notes are unchanged. */
  shape: Shape | undefined;
  /** Undefined before the first request. */
  counts: Counts | undefined;

  begin(counts: Counts): void {
    this.clear();
    this.counts = counts;
  }

  clear(): void {
    this.results = [];
    this.calls = [];
    this.shape = undefined;
  }

  add(result: Result): void {
    const { text, tokens, masked, why, handle, sentText } = result;
    const change = { result, text, tokens, masked, why, handle, sentText };
    // Most requests change at most one result. V8 reserves seventeen places for the first push to an empty list.
    if (this.results.length === 0) this.results = [change];
    else this.results.push(change);
  }

  /** Marks the current texts as sent. */
  commit(): void {
    for (const { result } of this.results) result.sentText = result.text;
  }

  /** The first message with a changed result. The last turn does not count: it is sent for the first time. */
  firstMessage(last: Turn): number {
    let first = Number.POSITIVE_INFINITY;
    for (const { result } of this.results) if (result.row !== last) first = Math.min(first, result.original.message);
    return first;
  }
}

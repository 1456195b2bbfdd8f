import type { Notes } from '../notes.ts';
import type { Ledger } from './ledger.ts';
import type { Move } from './questions.ts';
import type { Result, ResultState, Turn } from './rows.ts';
import type { ShortCall } from './short-call.ts';

/** A result, and what it was before a request changed it. */
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
  /** Questions that moved from a turn to the next, and where the border was. */
  readonly moved: Move[];
}

type Counted = 'maskedCount' | 'maskedChars' | 'requestTokens' | 'frontier' | 'firstEdited' | 'summaryAuthor';

/** Fields of the ledger that go up while a request is decided, and how many texts were hidden before it. */
export type Counts = Pick<Ledger<unknown>, Counted> & { readonly hidden: number };

/** Everything that the present request changed, as it was before, so that the ledger can take it back. */
export class RequestChanges {
  results: ResultChange[] = [];
  /** Calls whose arguments it made shorter. */
  calls: ShortCall[] = [];
  /** Undefined while the request has left the turns and notes as they were. */
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
    // Most requests change one result or none: a list that begins empty takes room for seventeen.
    if (this.results.length === 0) this.results = [change];
    else this.results.push(change);
  }

  /** The texts as they are now count as sent. */
  commit(): void {
    for (const { result } of this.results) result.sentText = result.text;
  }

  /** The first message with a changed result, outside the last turn: that one is sent for the first time. */
  firstMessage(last: Turn): number {
    let first = Number.POSITIVE_INFINITY;
    for (const { result } of this.results) if (result.row !== last) first = Math.min(first, result.original.message);
    return first;
  }
}

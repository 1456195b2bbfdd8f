import type { DropEdit, ReplaceEdit } from '../../message.ts';
import type { Result, Why } from './result.ts';
import type { SentTurns } from './sent-turns.ts';
import type { Turn } from './turn.ts';

/** The edit of a result is made once: every later call answers it again. */
export function toEdit(result: Result): ReplaceEdit {
  const { segment, text, handle } = result;
  const why = result.why as Why;
  result.edit ??= Object.freeze<ReplaceEdit>(
    handle === undefined ? { kind: 'replace', segment, text, why } : { kind: 'replace', segment, text, why, handle },
  );
  return result.edit;
}

/** Drops some messages, and all that are between the turns. */
export function toDrops(rows: readonly Turn[], messages: readonly number[]): DropEdit[] {
  const drop = (from: number, to: number): DropEdit => Object.freeze({ kind: 'drop', from, to });
  const drops = messages.map((index) => drop(index, index + 1));
  let next = 0;
  for (const { from, to } of rows) {
    if (next < from) drops.push(drop(next, from));
    next = to;
  }
  return drops;
}

/** The edits that were made since the caller asked for new ones. */
export class NewEdits {
  /** Turns or notes were changed. */
  isReshaped = false;
  #results: Result[] = [];

  add(result: Result): void {
    this.#results.push(result);
  }

  /** Forgets the results that are left out for good. */
  keepSent(turns: SentTurns): void {
    this.#results = this.#results.filter((result) => turns.isSent(result));
  }

  /** The edits of results. Turns that are left out keep theirs, since the request that left them out can be taken back. */
  take(turns: SentTurns): ReplaceEdit[] {
    const changed = this.#results.filter(({ why, text, reported }) => why !== undefined && text !== reported);
    const sent = changed.filter((result) => turns.isSent(result));
    for (const result of sent) result.reported = result.text;
    this.#results = changed.filter((result) => !turns.isSent(result));
    this.isReshaped = false;
    return sent.map(toEdit);
  }
}

import type { DropEdit, ReplaceEdit } from '../../message.ts';
import type { Result, Turn, Why } from './rows.ts';

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

import type { Plan } from '../message.ts';
import { isPlaceholder } from './idempotent.ts';

/**
 * Law 8, stable prefix: the plan for a longer history extends the plan for the shorter one.
 * A masked result keeps its bytes or is dropped with its turn; dropped messages stay dropped.
 */
export function extendsPlan(earlier: Plan, later: Plan, messageOf: (segment: number) => number): boolean {
  const dropped = (message: number): boolean =>
    later.edits.some((edit) => edit.kind === 'drop' && edit.from <= message && message < edit.to);
  const replaced = new Map(
    later.edits.flatMap((edit) => (edit.kind === 'replace' ? [[edit.segment, edit] as const] : [])),
  );
  return earlier.edits.every((edit) => {
    if (edit.kind === 'insert') return true;
    if (edit.kind === 'drop') return range(edit.from, edit.to).every(dropped);
    if (dropped(messageOf(edit.segment))) return true;
    const now = replaced.get(edit.segment);
    // A clipped result may be cut further. That adds a cut and removes none.
    return now !== undefined && (now.text === edit.text || !isPlaceholder(edit.text));
  });
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);

import type { Item } from '../../formats/items.ts';
import { isListEdit, restructure } from '../../formats/lens.ts';
import { openaiAgents } from '../../formats/openai-agents.ts';
import type { Segment } from '../../message.ts';
import type { FittedStep } from '../adapter.ts';
import type { SessionItems } from './session-items.ts';

interface Input {
  /** The objects that the filter got. */
  readonly items: readonly Item[];
  readonly segments: readonly Segment[];
}

/** The fitted items. The runner identifies items by the objects that the filter got, so unchanged items stay the same objects. */
export function toInput(
  { items, segments }: Input,
  { messages, plan }: FittedStep<Item>,
  known?: SessionItems,
): Item[] {
  const given = new Set(items);
  const replaced = plan.edits.flatMap((edit) => (edit.kind === 'replace' ? [segments[edit.segment]] : []));
  const edited = new Set(replaced.map((segment) => segment && items[segment.message]));
  known?.send(items, { hasDropped: plan.edits.some(({ kind }) => kind === 'drop') });
  return restructure(openaiAgents, items, plan.edits.filter(isListEdit)).map((source, index) => {
    if (given.has(source) && !edited.has(source)) return source;
    const item = messages[index] as Item;
    known?.replace(given.has(source) ? source : undefined, item);
    return item;
  });
}

import type { Item } from '../../formats/items.ts';
import { isListEdit, restructure } from '../../formats/lens.ts';
import { openaiAgents } from '../../formats/openai-agents.ts';
import type { Segment } from '../../message.ts';
import type { FitResult } from '../../plan/fit.ts';
import type { SentItems } from './sent-items.ts';

interface Input {
  /** The objects that the filter got. */
  readonly items: readonly Item[];
  /** A copy of each, which was fitted. */
  readonly originals: readonly Item[];
  readonly segments: readonly Segment[];
}

/**
 * The fitted items, written into the objects that the filter got. The runner knows its items by these objects: for any other
 * object it takes the first item that is missing as the source, and may save the one in the place of the other.
 */
export function intoInput(
  { items, originals, segments }: Input,
  { messages, plan }: FitResult<Item>,
  sent?: SentItems,
): Item[] {
  const objects = new Map(originals.map((original, index) => [original, items[index]]));
  const sources = restructure(openaiAgents, originals, plan.edits.filter(isListEdit));
  const kept = new Set(sources);
  const dropped = originals.filter((original) => !kept.has(original));
  const replaced = plan.edits.flatMap((edit) => (edit.kind === 'replace' ? [segments[edit.segment]] : []));
  const edited = new Set(replaced.map((segment) => segment && originals[segment.message]));
  return sources.map((source, index) => {
    const isNote = !objects.has(source);
    // A note takes the object of an item that was dropped.
    const original = isNote ? dropped.shift() : source;
    const object = (original && objects.get(original)) ?? {};
    const item = overwrite(object, messages[index] as Item);
    if (isNote || edited.has(source)) sent?.add(item, original);
    return item;
  });
}

function overwrite(item: Item, fitted: Item): Item {
  for (const name of Object.keys(item)) if (!Object.hasOwn(fitted, name)) delete item[name as keyof Item];
  return Object.assign(item, fitted);
}

import type { Item } from '../../formats/items.ts';
import { isRecord } from '../../formats/lens.ts';
import type { SessionItems } from './session-items.ts';

/** The parts of a session of the SDK that are used here. */
export interface AgentSession {
  getSessionId(): Promise<string>;
  addItems(items: never[]): Promise<void>;
  prepareHistoryItemForModelInput?(item: never): object;
}

/** The methods of all sorts of sessions that get items to keep. */
const SAVING = new Set<string | symbol>([
  'addItems',
  'addItemsWithCompactionOwnership',
  'applyHistoryTransaction',
  'replaceHistoryWithCompaction',
]);

/** The methods with which a run reads all items. */
const READING = new Set<string | symbol>(['getItems', 'getItemsWithCompactionOwnership']);

/** The session, which saves originals in place of the sent items. Everything else is unchanged. */
export function withOriginals<S extends AgentSession>(session: S, known: SessionItems): S {
  const asSent = (item: Item): Item => session.prepareHistoryItemForModelInput?.(item as never) ?? item;
  return new Proxy(session, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      const method = value.bind(target);
      if (SAVING.has(name)) return (saved: unknown, ...others: unknown[]) => method(toSave(saved, known), ...others);
      if (!READING.has(name)) return method;
      return async (...args: unknown[]) => {
        const read: unknown = await method(...args);
        const items = isRecord(read) && 'items' in read ? read.items : read;
        // A number asks for the last items only.
        if (Array.isArray(items) && typeof args[0] !== 'number') known.read(items.map(asSent));
        return read;
      };
    },
  });
}

/** A list of items, or a transaction that holds such lists. */
function toSave(saved: unknown, known: SessionItems): unknown {
  if (Array.isArray(saved)) return known.save(saved as Item[]);
  if (!isRecord(saved)) return saved;
  return Object.fromEntries(Object.entries(saved).map(([name, value]) => [name, toSave(value, known)]));
}

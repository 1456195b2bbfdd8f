import { isRecord } from '../../formats/lens.ts';
import type { SentItems } from './sent-items.ts';

/** The parts of a session of the SDK that are used here. */
export interface AgentSession {
  getSessionId(): Promise<string>;
  addItems(items: never[]): Promise<void>;
}

/** The methods of all sorts of sessions that get items to keep. */
const SAVING = new Set<string | symbol>([
  'addItems',
  'addItemsWithCompactionOwnership',
  'applyHistoryTransaction',
  'replaceHistoryWithCompaction',
]);

/** The session, with originals in the place of what was sent. All else is the session's own. */
export function withOriginals<S extends object>(session: S, sent: SentItems): S {
  return new Proxy(session, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (!SAVING.has(name)) return value.bind(target);
      return (saved: unknown, ...others: unknown[]) => value.call(target, restoredIn(saved, sent), ...others);
    },
  });
}

/** A list of items, or a transaction that holds such lists. */
function restoredIn(saved: unknown, sent: SentItems): unknown {
  if (Array.isArray(saved)) return sent.restore(saved);
  if (!isRecord(saved)) return saved;
  return Object.fromEntries(Object.entries(saved).map(([name, value]) => [name, restoredIn(value, sent)]));
}

import type { Hidden } from '../../../plan/ledger/hidden.ts';
import type { Store } from '../../../store/store.ts';
import type { TurnStore } from '../../../store/turn-writer.ts';
import type { Conversation } from '../conversation/conversation.ts';

/** The store for the hidden texts of a session. */
export interface HiddenStore {
  readonly id: string;
  readonly store: (Pick<Store, 'putMany'> & Partial<TurnStore & Pick<Store, 'touch'>>) | undefined;
}

interface Storing {
  /** The handles of stored texts. Updated by this function. */
  readonly stored: Set<string>;
  readonly rendered?: readonly Hidden[];
  /** Stores nothing while fewer characters are pending. */
  readonly atLeastChars?: number;
}

/** Stores hidden texts that are not stored yet, before their handles are shown. */
export async function storeHidden<M>(
  { store, id }: HiddenStore,
  conversation: Conversation<M>,
  { stored, rendered = [], atLeastChars = 0 }: Storing,
): Promise<void> {
  if (!store) return conversation.view.forgetHidden(() => true);
  const all = (): Hidden[] => [...conversation.view.hidden, ...rendered];
  const fresh = (): Hidden[] => all().filter(({ handle }) => !stored.has(handle));
  if (atLeastChars > 0 && fresh().reduce((sum, { text }) => sum + text.length, 0) < atLeastChars) return;
  // A request that needs nothing stored goes out even if `touch` fails. The next request tries again.
  if (atLeastChars === 0 && fresh().length === 0) await store.touch?.(id).catch(() => {});
  // More texts may be hidden while the store writes.
  for (let items = fresh(); items.length > 0; items = fresh()) {
    await store.putMany(items.map((hidden) => toStoredText(hidden, id)));
    for (const { handle } of items) stored.add(handle);
  }
  conversation.view.forgetHidden(({ handle }) => stored.has(handle));
  const known = new Set(all().map(({ handle }) => handle));
  for (const handle of stored) if (!known.has(handle)) stored.delete(handle);
}

export function toStoredText({ text, turn, tool }: Hidden, session: string) {
  return { text, about: { session, turn, ...(tool === undefined ? {} : { tool }) } };
}

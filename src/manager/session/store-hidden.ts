import type { Hidden } from '../../plan/ledger/hidden.ts';
import type { Store } from '../../store/store.ts';
import type { TurnStore } from '../../store/turn-writer.ts';
import type { Conversation } from './conversation.ts';

/** Where the texts of a session go that are hidden. */
export interface HiddenStore {
  readonly id: string;
  readonly store: (Pick<Store, 'putMany'> & Partial<TurnStore & Pick<Store, 'touch'>>) | undefined;
}

export interface Storing {
  /** What is known to be stored: kept up to date. */
  readonly stored: Set<string>;
  readonly rendered?: readonly Hidden[];
  /** Less than so much waits. */
  readonly atLeastChars?: number;
}

/** Puts what is hidden and not yet stored into the store: before anybody is shown its handle. */
export async function storeHidden<M>(
  { store, id }: HiddenStore,
  conversation: Conversation<M>,
  { stored, rendered = [], atLeastChars = 0 }: Storing,
): Promise<void> {
  if (!store) return conversation.view.forgetHidden(() => true);
  const all = (): Hidden[] => [...conversation.view.hidden, ...rendered];
  const fresh = (): Hidden[] => all().filter(({ handle }) => !stored.has(handle));
  if (atLeastChars > 0 && fresh().reduce((sum, { text }) => sum + text.length, 0) < atLeastChars) return;
  // A store that fails here keeps nobody from a request that needs nothing stored. The next one tries again.
  if (atLeastChars === 0 && fresh().length === 0) await store.touch?.(id).catch(() => {});
  // More may be hidden meanwhile.
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

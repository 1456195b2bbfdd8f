import { sessionLimits } from '../../limits.ts';
import type { Hidden } from '../../plan/ledger/hidden.ts';
import { isArrival } from '../../plan/ledger/rows.ts';
import type { Conversation } from './conversation.ts';
import { type HiddenStore, toStoredText } from './store-hidden.ts';

/**
 * Stores the originals of results that were made smaller, before they go out. Answers why it could not, or not in time: then
 * they must go out whole.
 */
export async function storeShaped<M>(
  { store, id }: HiddenStore,
  conversation: Conversation<M>,
  stored: Set<string>,
): Promise<Error | undefined> {
  const fresh = unstoredShaped(conversation, stored);
  if (!store || fresh.length === 0) return undefined;
  try {
    await inTime(store.putMany(fresh.map((hidden) => toStoredText(hidden, id))));
  } catch (error) {
    return error as Error;
  }
  for (const { handle } of fresh) stored.add(handle);
  return undefined;
}

/** A result that is cut must be: it is stored with the masks, and no request goes out before that. */
export const unstoredShaped = <M>({ view }: Conversation<M>, stored: ReadonlySet<string>): Hidden[] =>
  view.hidden.filter(({ handle, why }) => isShaped(why) && !stored.has(handle));

const isShaped = (why: Hidden['why']): boolean =>
  why !== 'summarize' && why !== 'drop' && why !== 'truncate' && isArrival(why);

async function inTime(storing: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const { storeWaitMs } = sessionLimits;
    const error = new Error(`the store took longer than ${storeWaitMs} ms`);
    timer = setTimeout(() => reject(error), storeWaitMs);
  });
  try {
    await Promise.race([storing, late]);
  } finally {
    clearTimeout(timer);
  }
}

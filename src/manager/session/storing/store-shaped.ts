import { sessionLimits } from '../../../limits.ts';
import type { Hidden } from '../../../plan/ledger/hidden.ts';
import { isArrival } from '../../../plan/ledger/rows.ts';
import { inTime } from '../../../store/in-time.ts';
import type { Conversation } from '../conversation/conversation.ts';
import { type HiddenStore, toStoredText } from './store-hidden.ts';

/**
 * Stores the originals of results that were made smaller, before they are sent. Answers the error if storing fails or takes too
 * long: then these results must be sent whole.
 */
export async function storeShaped<M>(
  { store, id }: HiddenStore,
  conversation: Conversation<M>,
  stored: Set<string>,
): Promise<Error | undefined> {
  const fresh = unstoredShaped(conversation, stored);
  if (!store || fresh.length === 0) return undefined;
  try {
    const { storeWaitMs } = sessionLimits;
    await inTime(store.putMany(fresh.map((hidden) => toStoredText(hidden, id))), storeWaitMs, () => {
      throw new Error(`the store took longer than ${storeWaitMs} ms`);
    });
  } catch (error) {
    return error as Error;
  }
  for (const { handle } of fresh) stored.add(handle);
  return undefined;
}

/**
 * The hidden originals that are not stored yet. Cut results are not among them: they are stored with the masks, before any
 * request.
 */
export const unstoredShaped = <M>({ view }: Conversation<M>, stored: ReadonlySet<string>): Hidden[] =>
  view.hidden.filter(({ handle, why }) => isShaped(why) && !stored.has(handle));

const isShaped = (why: Hidden['why']): boolean =>
  why !== 'summarize' && why !== 'drop' && why !== 'truncate' && isArrival(why);

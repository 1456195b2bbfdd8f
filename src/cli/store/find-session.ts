import { sessionOf } from '../../store/access.ts';
import type { Store } from '../../store/store.ts';

/**
 * The name in the store of a session that a user names. A gateway shows an id in its log and on its page, and keeps the texts under `g-` and
 * that id.
 */
export async function findSession(store: Store, session: string): Promise<string> {
  const ofGateway = sessionOf(session);
  const isOfGateway = !(await hasTexts(store, session)) && (await hasTexts(store, ofGateway));
  return isOfGateway ? ofGateway : session;
}

async function hasTexts(store: Store, session: string): Promise<boolean> {
  for await (const _ of store.list(session)) return true;
  for await (const _ of store.turns(session)) return true;
  return false;
}

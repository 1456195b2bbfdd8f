import { badOption } from '../options.ts';
import { type FitOptions, type FitResult, fit } from '../plan/fit.ts';
import type { Hidden } from '../plan/ledger.ts';
import { handleOf } from './handle.ts';
import { checkSession, type Store } from './store.ts';

/** Options of `fitAndStore`: those of `fit`, and where to keep what is hidden. */
export interface FitAndStoreOptions extends Omit<FitOptions, 'handleOf' | 'recall'> {
  readonly store: Pick<Store, 'putMany'>;
  /** The conversation, so that its texts can be listed, searched and deleted together. */
  readonly session?: string;
}

/**
 * Fits a history, and keeps what it hides: when it resolves, everything that its placeholders name can be recalled, also
 * after a crash. If the store fails, so does this, and nothing was sent.
 */
export async function fitAndStore<M>(messages: readonly M[], options: FitAndStoreOptions): Promise<FitResult<M>> {
  const { store, session, ...rest } = options ?? {};
  if (typeof store?.putMany !== 'function') throw badOption('fitAndStore option store', 'a store', store);
  if (session !== undefined) checkSession(session);
  const fitted = fit(messages, { ...rest, handleOf, recall: true });
  const known = knownTo(store, session ?? '');
  const fresh = fitted.hidden.filter(({ handle }) => !known.has(handle));
  if (fresh.length > 0)
    await store.putMany(fresh.map((hidden) => ({ text: hidden.text, about: aboutOf(hidden, session) })));
  for (const { handle } of fresh) known.add(handle);
  return fitted;
}

function aboutOf({ turn, tool }: Hidden, session: string | undefined) {
  return { turn, ...(session === undefined ? {} : { session }), ...(tool === undefined ? {} : { tool }) };
}

/** A conversation hides the same texts on every call: what a store has acknowledged is not put again. */
const acknowledged = new WeakMap<object, Map<string, Set<string>>>();
const MOST_SESSIONS = 1000;

function knownTo(store: object, session: string): Set<string> {
  const sessions = acknowledged.get(store) ?? new Map<string, Set<string>>();
  acknowledged.set(store, sessions);
  if (sessions.size > MOST_SESSIONS) sessions.clear();
  const known = sessions.get(session) ?? new Set<string>();
  sessions.set(session, known);
  return known;
}

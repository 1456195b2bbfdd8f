import { PalimpsestError } from '../errors.ts';
import { isHandle, type Reference, type Store, type Stored } from '../store/store.ts';

/** Where a caller may look: a handle of its own context opens the sessions that hold it, a pin leaves only one. */
export interface Scope {
  readonly sessions: readonly string[];
  /** The handle that opened it. */
  readonly handle?: string;
}

export interface ScopeRequest {
  readonly handle?: string | undefined;
  readonly pinned?: string | undefined;
}

/** Throws where neither a handle nor a pin opens anything. What lies outside is not told from what is not there. */
export async function openScope(store: Store, { handle, pinned }: ScopeRequest): Promise<Scope> {
  if (handle === undefined) {
    if (pinned !== undefined) return { sessions: [pinned] };
    throw new PalimpsestError('BAD_INPUT', `Expected a handle: ${WHY_A_HANDLE}`);
  }
  const held = sessionsOf(await store.get(checkHandle(handle)));
  const sessions = pinned === undefined ? held : held.filter((session) => session === pinned);
  if (sessions.length > 0) return { sessions, handle };
  throw new PalimpsestError('BAD_INPUT', `${handle} opens no session here. ${CHECK_HANDLE}`);
}

/** The handle, if it is one: what else a model may put there is told in words. */
export function checkHandle(handle: string): string {
  if (isHandle(handle)) return handle;
  throw new PalimpsestError(
    'BAD_INPUT',
    `Expected a handle (p_ and 26 lower-case letters and digits) but found '${handle.slice(0, 60)}'. ${CHECK_HANDLE}`,
  );
}

export const CHECK_HANDLE = 'Copy a handle exactly as a placeholder in your context shows it.';

const WHY_A_HANDLE =
  'it shows which conversation is yours. Take any p_… from a placeholder in your context; if there is none, nothing of it was masked.';

function sessionsOf(stored: Stored | undefined): string[] {
  return [...new Set((stored?.refs ?? []).flatMap(({ session }) => session ?? []))];
}

/** Where a text was hidden, as far as the caller may know. */
export function refsInScope(refs: readonly Reference[], { sessions }: Scope): Reference[] {
  return refs.filter(({ session }) => session !== undefined && sessions.includes(session));
}

import { createHmac } from 'node:crypto';
import { PalimpsestError } from '../errors.ts';
import { isHandle, type Reference, type Store, type Stored } from './store.ts';

/** How a caller proves which conversations it may list and search. Without any of the three it may only recall. */
export interface Caller {
  /** This session, and no other. */
  readonly session?: string | undefined;
  /** The provider's key or token: conversations that a gateway forwarded with it. */
  readonly credential?: string | undefined;
  /** The store has one user, who may see every session in it. */
  readonly wholeStore?: boolean | undefined;
}

/** The sessions that a call lists and searches. */
export interface Scope {
  readonly sessions: readonly string[];
}

/**
 * Opens the sessions that a caller may see and that hold the handle. A handle is a hash of its text, so everyone who knows a public
 * text can compute it. It only selects among the caller's own sessions. A session that the caller may not see is answered like one
 * that does not exist.
 */
export async function openScope(store: Store, caller: Caller, handle?: string): Promise<Scope> {
  checkMayList(caller);
  if (handle === undefined) {
    if (caller.session !== undefined) return { sessions: [caller.session] };
    throw new PalimpsestError('BAD_INPUT', `Expected a handle: ${WHY_A_HANDLE}`);
  }
  const held = sessionsOf(await store.get(checkHandle(handle)));
  const sessions = await visibleOf(store, caller, held);
  if (sessions.length > 0) return { sessions };
  throw new PalimpsestError('BAD_INPUT', `${handle} opens no session here. ${CHECK_HANDLE}`);
}

/** Whether the caller can show which conversations are its own. */
export const mayList = ({ session, credential, wholeStore }: Caller): boolean =>
  session !== undefined || credential !== undefined || wholeStore === true;

/** Throws BAD_OPTION if the caller has shown none of the three ways. */
export function checkMayList(caller: Caller): void {
  if (!mayList(caller)) throw new PalimpsestError('BAD_OPTION', NO_WAY);
}

const NO_WAY =
  'Expected to know which conversations are yours but this server was not told; recall still answers every handle. One of three ways: start it with --session and an id; send the key of the provider (over HTTP in x-api-key or x-palimpsest-credential, over stdio with --credential-env); or, where the store has one user, start it with --whole-store.';

/** The sessions in the order in which they recorded the text. */
function sessionsOf(stored: Stored | undefined): string[] {
  return [...new Set((stored?.refs ?? []).flatMap(({ session }) => session ?? []))];
}

async function visibleOf(store: Store, caller: Caller, held: readonly string[]): Promise<readonly string[]> {
  if (caller.session !== undefined) return held.filter((session) => session === caller.session);
  if (caller.wholeStore) return held;
  const secret = await store.secret();
  if (secret === undefined || caller.credential === undefined) return [];
  const owner = ownerOf(secret, caller.credential);
  return held.filter((session) => isOwnedBy(session, owner)).slice(-1);
}

/** The name of a credential in one store. The name does not reveal the credential, and differs in another store. */
export function ownerOf(secret: string, credential: string): string {
  return createHmac('sha256', secret).update(`palimpsest credential\n${credential}`).digest('hex').slice(0, 32);
}

/** The id under which a gateway records texts and totals: the hash of the first prefix, and the owner if there is one. */
export const conversationId = (prefix: string, owner: string | undefined): string =>
  owner === undefined ? prefix : `${prefix}-${owner}`;

/** The session in which a gateway stores the texts of a conversation. */
export const sessionOf = (conversation: string): string => `g-${conversation}`;

const isOwnedBy = (session: string, owner: string): boolean =>
  session.startsWith('g-') && session.endsWith(`-${owner}`);

/** Names in lower case, as Node gives them. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface CredentialOptions {
  /** False if `authorization` carries a Palimpsest token. */
  readonly hasAuthorization: boolean;
  /** Path and query of a request to a provider: Gemini takes a key there. */
  readonly target?: string;
}

/**
 * The credential of a request; undefined if it has none. `x-palimpsest-credential` comes first: a user whose login changes every
 * hour can choose a lasting one. Signatures (AWS4-HMAC-SHA256) differ in every request and name no user.
 */
export function credentialOf(headers: RequestHeaders, options: CredentialOptions): string | undefined {
  for (const name of KEY_HEADERS) {
    const value = textIn(headers[name]);
    if (value) return value;
  }
  const authorization = options.hasAuthorization ? textIn(headers.authorization) : '';
  const token = /^(?:bearer|basic) +(\S+)$/i.exec(authorization)?.[1];
  return token ?? keyIn(options.target ?? '');
}

const KEY_HEADERS = ['x-palimpsest-credential', 'x-api-key', 'x-goog-api-key', 'api-key'];

const textIn = (value: RequestHeaders[string]): string => String(value ?? '').trim();

function keyIn(target: string): string | undefined {
  const query = target.indexOf('?');
  return query < 0 ? undefined : new URLSearchParams(target.slice(query)).get('key') || undefined;
}

/** Returns the handle. Throws BAD_INPUT, worded for a model, if it is not a handle. */
export function checkHandle(handle: string): string {
  if (isHandle(handle)) return handle;
  const found = JSON.stringify(handle.slice(0, 60));
  throw new PalimpsestError(
    'BAD_INPUT',
    `Expected a handle (p_ and 26 lower-case letters and digits) but found ${found}. ${CHECK_HANDLE}`,
  );
}

export const CHECK_HANDLE = 'Copy a handle exactly as a placeholder in your context shows it.';

const WHY_A_HANDLE =
  'it shows which conversation is yours. Take any p_… from a placeholder in your context; if there is none, nothing of it was masked.';

/** The references of a text that lie in the scope. */
export function refsInScope(refs: readonly Reference[], { sessions }: Scope): Reference[] {
  return refs.filter(({ session }) => session !== undefined && sessions.includes(session));
}

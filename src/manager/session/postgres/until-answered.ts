import { setTimeout } from 'node:timers/promises';
import { PalimpsestError } from '../../../errors.ts';

/** An attempt to run a statement. It calls `onSent` once the server may have received the statement. */
type Attempt<T> = (onSent: () => void) => Promise<T>;

export interface Patience {
  /** Attempts are repeated for this long. */
  readonly timeoutMs: number;
  /** Also waits for a server that refuses connections, such as one that is restarting. */
  readonly waitsForServer: boolean;
}

/** The last error, and whether an attempt may have succeeded without an answer. */
export class Unanswered extends Error {
  readonly isUnsure: boolean;
  constructor(cause: unknown, { isUnsure }: { readonly isUnsure: boolean }) {
    super('no answer', { cause });
    this.isUnsure = isUnsure;
  }
}

/**
 * Repeats a repeatable statement on new connections until the server answers. Throws `Unanswered` with the last error after
 * `timeoutMs`.
 */
export async function untilAnswered<T>(attempt: Attempt<T>, { timeoutMs, waitsForServer }: Patience): Promise<T> {
  const until = performance.now() + timeoutMs;
  let isUnsure = false;
  for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(2 * delayMs, MOST_DELAY_MS)) {
    let isSent = false;
    try {
      return await attempt(() => {
        isSent = true;
      });
    } catch (error) {
      // Not a connection failure: the session is locked, or the tables belong to a newer version.
      if (error instanceof PalimpsestError && error.cause === undefined) throw error;
      const reason = reasonOf(error);
      isUnsure ||= isSent && !isRefusal(reason);
      const isCut = isConnection(reason) && !isOfSettings(error) && (waitsForServer || !ABSENT.has(reason));
      const mayHelp = isCut || PASSING.has(reason);
      if (!mayHelp || performance.now() + delayMs > until) throw new Unanswered(error, { isUnsure });
    }
    await setTimeout(delayMs);
  }
}

/** The same for a statement that can safely run twice. Throws only the last error. */
export async function answerOf<T>(attempt: () => Promise<T>, patience: Patience): Promise<T> {
  try {
    return await untilAnswered(attempt, patience);
  } catch (error) {
    throw error instanceof Unanswered ? error.cause : error;
  }
}

const FIRST_DELAY_MS = 10;
const MOST_DELAY_MS = 500;

/** The server's SQLSTATE, or the code of a system error. */
function reasonOf(error: unknown): string {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  if (cause !== undefined) return reasonOf(cause);
  return typeof code === 'string' ? code : '';
}

const STATE = /^[0-9A-Z]{5}$/;
/** The server closes or refuses the connection. Whether it ran the statement is unknown. */
const ENDING = /^(?:57P0[1-5]|08...|XX...)$/;

/** A code of the operating system, such as ECONNRESET. Codes of TLS, such as CERT_HAS_EXPIRED, are none. */
const SYSTEM = /^E(?:AI_)?[A-Z0-9]+$/;

const isState = (reason: string): boolean => STATE.test(reason) && /\d/.test(reason);
const isRefusal = (reason: string): boolean => isState(reason) && !ENDING.test(reason);
const isConnection = (reason: string): boolean => reason === '' || SYSTEM.test(reason) || ENDING.test(reason);

/** Errors that `pg` gives no code, and that the next attempt meets too: TLS, a password that is missing, a pool that was ended. */
function isOfSettings(error: unknown): boolean {
  const { message, cause } = error as Error;
  return cause === undefined ? /SSL|SASL|after calling end/.test(message) : isOfSettings(cause);
}

/** The server refuses connections, or cannot be reached. */
const ABSENT: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);
/** Serialization failure, deadlock, lock not available, too many connections. */
const PASSING: ReadonlySet<string> = new Set(['40001', '40P01', '55P03', '53300']);

import { spentOf } from '../../money/show-money.ts';
import type { Receipt } from './receipt.ts';

/** One line of the log: flat, and never with a header, a key, a query or a part of a body. */
export interface LogEntry {
  /** `info` for a request that went well, `warn` for one that was refused or failed, `error` for the rest. */
  readonly level: 'info' | 'warn' | 'error';
  /** The kind of entry, such as `request`. */
  readonly message: string;
  /** Facts of the entry, such as `status` and `overheadMs`. */
  readonly [detail: string]: string | number | boolean | undefined;
}

/** Receives the entries of the log. */
export type Log = (entry: LogEntry) => void;

/**
 * Writes each entry as one line of JSON.
 *
 * @example
 * ```ts
 * import { createGateway, createLog } from 'palimpsest/gateway';
 *
 * const gateway = createGateway({ log: createLog((line) => process.stderr.write(line)) });
 * ```
 */
export function createLog(write: (line: string) => void, now: () => number = Date.now): Log {
  return (entry) => write(`${JSON.stringify({ time: new Date(now()).toISOString(), ...entry })}\n`);
}

/** The code of a network error, and nothing else: messages may quote the request. */
export function codeOf(error: unknown): string {
  const { code, cause, name } = (error ?? {}) as { code?: unknown; cause?: unknown; name?: unknown };
  if (typeof code === 'string') return code;
  return cause === undefined ? String(name ?? 'error') : codeOf(cause);
}

/** A receipt as a line of the log: only numbers and our own words. */
export function toLogEntry(receipt: Receipt): LogEntry {
  const { id, requestId, session, conversation, arm, request, api, status, act, because, masked, prices, refused } =
    receipt;
  return {
    level: refused || status >= 500 || status === 0 ? 'warn' : 'info',
    message: 'request',
    ...{ id, requestId, session, conversation, arm, request, api, status, act, because, masked, prices },
    newMasks: receipt.newMasks.length,
    ...(receipt.shaped ? { shaped: receipt.shaped, newShaped: receipt.newShaped?.length ?? 0 } : {}),
    tokensIn: receipt.without.tokens,
    tokensSent: receipt.sent.tokens,
    cached: receipt.sent.cached,
    estimated: receipt.estimated,
    ...moneyIn(receipt),
    ...(receipt.holdoutShare === undefined ? {} : { holdoutShare: receipt.holdoutShare }),
    ...(receipt.isArmUnknown ? { isArmUnknown: true } : {}),
    ...(receipt.unsent ? { unsent: true } : {}),
    ...(refused ? { refused: refused.status } : {}),
    overheadMs: receipt.overheadMs,
    totalMs: receipt.totalMs,
  };
}

function moneyIn({ money, sent }: Receipt): Pick<LogEntry, string> {
  if (!money) return {};
  if (!('subscription' in money))
    return { dollars: round(spentOf(money)), dollarsSaved: round(money.without - money.sent) };
  return money.window === undefined ? {} : { windowShare: sent.tokens / money.window };
}

/** A millionth of a cent is enough for a reader. */
const round = (dollars: number): number => Math.round(dollars * 1e8) / 1e8;

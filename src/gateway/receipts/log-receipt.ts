import type { LogEntry } from './log.ts';
import type { Receipt } from './receipt.ts';

/** A receipt as a line of the log: nothing of the request but numbers and our own words. */
export function toLogEntry(receipt: Receipt): LogEntry {
  const { id, conversation, request, api, status, act, because, masked, prices, refused } = receipt;
  return {
    level: refused || status >= 500 || status === 0 ? 'warn' : 'info',
    message: 'request',
    ...{ id, conversation, request, api, status, act, because, masked, prices },
    newMasks: receipt.newMasks.length,
    tokensIn: receipt.without.tokens,
    tokensSent: receipt.sent.tokens,
    cached: receipt.sent.cached,
    estimated: receipt.estimated,
    ...(refused ? { refused: refused.status } : {}),
    overheadMs: receipt.overheadMs,
    totalMs: receipt.totalMs,
  };
}

import type { Prices } from '../../plan/prices.ts';
import type { PromptTokens, RequestRecord } from '../../report/request-record.ts';
import type { RequestSigns } from '../decide/signs.ts';
import type { Entry } from './receipt-log.ts';
import type { Settled } from './write-receipt.ts';

/** The record of a request: its receipt in numbers, and signs of harm. Nothing that a user or a tool wrote. */
export function toRequestRecord({ receipt }: Entry, settled: Settled, signs: RequestSigns): RequestRecord {
  const { decision, root, sent, times } = settled;
  const { prices } = decision.explanation;
  const { id, session, conversation, arm, holdoutShare, api, model, status, act, masked, newMasks } = receipt;
  const { usage, refused, isFinal } = sent;
  return {
    id,
    at: Math.round(times.startedAt),
    session,
    ...(root === undefined ? {} : { root }),
    conversation,
    arm,
    ...(holdoutShare === undefined ? {} : { holdoutShare }),
    api,
    ...(model === undefined ? {} : { model }),
    prices: multiplesOf(prices),
    ...{ status, act, masked, newMasks: newMasks.length },
    ...(usage ? { billed: { ...toPrompt(usage), output: usage.completionTokens } } : {}),
    expected: { sent: toPrompt(receipt.expected.sent), without: toPrompt(receipt.expected.without) },
    without: toPrompt(receipt.without),
    ...(refused ? { refused: refused.status } : {}),
    signs: isFinal === undefined ? signs : { ...signs, isFinal },
  };
}

const multiplesOf = ({ name, read, write, writes }: Prices): RequestRecord['prices'] =>
  writes === undefined ? { name, read, write } : { name, read, write, writes };

const toPrompt = ({ cached, written, uncached, hourWritten }: PromptTokens): PromptTokens => {
  if (hourWritten !== undefined) return { cached, written, uncached: uncached ?? 0, hourWritten };
  return uncached === undefined ? { cached, written } : { cached, written, uncached };
};

import type { PromptTokens, RequestRecord } from '../../report/request-record.ts';
import type { RequestSigns } from '../decide/signs.ts';
import type { Entry } from './receipt-log.ts';
import type { Settled } from './write-receipt.ts';

/** The record of a request: its receipt in numbers, and signs of harm. Nothing that a user or a tool wrote. */
export function toRequestRecord({ receipt }: Entry, settled: Settled, signs: RequestSigns): RequestRecord {
  const { decision, sent, times } = settled;
  const { prices } = decision.explanation;
  const { id, session, conversation, arm, holdoutShare, api, model, status, act, masked, newMasks, shaped, newShaped } =
    receipt;
  const { usage, refused, isFinal } = sent;
  return {
    id,
    at: Math.round(times.startedAt),
    session,
    conversation,
    arm,
    ...(holdoutShare === undefined ? {} : { holdoutShare }),
    api,
    ...(model === undefined ? {} : { model }),
    prices: { name: prices.name, read: prices.read, write: prices.write },
    ...{ status, act, masked, newMasks: newMasks.length },
    ...(shaped ? { shaped, newShaped: newShaped?.length ?? 0 } : {}),
    ...(usage ? { billed: { ...toPrompt(usage), output: usage.completionTokens } } : {}),
    expected: { sent: toPrompt(receipt.expected.sent), without: toPrompt(receipt.expected.without) },
    without: toPrompt(receipt.without),
    ...(refused ? { refused: refused.status } : {}),
    signs: isFinal === undefined ? signs : { ...signs, isFinal },
  };
}

const toPrompt = ({ cached, written, uncached }: PromptTokens): PromptTokens =>
  uncached === undefined ? { cached, written } : { cached, written, uncached };

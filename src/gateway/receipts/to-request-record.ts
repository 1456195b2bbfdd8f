import type { PromptTokens, RequestRecord } from '../../report/request-record.ts';
import type { RequestSigns } from '../decide/signs.ts';
import type { Usage } from '../exchange/usage-reader.ts';
import type { Mutable } from '../mutable.ts';
import type { Entry } from './receipt-log.ts';
import type { Settled } from './write-receipt.ts';

/** The record of a request: its receipt in numbers, and signs of harm. Nothing that a user or a tool wrote. */
export function toRequestRecord({ receipt }: Entry, settled: Settled, signs: RequestSigns): RequestRecord {
  const { decision, sent, times } = settled;
  const { prices } = decision.explanation;
  const { holdoutShare, model } = receipt;
  const { usage, refused, isFinal } = sent;
  const record: Mutable<RequestRecord> = {
    id: receipt.id,
    at: Math.round(times.startedAt),
    session: receipt.session,
    conversation: receipt.conversation,
    arm: receipt.arm,
    api: receipt.api,
    prices: { name: prices.name, read: prices.read, write: prices.write },
    status: receipt.status,
    act: receipt.act,
    masked: receipt.masked,
    newMasks: receipt.newMasks.length,
    expected: { sent: toPrompt(receipt.expected.sent), without: toPrompt(receipt.expected.without) },
    without: toPrompt(receipt.without),
    signs: isFinal === undefined ? signs : withEnd(signs, isFinal),
  };
  if (holdoutShare !== undefined) record.holdoutShare = holdoutShare;
  if (model !== undefined) record.model = model;
  if (usage) record.billed = toBilled(usage);
  if (refused) record.refused = refused.status;
  return record;
}

const withEnd = ({ results, failed, repeated, recalls }: RequestSigns, isFinal: boolean): RequestRecord['signs'] => ({
  results,
  failed,
  repeated,
  recalls,
  isFinal,
});

function toBilled({ cached, written, uncached, completionTokens: output }: Usage): Billed {
  return uncached === undefined ? { cached, written, output } : { cached, written, uncached, output };
}

type Billed = NonNullable<RequestRecord['billed']>;

const toPrompt = ({ cached, written, uncached }: PromptTokens): PromptTokens =>
  uncached === undefined ? { cached, written } : { cached, written, uncached };

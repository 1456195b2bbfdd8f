import type { Prices, PromptTokens } from '../../plan/prices.ts';
import type { RequestRecord } from '../../report/request-record.ts';
import type { RequestSigns } from '../decide/signs.ts';
import type { Usage } from '../exchange/usage-reader.ts';
import type { Mutable } from '../mutable.ts';
import type { Entry } from './receipt-log.ts';
import type { Outcome } from './write-receipt.ts';

/** The record of a request: its receipt in numbers, and signs of harm. It has no text of a user or a tool. */
export function toRequestRecord({ receipt }: Entry, outcome: Outcome, signs: RequestSigns): RequestRecord {
  const { decision, root, sent, times } = outcome;
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
    prices: multiplesOf(prices),
    status: receipt.status,
    act: receipt.act,
    masked: receipt.masked,
    newMasks: receipt.newMasks.length,
    expected: { sent: toPrompt(receipt.expected.sent), without: toPrompt(receipt.expected.without) },
    without: toPrompt(receipt.without),
    signs: isFinal === undefined ? signs : withEnd(signs, isFinal),
  };
  if (receipt.requestId !== receipt.id) record.requestId = receipt.requestId;
  if (root !== undefined) record.root = root;
  if (holdoutShare !== undefined) record.holdoutShare = holdoutShare;
  if (receipt.isArmUnknown) record.isArmUnknown = true;
  if (model !== undefined) record.model = model;
  if (receipt.shaped) {
    record.shaped = receipt.shaped;
    record.newShaped = receipt.newShaped?.length ?? 0;
  }
  if (usage) record.billed = toBilled(usage);
  if (refused) record.refused = refused.status;
  return record;
}

const multiplesOf = ({ name, read, write, writes }: Prices): RequestRecord['prices'] =>
  writes === undefined ? { name, read, write } : { name, read, write, writes };

const withEnd = ({ results, failed, repeated, recalls }: RequestSigns, isFinal: boolean): RequestRecord['signs'] => ({
  results,
  failed,
  repeated,
  recalls,
  isFinal,
});

function toBilled(usage: Usage): Billed {
  const billed: Mutable<Billed> = toPrompt(usage) as Billed;
  billed.output = usage.completionTokens;
  return billed;
}

type Billed = NonNullable<RequestRecord['billed']>;

function toPrompt({ cached, written, uncached, hourWritten }: PromptTokens): PromptTokens {
  if (hourWritten !== undefined) return { cached, written, uncached: uncached ?? 0, hourWritten };
  return uncached === undefined ? { cached, written } : { cached, written, uncached };
}

import type { ReplaceEdit } from '../../message.ts';
import { type Prices, priceLists } from '../../plan/prices.ts';
import type { Tokens } from '../receipts/receipt.ts';
import type { ComposedRequest } from './compose-request.ts';
import { toMask } from './masks.ts';
import type { SituatedRequest } from './situated-request.ts';

/** What a request will take, as far as that can be told before it is sent. */
export interface Estimate {
  /** In tokens of ours, without any mask and with those that it carries. */
  readonly before: number;
  readonly after: number;
  /** The same in the provider's tokens, and what its cache will make of them. */
  readonly without: Tokens;
  readonly sent: Tokens;
  readonly prices: Prices;
}

/** Reckons with what a request carries in the place of results. */
export function estimateRequest(situated: SituatedRequest, { edits, changed }: ComposedRequest): Estimate {
  const { request, facts, planned } = situated;
  const { before, after } = sizesOf(situated, edits);
  const ratio = facts.memory.ratio(request.model);
  const isSmall = after * ratio < situated.prices.leastTokens;
  const prices = isSmall && !facts.prices ? priceLists.none : situated.prices;
  const isCached = isWarm(situated) && prices.read < prices.write;
  const toTokens = (tokens: number, cached: number): Tokens => {
    const [all, read] = [Math.round(tokens * ratio), Math.round((isCached ? Math.min(tokens, cached) : 0) * ratio)];
    return { tokens: all, cached: read, written: all - read };
  };
  const { sentTokens } = planned.branch;
  const kept = (changed.length > 0 ? planned.unchangedTokens : undefined) ?? sentTokens.after;
  return {
    ...{ before, after, prices },
    without: toTokens(before, sentTokens.before),
    sent: toTokens(after, kept),
  };
}

function sizesOf(
  { request, settings, planned }: SituatedRequest,
  edits: readonly ReplaceEdit[],
): Pick<Estimate, 'before' | 'after'> {
  const { tokens } = planned.report;
  // What the plan was reckoned with may be an older system prompt.
  const beside = request.beside.tokens - settings.overheadTokens;
  const visible = edits === planned.edits ? [] : planned.edits.filter((edit) => !edits.includes(edit));
  const shown = visible.reduce((sum, edit) => sum + toMask(planned, edit).tokens, 0);
  return { before: tokens.before + beside, after: Math.min(tokens.before, tokens.after + shown) + beside };
}

/** Whether the provider's cache still holds the request before this one, as far as we know. */
function isWarm({ request, conversation, facts, prices }: SituatedRequest): boolean {
  const usedAt = conversation.usedAt(request.model);
  return usedAt !== undefined && facts.now - usedAt <= prices.lifeMs;
}

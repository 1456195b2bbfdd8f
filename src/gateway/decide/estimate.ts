import type { ReplaceEdit } from '../../message.ts';
import { type Prices, priceLists } from '../../plan/prices.ts';
import type { Tokens } from '../receipts/receipt.ts';
import { toMasks } from './edits.ts';
import type { PlannedRequest } from './plan.ts';
import type { WrittenRequest } from './write-request.ts';

/** The expected size and price of a request, before it is sent. */
export interface Estimate {
  /** In our tokens, without masks and with the masks that it carries. */
  readonly before: number;
  readonly after: number;
  /** The same in the provider's tokens, split by its cache. */
  readonly without: Tokens;
  readonly sent: Tokens;
  readonly prices: Prices;
}

/** Estimates a request with the edits that it carries. */
export function estimateRequest(planned: PlannedRequest, { edits, changed }: WrittenRequest): Estimate {
  const { facts, tokenRatio, history } = planned;
  const { before, after } = sizesOf(planned, edits);
  const isSmall = after * tokenRatio < planned.prices.leastTokens;
  const prices = isSmall && !facts.prices ? priceLists.none : planned.prices;
  const isCached = isWarm(planned) && prices.read < prices.write;
  const toTokens = (tokens: number, wasCached: number): Tokens => {
    const { behind, behindHour } = partsOf(planned, tokens, prices);
    const cached = isCached ? Math.max(0, Math.min(tokens - (behind ?? 0), wasCached)) : 0;
    const scaled = (part: number): number => Math.round(part * tokenRatio);
    const [all, fromCache] = [scaled(tokens), scaled(cached)];
    const written = all - fromCache;
    if (behind === undefined) return { tokens: all, cached: fromCache, written };
    const uncached = Math.min(written, scaled(behind));
    if (behindHour === undefined) return { tokens: all, cached: fromCache, written, uncached };
    const hourWritten = Math.min(written - uncached, scaled(Math.max(0, tokens - behindHour - cached)));
    return { tokens: all, cached: fromCache, written, uncached, hourWritten };
  };
  const { tokens } = history.answered.last;
  const kept = (changed.length > 0 ? planned.unchangedTokens : undefined) ?? tokens.after;
  return { before, after, prices, without: toTokens(before, tokens.before), sent: toTokens(after, kept) };
}

/** Without a cache nothing is written. A cache without markers is assumed to write everything that it does not read. */
function partsOf(planned: PlannedRequest, tokens: number, { lifeMs, lookup }: Prices): Partial<MarkedParts> {
  if (lifeMs === 0) return { behind: tokens };
  return (lookup.kind === 'markers' && markedParts(planned, tokens)) || ALL_WRITTEN;
}

const ALL_WRITTEN: Partial<MarkedParts> = {};

/** Parts of a prompt that a cache with markers does not write, or writes for an hour, in our tokens. */
interface MarkedParts {
  /** The tokens after the last marker: never written, never read. */
  readonly behind: number;
  /** The tokens after the last one-hour marker. Undefined if there is none. */
  readonly behindHour?: number;
}

/** The parts of a request in a prompt of this size. Undefined if it has no marker. */
function markedParts(planned: PlannedRequest, tokens: number): MarkedParts | undefined {
  const { all, onMessages, automatic } = planned.request.markers;
  if (all.length === 0) return undefined;
  const last = planned.request.listed.length - 1;
  const behind = behindOf(planned, automatic ? last : onMessages.at(-1)?.message, tokens);
  if (!all.some(isForHour)) return { behind };
  const hour = automatic && isForHour(automatic) ? last : onMessages.findLast(({ place }) => isForHour(place))?.message;
  return { behind, behindHour: behindOf(planned, hour, tokens) };
}

const isForHour = ({ ttl }: { readonly ttl: string | undefined }): boolean => ttl === '1h';

/** The tokens after a message, or all messages if only system prompt and tools have a marker. A marker is assumed to be on the last block. */
function behindOf({ request, history }: PlannedRequest, message: number | undefined, tokens: number): number {
  if (message === undefined) return tokens - request.overhead.tokens;
  // The planner may have the messages of a later request by now.
  const { ledger } = history.planner;
  return ledger.tokensFrom(message + 1) - ledger.tokensFrom(request.listed.length);
}

function sizesOf(planned: PlannedRequest, edits: readonly ReplaceEdit[]): Pick<Estimate, 'before' | 'after'> {
  const { tokens } = planned.report;
  // The plan may have been made with the size of an older system prompt.
  const overhead = planned.request.overhead.tokens - planned.settings.overheadTokens;
  const savedBy = (some: readonly ReplaceEdit[], others: readonly ReplaceEdit[]): number => {
    const known = new Set(others);
    const masks = toMasks(
      planned,
      some.filter((edit) => !known.has(edit)),
    );
    return masks.reduce((sum, { tokens }) => sum + tokens, 0);
  };
  const shown = edits === planned.edits ? 0 : savedBy(planned.edits, edits) - savedBy(edits, planned.edits);
  return { before: tokens.before + overhead, after: Math.min(tokens.before, tokens.after + shown) + overhead };
}

/** Whether the provider's cache still has the previous request, as far as we know. */
function isWarm({ request, conversation, facts, prices }: PlannedRequest): boolean {
  const usedAt = conversation.cacheUse.usedAt(request.listed, request.model);
  return usedAt !== undefined && facts.now - usedAt <= prices.lifeMs;
}

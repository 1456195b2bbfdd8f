import type { Ledger } from '../ledger/ledger.ts';
import { DEFAULT_WINDOW, type Policy, type RequestView } from '../policy.ts';
import { type Budget, type MaskStage, sizeOf } from './stage.ts';

/** Says which results may be masked when a budget or a threshold forces a cut. */
export type MaskCandidates = Pick<Policy, 'window' | 'outside' | 'inside'>;

export function mask<M>(ledger: Ledger<M>, { which }: MaskStage, budget: Budget, candidates: MaskCandidates): void {
  if (which === 'outside') maskAll(ledger, outsideWindow(ledger, candidates));
  else if (which === 'inside') maskInside(ledger, budget, insideWindow(ledger, candidates));
  else maskAll(ledger, segmentsOf(ledger.observations));
}

/** Masks results. Returns how many. */
export function maskAll<M>(ledger: Ledger<M>, segments: readonly number[]): number {
  let masked = 0;
  for (let i = 0; i < segments.length; i++) if (ledger.mask(segments[i] as number)) masked += 1;
  return masked;
}

export const segmentsOf = (results: readonly { readonly segment: number }[]): number[] =>
  results.map((result) => result.segment);

function maskInside<M>(ledger: Ledger<M>, budget: Budget, segments: readonly number[]): void {
  const growth = growthPerTurn(ledger);
  const before = ledger.requestTokens + ledger.lastRow.tokens;
  let pays: ((tokens: number) => boolean) | undefined;
  for (const segment of segments) {
    if (ledger.results[segment]?.row === ledger.lastRow) continue;
    if (sizeOf(ledger, budget) <= budget.target) {
      pays ??= paysAt(ledger, budget, { growth, before });
      if (pays(ledger.tokens)) return;
    }
    ledger.mask(segment);
  }
}

/** The mean size of the turns since the last that holds a masked result. */
function growthPerTurn<M>({ rows, observations, lastRow }: Ledger<M>): number {
  const last = observations.findLast((result) => result.masked)?.row.number ?? 0;
  const fresh = rows.slice(Math.min(last + 1, lastRow.number));
  return Math.max(1, fresh.reduce((sum, row) => sum + row.tokens, 0) / Math.max(1, fresh.length));
}

/**
 * Whether a cut to a size pays off until the next one is due. It costs `write - read` for every cached token after the first change. It
 * saves `read` for every removed token, on each request until the room is used up. Every further mask is after the first change, so it
 * reduces the rewritten part by the same amount.
 */
function paysAt<M>(
  ledger: Ledger<M>,
  { max, prices }: Budget,
  { growth, before }: { readonly growth: number; readonly before: number },
): (tokens: number) => boolean {
  const change = ledger.firstChange();
  if (!prices || change === undefined) return () => true;
  const unchanged = ledger.tokens - ledger.tokensFrom(change) + ledger.lastRow.tokens;
  return (tokens) => {
    const rewritten = Math.max(0, tokens - unchanged);
    const requests = (max - tokens) / growth;
    return prices.read * Math.max(0, before - tokens) * requests >= (prices.write - prices.read) * rewritten;
  };
}

export function outsideWindow(request: RequestView, candidates: MaskCandidates): readonly number[] {
  const last = request.turns - (candidates.window ?? DEFAULT_WINDOW);
  return candidates.outside?.(request) ?? segmentsOf(request.observations.filter(({ turn }) => turn <= last));
}

export function insideWindow(request: RequestView, candidates: MaskCandidates): readonly number[] {
  return candidates.inside?.(request) ?? segmentsOf(request.observations);
}

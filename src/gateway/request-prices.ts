import { type Prices, priceLists, pricesOf } from '../plan/prices.ts';
import { canMark, markersOf } from './cache-marker.ts';
import type { ReadRequest } from './read-request.ts';

/** What the provider bills for this request, once it is large enough to be cached. */
export function requestPrices(request: ReadRequest): Prices {
  const { model } = request;
  const known = model === undefined ? undefined : pricesOf(model);
  const prices = known ?? DEFAULTS[request.api];
  if (!prices.name.startsWith('anthropic')) return prices;
  const markers = markersOf(request);
  if (markers.all.length === 0) return priceLists.none;
  const list = priceLists[markers.all.some(({ ttl }) => ttl === '1h') ? 'anthropic-1h' : 'anthropic-5m'];
  return { ...list, leastTokens: leastCacheable(model ?? '') };
}

/** Nobody names it: then it is more likely to be cached than not, and waiting is what costs least. */
export const DEFAULTS = {
  anthropic: priceLists['anthropic-5m'],
  'openai-chat': priceLists['gpt-5'],
  'openai-responses': priceLists['gpt-5'],
  gemini: priceLists.gemini,
} as const;

/** Of Anthropic's models, by their names; 2026-08-08. */
const LEAST: readonly (readonly [RegExp, number])[] = [
  [/opus-4[-.][56](?!\d)|haiku-4[-.]5/, 4096],
  [/opus-4[-.]7/, 2048],
  [/opus-5/, 512],
];

function leastCacheable(model: string): number {
  return LEAST.find(([pattern]) => pattern.test(model))?.[1] ?? priceLists['anthropic-5m'].leastTokens;
}

/** Prices, and whether the provider finds what stands unchanged before an edit. */
export interface MaskingPrices extends Prices {
  readonly canMark: boolean;
}

/**
 * What masking must reckon with: where no marker stands on a message, nothing that could be masked is ever cached. Behind
 * other interfaces than Anthropic's own, each of which has its own rules for markers, none is placed.
 */
export function maskingPrices(request: ReadRequest, prices: Prices): MaskingPrices {
  if (!prices.name.startsWith('anthropic')) return { ...prices, canMark: true };
  const { onMessages, automatic } = markersOf(request);
  if (onMessages.length === 0 && !automatic) return { ...priceLists.none, canMark: true };
  return { ...prices, canMark: request.api === 'anthropic' && canMark(request) };
}

import { type Prices, priceLists, pricesOf } from '../../plan/prices.ts';
import type { ReadRequest } from '../decide/read-request.ts';
import { canMark } from './cache-markers.ts';
import type { Wire } from './wire.ts';

/** The prices that the provider bills for this request, once it is large enough to be cached. */
export function requestPrices(request: ReadRequest, ofProvider?: Prices): Prices {
  const { wire, model } = request;
  const prices = ofProvider ?? listedPrices(wire, model);
  if (prices.lookup.kind !== 'markers') return prices;
  const { markers } = request;
  if (markers.all.length === 0) return priceLists.none;
  const list = priceLists[markers.all.some(({ ttl }) => ttl === '1h') ? 'anthropic-1h' : 'anthropic-5m'];
  return { ...list, leastTokens: leastCacheable(model ?? '') };
}

/** The price list of a model, or that of its API where the name of the model tells nothing. */
export function listedPrices({ prices }: Wire, model: string | undefined): Prices {
  return (model === undefined ? undefined : pricesOf(model)) ?? prices;
}

/** Of Anthropic's models, by their names; 2026-08-08. */
const LEAST: readonly (readonly [RegExp, number])[] = [
  [/opus-4[-.][56](?!\d)|haiku-4[-.]5/, 4096],
  [/opus-4[-.]7/, 2048],
  [/opus-5/, 512],
];

function leastCacheable(model: string): number {
  return LEAST.find(([pattern]) => pattern.test(model))?.[1] ?? priceLists['anthropic-5m'].leastTokens;
}

/** Prices, and whether the provider finds the unchanged text before an edit. */
export interface MaskingPrices extends Prices {
  readonly canMark: boolean;
}

/**
 * The prices of what could be masked. Where no marker is on a message, none of it is ever cached, unless the caller gave
 * prices of their own. Other APIs than Anthropic's have their own rules for markers: there, none is placed.
 */
export function maskingPrices(request: ReadRequest, prices: Prices, { isOwn }: { isOwn: boolean }): MaskingPrices {
  if (prices.lookup.kind !== 'markers') return { ...prices, canMark: true };
  const { onMessages, automatic } = request.markers;
  if (!isOwn && onMessages.length === 0 && !automatic) return { ...priceLists.none, canMark: true };
  return { ...prices, canMark: request.wire.placesMarkers === true && canMark(request) };
}

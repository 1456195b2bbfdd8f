import { listPrices, type PriceBook } from '../../money/price-book.ts';
import { type Prices, priceLists, pricesOf } from '../../plan/prices.ts';
import type { ReadRequest } from '../decide/read-request.ts';
import { canMark } from './cache-markers.ts';
import type { Wire } from './wire.ts';

/** The prices that the provider bills for this request, once it is large enough to be cached. */
export function requestPrices({ wire, model, markers }: ReadRequest, facts: PriceFacts): Prices {
  const prices = facts.providerPrices ?? listOf(wire, model);
  const own = (list: Prices): Prices =>
    facts.providerPrices ? list : withOwnMultiples(list, dollarsOf(wire, model, facts));
  if (prices.lookup.kind !== 'markers') return own(prices);
  if (markers.all.length === 0) return priceLists.none;
  const list = priceLists[markers.all.some(({ ttl }) => ttl === '1h') ? 'anthropic-1h' : 'anthropic-5m'];
  return { ...own(list), leastTokens: leastCacheable(model ?? '') };
}

/** The source of prices if the user names no price list. */
export interface PriceFacts {
  /** The price list of the provider, if it has one for all models. */
  readonly providerPrices?: Prices | undefined;
  /** The prices of models in dollars. The list prices if not given. */
  readonly priceBook?: PriceBook | undefined;
}

/** The prices of a model: its own if known, otherwise its list. */
export const listedPrices = (wire: Wire, model: string | undefined, facts: PriceFacts): Prices =>
  withOwnMultiples(listOf(wire, model), dollarsOf(wire, model, facts));

/** The price list of a model, or that of its API if the model is unknown. */
const listOf = ({ prices }: Wire, model: string | undefined): Prices =>
  (model === undefined ? undefined : pricesOf(model)) ?? prices;

type DollarPrice = ReturnType<PriceBook['priceOf']>;

const dollarsOf = (
  { modelPrefix = '' }: Wire,
  model: string | undefined,
  { priceBook = listPrices }: PriceFacts,
): DollarPrice => (model === undefined ? undefined : priceBook.priceOf(modelPrefix + model));

/** A list covers all models of a provider. A model whose cache has its own price in dollars gets its own multiples. */
function withOwnMultiples(list: Prices, price: DollarPrice): Prices {
  if (!price || 'subscription' in price || price.input === 0) return list;
  const { input, cacheRead, cacheWrite } = price;
  const own = cacheRead === undefined ? list : { ...list, read: cacheRead / input };
  if (cacheWrite === undefined) return own;
  const write = cacheWrite / input;
  if (!list.writes) return { ...own, write };
  // This is the price of a short write. A request with a one-hour marker is planned with the price of a long one.
  const writes = { ...list.writes, short: write };
  return { ...own, writes, write: list.write === list.writes.short ? write : list.write };
}

/** The least cacheable sizes of Anthropic's models, by name; 2026-08-08. */
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
 * The prices of the messages that could be masked. If no marker is on a message, messages are never cached, unless the caller set prices.
 * Other APIs than Anthropic's have their own rules for markers: there, none is placed.
 */
export function maskingPrices(request: ReadRequest, prices: Prices, { isOwn }: { isOwn: boolean }): MaskingPrices {
  if (prices.lookup.kind !== 'markers') return { ...prices, canMark: true };
  const { onMessages, automatic } = request.markers;
  if (!isOwn && onMessages.length === 0 && !automatic) return { ...priceLists.none, canMark: true };
  return { ...prices, canMark: request.wire.placesMarkers === true && canMark(request) };
}

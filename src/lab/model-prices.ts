import type { ModelPrice, PriceBook } from '../money/index.ts';
import { type Prices, priceLists, pricesOf, toPrices } from '../plan/prices.ts';
import type { Context, Usage } from './run.ts';

/** The prices of the model that a context names. */
export interface ModelPrices {
  /** The model of most replies. */
  readonly model: string | undefined;
  /** Undefined if neither a price list nor the cached price of the model is known. */
  readonly prices: Prices | undefined;
  /** In dollars. Undefined if unknown, or if the model is paid by subscription. */
  readonly price: ModelPrice | undefined;
}

export function modelPricesOf({ replies = [], carriedTurns }: Context, book: PriceBook): ModelPrices {
  const fresh = replies.slice(carriedTurns);
  const model = mostOften(fresh.flatMap((reply) => reply.model ?? []));
  const known = book.priceOf(model);
  const price = known && !('subscription' in known) ? known : undefined;
  const life = mostOften(fresh.flatMap(({ usage }) => usage?.cacheLifeMs ?? []));
  return { model, price, prices: withOwnRates(listOf(model, life), model, price) };
}

/** The price list of the model. If its source has several, the one with the cache life in the usage. */
function listOf(model: string | undefined, lifeMs: Usage['cacheLifeMs']): Prices | undefined {
  const list = model === undefined ? undefined : pricesOf(model);
  if (!list || lifeMs === undefined || lifeMs === list.lifeMs) return list;
  return (
    Object.values<Prices>(priceLists).find((other) => other.source === list.source && other.lifeMs === lifeMs) ?? list
  );
}

/** A few models have their own price of a cached token. */
function withOwnRates(
  list: Prices | undefined,
  model: string | undefined,
  price: ModelPrice | undefined,
): Prices | undefined {
  if (!price || (price.cacheRead === undefined && price.cacheWrite === undefined)) return list;
  const base = list ?? toPrices('replay', { read: 1, write: 1, name: model });
  const { input, cacheRead = base.read * input, cacheWrite = base.write * input } = price;
  return input > 0 ? { ...base, read: cacheRead / input, write: cacheWrite / input } : list;
}

function mostOften<T>(values: readonly T[]): T | undefined {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0];
}

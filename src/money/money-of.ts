import { inputCost, type Prices, type PromptTokens } from '../plan/prices.ts';
import type { ModelPrice, Rates } from './model-prices.ts';
import { listPrices, type PriceBook } from './price-book.ts';

/** The tokens of one request: a price may depend on the size of its prompt. */
export interface UsedTokens extends PromptTokens {
  readonly output?: number;
}

/** The price of one request. */
export interface Money {
  readonly dollars: number;
  /** Of those, for the prompt and for the answer. */
  readonly input: number;
  readonly output: number;
}

export interface MoneyOptions {
  /** The multiples of the base price for input, as the record of a request has them. */
  readonly prices: Pick<Prices, 'read' | 'write' | 'writes'>;
  /** The list prices if not given. */
  readonly book?: PriceBook;
}

/** The dollars that one request costs; undefined if its model has no known price, or none per token. */
export function moneyOf(model: string | undefined, tokens: UsedTokens, options: MoneyOptions): Money | undefined {
  const { prices, book = listPrices } = options;
  const price = book.priceOf(model);
  if (!price || 'subscription' in price) return undefined;
  const rates = ratesFor(price, tokens.cached + tokens.written);
  const { cacheRead = rates.input * prices.read, cacheWrite = rates.input * prices.write } = rates;
  const { short, hour } = prices.writes ?? { short: prices.write, hour: prices.write };
  // A model's own price of a write is the price of a five-minute write.
  const writes = { short: rates.cacheWrite ?? rates.input * short, hour: rates.input * hour };
  const input = inputCost(tokens, { read: cacheRead, write: cacheWrite, base: rates.input, writes });
  const output = (tokens.output ?? 0) * rates.output;
  return { dollars: (input + output) / MILLION, input: input / MILLION, output: output / MILLION };
}

const MILLION = 1_000_000;

/** The rates of a request with a prompt of this size. */
export function ratesFor(price: ModelPrice, promptTokens: number): Rates {
  return price.above?.findLast(({ tokens }) => promptTokens > tokens) ?? price;
}

import { knownContextWindow } from '../budget.ts';
import { memoryLimits } from '../limits.ts';
import { amount, anything, badOption, checkOptions, flag, positive } from '../options.ts';
import { modelNames } from './model-names.ts';
import { type LongRates, type ModelPrice, modelPrices, type Rates } from './model-prices.ts';

/** A model that is paid by the month: it has no price per token. */
export interface Subscription {
  readonly subscription: true;
  /** The context window, in tokens. */
  readonly window?: number;
}

/** Own prices by the name of the model. `*` in a name is any text. */
export type OwnModelPrices = Readonly<Record<string, OwnModelPrice>>;

export type OwnModelPrice = 'subscription' | Subscription | (Rates & Pick<ModelPrice, 'above' | 'window'>);

/** The prices of models. An own price without a window has the window of the list. */
export interface PriceBook {
  /** Undefined if no price is known. */
  priceOf(model: string | undefined): ModelPrice | Subscription | undefined;
}

/** The list prices, overridden by own prices. Throws BAD_OPTION for an invalid own price. */
export function createPriceBook(own: OwnModelPrices = {}): PriceBook {
  if (typeof own !== 'object' || own === null || Array.isArray(own))
    throw badOption('model prices', 'an object with a price for each model', own);
  const entries = Object.entries(own).map(([name, price]) => toEntry(name, price));
  const exact = new Map(entries.map(({ name, price }) => [name, price]));
  const patterns = entries.filter(({ name }) => name.includes('*')).sort((a, b) => literals(b.name) - literals(a.name));
  const known = new Map<string, Entry['price'] | undefined>();
  const ownOf = (names: readonly string[]): Entry['price'] | undefined => {
    const named = names.find((name) => exact.has(name));
    if (named !== undefined) return exact.get(named);
    return patterns.find(({ name }) => names.some((one) => matches(name, one)))?.price;
  };
  const find = (model: string): Entry['price'] | undefined => {
    const names = modelNames(model);
    const listed = modelPrices[names.find((name) => Object.hasOwn(modelPrices, name)) ?? ''];
    const price = ownOf(names) ?? listed;
    // A subscription is measured by the window, so the family's window is better than none.
    const window = listed?.window ?? (price && 'subscription' in price ? knownContextWindow(model) : undefined);
    return price && window !== undefined ? { window, ...price } : price;
  };
  return {
    priceOf: (model) => {
      if (model === undefined) return undefined;
      // Names come from clients.
      if (known.size > memoryLimits.models) known.clear();
      if (!known.has(model)) known.set(model, find(model));
      return known.get(model);
    },
  };
}

/** Only the list prices. */
export const listPrices: PriceBook = createPriceBook();

const literals = (pattern: string): number => pattern.replaceAll('*', '').length;

function matches(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop() ?? '';
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false;
  let from = first.length;
  for (const part of rest) {
    const at = name.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return from <= name.length - last.length;
}

interface Entry {
  readonly name: string;
  readonly price: ModelPrice | Subscription;
}

function toEntry(model: string, price: OwnModelPrice): Entry {
  const of = `the price of ${model}`;
  const name = model.toLowerCase();
  if (price === 'subscription') return { name, price: { subscription: true } };
  if (typeof price !== 'object' || price === null || Array.isArray(price))
    throw badOption(of, "'subscription', or an object with input and output", price);
  if ('subscription' in price) return { name, price: toSubscription(of, price) };
  checkOptions(of, price, RULES, ['input', 'output']);
  checkLong(of, price.above ?? []);
  return { name, price: { ...price, source: 'own prices', date: '' } };
}

function toSubscription(of: string, price: Subscription): Subscription {
  checkOptions(of, price, { subscription: flag, window: positive });
  if (price.subscription) return price;
  throw badOption(`${of} option subscription`, 'true, or left out for a price per token', price.subscription);
}

const RATES = { input: amount, output: amount, cacheRead: amount, cacheWrite: amount };
const RULES = { ...RATES, above: anything, window: positive };

function checkLong(of: string, above: readonly LongRates[]): void {
  if (!Array.isArray(above)) throw badOption(`${of} option above`, 'a list of rates, each with tokens', above);
  for (const rates of above)
    checkOptions(`${of} above`, rates, { ...RATES, tokens: positive }, ['tokens', 'input', 'output']);
  const isRising = above.every(({ tokens }, i) => i === 0 || tokens > (above[i - 1]?.tokens ?? 0));
  if (!isRising) throw badOption(`${of} option above`, 'in rising order of tokens', above);
}

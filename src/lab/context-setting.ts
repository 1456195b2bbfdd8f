import { listPrices, type PriceBook } from '../money/index.ts';
import { type Prices, priceLists } from '../plan/prices.ts';
import { BY_MODEL } from './compare.ts';
import { type Inferred, inferHidden } from './infer-hidden.ts';
import { layoutOf } from './layout.ts';
import { modelPricesOf } from './model-prices.ts';
import type { ReplaySetting } from './replay-context.ts';
import type { Context } from './run.ts';

/** How the contexts of a log are replayed. */
export interface LogSetting extends ReplaySetting {
  /** Empty: each context at the prices of its own model. */
  readonly prices: readonly Prices[];
  /** Whether sizes follow the usage in the log. False if not given. */
  readonly usage?: boolean | undefined;
  /** Prices of models in dollars. The list prices if not given. */
  readonly book?: PriceBook | undefined;
}

/** How one context is replayed. */
export interface ContextSetting {
  readonly setting: ReplaySetting;
  /** Undefined if its usage is missing or not used. */
  readonly inferred: Inferred | undefined;
  readonly model: string | undefined;
  /** The price list of the model. Undefined if it is unknown, or if other prices were requested. */
  readonly list: Prices | undefined;
  /** False if the run is priced by its model, and the model has no known prices. */
  readonly hasCost: boolean;
}

export function settingFor(context: Context, { usage, book = listPrices, ...setting }: LogSetting): ContextSetting {
  const { model, prices, price: modelPrice } = modelPricesOf(context, book);
  const isByModel = setting.prices.length === 0;
  const lists = isByModel ? [{ ...(prices ?? UNKNOWN), name: BY_MODEL }] : setting.prices;
  const inferred = usage ? inferredOf(context, setting) : undefined;
  return {
    setting: { ...setting, ...calibrated(setting, inferred), prices: lists, modelPrice },
    inferred,
    model,
    list: isByModel ? prices : undefined,
    hasCost: !isByModel || prices !== undefined,
  };
}

/** A policy needs prices to decide. These are the default of `fit`. */
const UNKNOWN: Prices = priceLists['anthropic-5m'];

function inferredOf(context: Context, { counter }: ReplaySetting): Inferred | undefined {
  const { replies = [], carriedTurns } = context;
  return inferHidden({ sizes: layoutOf(context, counter, 0).sizes, replies, carriedTurns });
}

function calibrated({ counter }: ReplaySetting, inferred: Inferred | undefined): Partial<ReplaySetting> {
  if (!inferred) return {};
  const { scale, hiddenTokens, cachedAtStart } = inferred;
  return { counter: (text) => scale * counter(text), hiddenTokens, cachedAtStart };
}

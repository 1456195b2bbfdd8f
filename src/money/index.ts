export type { ModelPrice, Rates } from './model-prices.ts';
export { type Money, type MoneyOptions, moneyOf, ratesFor, type UsedTokens } from './money-of.ts';
export {
  addMoney,
  addSums,
  type DollarSums,
  MoneySums,
  type MoneyTotals,
  NO_MONEY,
  type PricedRequest,
  type RequestMoney,
  type WindowShares,
} from './money-totals.ts';
export { createPriceBook, listPrices, type OwnModelPrices, type PriceBook, type Subscription } from './price-book.ts';
export { formatDollars, spentOf, whatIsPriced } from './show-money.ts';

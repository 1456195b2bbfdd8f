import { breakEven } from './policies/break-even.ts';
import type { Policy } from './policy.ts';
import { pricesOf } from './prices.ts';

/** Masking that pays, at the prices of the model where its name tells them. */
export function defaultPolicy(model: string | undefined): Policy {
  const prices = model === undefined ? undefined : pricesOf(model);
  return breakEven(prices ? { prices } : {});
}

import { breakEven } from './policies/break-even.ts';
import type { Policy } from './policy.ts';
import { pricesOf } from './prices.ts';

/** `breakEven`, at the prices of the model if its name is known. */
export function defaultPolicy(model: string | undefined): Policy {
  const prices = model === undefined ? undefined : pricesOf(model);
  return breakEven(prices ? { prices } : {});
}

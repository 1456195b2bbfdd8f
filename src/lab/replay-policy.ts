import { badOption } from '../options.ts';
import { breakEven } from '../plan/policies/break-even.ts';
import { makePolicy, policies, readSpec, unknownPolicy } from '../plan/policies/index.ts';
import { never } from '../plan/policies/never.ts';
import type { Policy } from '../plan/policy.ts';
import { type Prices, toPrices } from '../plan/prices.ts';

/** A policy as named on the command line of `replay`, and how the lab runs it. */
export interface ReplayPolicy {
  /** The text that it was read from, such as `break-even:window=20`. */
  readonly name: string;
  /** True for `optimum`, which knows the future. Its policy only says what may be masked, and from when on. */
  readonly isOptimum: boolean;
  /** True if it decides by prices: it is run once for each list. */
  readonly isPriced: boolean;
  /** Makes the policy. Only a priced one depends on the prices. */
  policy(prices: Prices): Policy;
}

/** Reads `none`, `optimum:window=20`, `break-even` or any policy with its options. */
export function readReplayPolicy(text: string): ReplayPolicy {
  const { name, options } = readSpec(text);
  if (name === 'none' || name === 'never') {
    const policy = never(options);
    return named(text, () => policy);
  }
  if (name === 'optimum') {
    // Its requests are the unmasked ones less the masked tokens, which is wrong for a result that was cut before.
    const { maxResultTokens } = options;
    if (maxResultTokens !== undefined) throw badOption('optimum option maxResultTokens', 'left out', maxResultTokens);
    // Without a cache to lose, break-even masks everything as soon as it may.
    const policy = breakEven({ windowByKind: false, clean: false, references: false, ...options, prices: 'none' });
    return { ...named(text, () => policy), isOptimum: true };
  }
  if (!Object.hasOwn(policies, name)) throw unknownPolicy(name, [...Object.keys(policies), 'none', 'optimum']);
  const policy = makePolicy({ name, options });
  if (!policy.prices || options.prices !== undefined) return named(text, () => policy);
  const atPrices = (prices: Prices): Policy => makePolicy({ name, options: { ...options, prices } });
  return { ...named(text, atPrices), isPriced: true };
}

const named = (name: string, policy: (prices: Prices) => Policy): ReplayPolicy => ({
  name,
  isOptimum: false,
  isPriced: false,
  policy,
});

/** Reads prices as `palimpsest replay --prices` takes them: `gpt-5`, or `mine:read=0.1,write=1.25`. */
export const readPrices = (text: string): Prices => parsePrices('replay', text);

/**
 * Reads the name of a price list, or `mine:read=0.1,write=1.25`. Further options are `life-ms`, `least-tokens`, and
 * `look-back-blocks` for a cache with markers or `step-tokens` for one without.
 */
export function parsePrices(of: string, text: string): Prices {
  const { name, options } = readSpec(text);
  if (text === name) return toPrices(of, name);
  const { lookBackBlocks, stepTokens, ...rest } = options;
  if (rest.read === undefined || rest.write === undefined) throw badOption('prices', `${name}:read=…,write=…`, text);
  if (lookBackBlocks !== undefined && stepTokens !== undefined)
    throw badOption('prices', `${name} with look-back-blocks or step-tokens`, text);
  const marked = lookBackBlocks === undefined ? undefined : { kind: 'markers', lookBackBlocks };
  const lookup = stepTokens === undefined ? marked : { kind: 'prefix', stepTokens };
  return { ...toPrices(of, { ...rest, lookup }), name: text };
}

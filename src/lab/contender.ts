import { badOption } from '../options.ts';
import { breakEven } from '../plan/policies/break-even.ts';
import { makePolicy, policies, readSpec, unknownPolicy } from '../plan/policies/index.ts';
import { never } from '../plan/policies/never.ts';
import type { Policy } from '../plan/policy.ts';
import { type Prices, toPrices } from '../plan/prices.ts';

/** A policy as it was given on the command line, and how the lab plays it. */
export interface Contender {
  readonly name: string;
  /** Knows the future. Its policy only tells what may be masked and from when on. */
  readonly isOptimum: boolean;
  /** Decides by the prices, so that it is played once for each list. */
  readonly isPriced: boolean;
  policy(prices: Prices): Policy;
}

/** Reads `none`, `optimum:window=20`, `break-even` or any policy with its options. */
export function readContender(text: string): Contender {
  const { name, options } = readSpec(text);
  if (name === 'none' || name === 'never') {
    const policy = never(options);
    return contender(text, () => policy);
  }
  if (name === 'optimum') {
    // Its requests are those with nothing masked, less what is masked: a result that was cut before has another size.
    const { maxResultTokens } = options;
    if (maxResultTokens !== undefined) throw badOption('optimum option maxResultTokens', 'left out', maxResultTokens);
    // Without a cache to lose, break-even masks whatever it may as soon as it may.
    const policy = breakEven({ windowByKind: false, clean: false, references: false, ...options, prices: 'none' });
    return { ...contender(text, () => policy), isOptimum: true };
  }
  if (!Object.hasOwn(policies, name)) throw unknownPolicy(name, [...Object.keys(policies), 'none', 'optimum']);
  const policy = makePolicy({ name, options });
  if (!policy.prices || options.prices !== undefined) return contender(text, () => policy);
  const atPrices = (prices: Prices): Policy => makePolicy({ name, options: { ...options, prices } });
  return { ...contender(text, atPrices), isPriced: true };
}

const contender = (name: string, policy: (prices: Prices) => Policy): Contender => ({
  name,
  isOptimum: false,
  isPriced: false,
  policy,
});

/** Reads prices as `palimpsest replay --prices` takes them: `gpt-5`, or `mine:read=0.1,write=1.25`. */
export const readPrices = (text: string): Prices => parsePrices('replay', text);

/**
 * Reads the name of a price list, or `mine:read=0.1,write=1.25`, which may go on with `life-ms`, `least-tokens`, and
 * `look-back-blocks` for a cache that needs markers or `step-tokens` for one that does not.
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

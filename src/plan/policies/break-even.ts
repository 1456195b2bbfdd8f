import { amount, anything, count, given } from '../../options.ts';
import { shortCount } from '../../text.ts';
import {
  type CommonOptions,
  createPolicy,
  type Eligible,
  type Observation,
  type Policy,
  type Reason,
  type RequestView,
  type Step,
} from '../policy.ts';
import { type OwnPrices, type PriceName, type Prices, toPrices } from '../prices.ts';
import { type Ages, agesOf, allRipe, isRipe, type Ripe, ripeAt, ripen } from '../ripening.ts';

/** Options of `breakEven`. */
export interface BreakEvenOptions extends CommonOptions {
  /** A price list by its name, or a provider's prices as multiples of its base price. */
  readonly prices?: PriceName | OwnPrices;
  /** How many of the last turns stay whole. */
  readonly window?: number;
  /** Masks when waiting has cost this share of what masking costs. */
  readonly threshold?: number;
  /** No epoch may lose more than this share of what the conversation has cost, if it ends right after. */
  readonly maxLoss?: number;
}

/**
 * Masks only when it pays. A provider bills a cached prefix at `read`, and at `write` what stands behind the first
 * changed byte: so each request that goes out unmasked costs a rent, a mask costs a price once, and nobody knows how many
 * requests are still to come. As with skis, one buys when the rent paid reaches the price.
 */
export function breakEven(options: BreakEvenOptions = {}): Policy {
  const {
    window = 10,
    threshold = 0.7,
    windowByKind = true,
    prices: list = 'anthropic-5m',
  } = given('break-even', options);
  const prices = toPrices('break-even', list);
  const maxLoss = options.maxLoss ?? maxLossAt(prices);
  const rule: Rule = { prices, ages: agesOf(window, windowByKind), threshold, maxLoss };
  return createPolicy<Account | undefined>({
    name: 'break-even',
    options,
    rules: RULES,
    window,
    windowByKind: true,
    isWindow: true,
    arrival: { clean: true, references: true },
    prices,
    init: () => undefined,
    step(state, request, eligible) {
      const account =
        state && isNext(state, request)
          ? nextAccount(state, request, rule, eligible)
          : openAccount(request, rule, eligible);
      return decide(account, request, rule, eligible);
    },
  });
}

const RULES = {
  prices: anything,
  window: count,
  threshold: amount,
  maxLoss: amount,
};

/** A tenth; more where cached tokens are so cheap that only a large mask can save anything. */
const maxLossAt = ({ read }: Prices): number => Math.max(0.1, 0.15 - read / 2);

interface Rule {
  readonly prices: Prices;
  readonly ages: Ages;
  readonly threshold: number;
  readonly maxLoss: number;
}

/**
 * The cost of the conversation so far, all of it as it is sent now: a result that is masked counts as its placeholder
 * from the start. So the account can be read off a history that was masked before, and is then the same.
 */
interface Account {
  readonly revision: number;
  readonly ripe: Ripe;
  /** The saving that a mask would have brought on all requests since each result could be masked, at a price of 1. */
  readonly owed: number;
  /** The saving of a mask of them on each request. */
  readonly gain: number;
  /** The first of them. */
  readonly first: Observation | undefined;
  /** The sizes of all requests before this one together. */
  readonly carried: number;
}

const isNext = ({ revision, ripe }: Account, request: RequestView): boolean =>
  revision === request.revision && ripe.turns === request.turns - 1;

/** The text of the request before this one: it was cached. */
const cachedText = (request: RequestView): number => request.text - request.textOf(request.turns);

function nextAccount(account: Account, request: RequestView, { ages }: Rule, eligible: Eligible): Account {
  const { ripe, fresh } = ripen(account.ripe, request, ages);
  let { gain, first } = account;
  for (const observation of fresh) {
    if (!eligible(observation, request)) continue;
    gain += request.gain(observation);
    if (!first || observation.segment < first.segment) first = observation;
  }
  const carried = account.carried + cachedText(request);
  // A result that could be masked may be needed again.
  const due = request.hasNewReferences ? dueNow(request, ages, eligible) : { owed: account.owed + gain, gain, first };
  return { revision: request.revision, ripe, carried, ...due };
}

/** The same from the history alone, where turns were left out, results cut or masked with those that they refer to. */
function openAccount(request: RequestView, { ages }: Rule, eligible: Eligible): Account {
  const { revision, carried } = request;
  return { revision, ripe: allRipe(request, ages), carried, ...dueNow(request, ages, eligible) };
}

/** The results that could be masked now, from the whole history. */
function dueNow(request: RequestView, ages: Ages, eligible: Eligible): Pick<Account, 'owed' | 'gain' | 'first'> {
  let [owed, gain] = [0, 0];
  let first: Observation | undefined;
  for (const observation of waiting(request, ages, eligible)) {
    first ??= observation;
    gain += request.gain(observation);
    owed += request.gain(observation) * (request.turns - Math.max(0, ripeAt(observation, ages)) + 1);
  }
  return { owed, gain, first };
}

/** The results that could be masked now, oldest first. */
function waiting(request: RequestView, ages: Ages, eligible: Eligible): Observation[] {
  const isWaiting = (o: Observation): boolean => isRipe(o, request, ages) && eligible(o, request);
  return request.observations.slice(request.frontier).filter(isWaiting);
}

function decide(account: Account, request: RequestView, rule: Rule, eligible: Eligible): Step<Account> {
  const { first, gain, owed, carried } = account;
  if (!first) return { state: account, mask: [], because: NOTHING };
  const { read, write } = rule.prices;
  const rent = read * owed;
  const cached = cachedText(request);
  const rewritten = cached - request.textBefore(first) - gain + gainOfLastTurn(request, rule.ages, eligible);
  const price = Math.max(0, write - read) * Math.max(0, rewritten);
  const spent = write * cached + read * carried;
  const costs = `waiting has cost ${shortCount(rent)} tokens, masking costs ${shortCount(price)}`;
  const step = (act: Reason['act'], because: string): Step<Account> => {
    const reason = { act, because, rent, price, gain, spent };
    if (act === 'wait') return { state: account, mask: [], because: reason };
    return epoch(account, request, rule.ages, eligible, reason);
  };
  if (request.isCold) return step('cold-cache', 'the cache has expired, so masking costs nothing extra');
  if (write === 0) return step('wait', 'tokens cost nothing');
  if (rent < rule.threshold * price) return step('wait', `masking now would cost more than it saves (${costs})`);
  if (price - read * gain > rule.maxLoss * spent)
    return step('wait', 'too much would be lost if the conversation ended now');
  return step('mask', `masking is worth its cost (${costs})`);
}

const NOTHING: Reason = { act: 'wait', because: 'no result that could be masked has left the window' };

/** A mask in the last turn costs nothing: that turn was not cached yet. */
function gainOfLastTurn(request: RequestView, ages: Ages, eligible: Eligible): number {
  let gain = 0;
  for (let i = request.observations.length - 1; i >= 0; i--) {
    const observation = request.observations[i] as Observation;
    if (observation.turn < request.turns) break;
    if (isRipe(observation, request, ages) && eligible(observation, request)) gain += request.gain(observation);
  }
  return gain;
}

/** Masks everything that waits: to stop short never pays, since all behind the first edit is written again anyway. */
function epoch(account: Account, request: RequestView, ages: Ages, eligible: Eligible, because: Reason): Step<Account> {
  const masked = waiting(request, ages, eligible);
  let { carried } = account;
  for (const observation of masked) carried -= request.gain(observation) * (request.turns - observation.turn);
  const state = { ...account, owed: 0, gain: 0, first: undefined, carried };
  return { state, mask: masked.map(({ segment }) => segment), because };
}

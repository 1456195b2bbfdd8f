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
import {
  type Ages,
  agesOf,
  cursorAtEnd,
  hasLeftWindow,
  leavesWindowAt,
  newlyOutside,
  type WindowCursor,
} from '../window-by-kind.ts';

/** Options of `breakEven`. */
export interface BreakEvenOptions extends CommonOptions {
  /** A price list by its name, or a provider's prices as multiples of its base price. @default 'anthropic-5m' */
  readonly prices?: PriceName | OwnPrices;
  /** How many of the last turns stay whole. @default 10 */
  readonly window?: number;
  /** Masks when waiting has cost this share of what masking costs. @default 0.7 */
  readonly threshold?: number;
  /**
   * No epoch may lose more than this share of what the conversation has cost, if it ends right after. @default 0.15
   * less half of the read price, 0.1 at least
   */
  readonly maxLoss?: number;
}

/**
 * Masks only when it pays. A provider bills a cached prefix at `read`, and everything after the first changed byte at
 * `write`. So each unmasked request costs a rent, and a mask costs a price once. The number of later requests is unknown.
 * As in the ski-rental problem, it buys when the rent paid reaches the price.
 *
 * @example
 * ```ts
 * import { breakEven, fit } from 'palimpsest';
 *
 * const { messages } = fit(history, { policy: breakEven({ prices: 'gpt-5', window: 10 }) });
 * ```
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
  return createPolicy<Totals | undefined>({
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
      const totals =
        state && isNext(state, request)
          ? nextTotals(state, request, rule, eligible)
          : totalsOfHistory(request, rule, eligible);
      return decide(totals, request, rule, eligible);
    },
  });
}

const RULES = {
  prices: anything,
  window: count,
  threshold: amount,
  maxLoss: amount,
};

/** A tenth; more if cached tokens are so cheap that only a large mask can save anything. */
const maxLossAt = ({ read }: Prices): number => Math.max(0.1, 0.15 - read / 2);

interface Rule {
  readonly prices: Prices;
  readonly ages: Ages;
  readonly threshold: number;
  readonly maxLoss: number;
}

/**
 * The cost of the conversation so far, with everything as it is sent now: a masked result counts as its placeholder from
 * the start. So a history that was masked before gives the same totals.
 */
interface Totals {
  readonly revision: number;
  readonly cursor: WindowCursor;
  /** The tokens that a mask would have saved on all requests since each result could be masked. */
  readonly owed: number;
  /** The tokens that masking them saves on each request. */
  readonly gain: number;
  /** The first of them. */
  readonly first: Observation | undefined;
  /** The sizes of all requests before this one together. */
  readonly carried: number;
}

const isNext = ({ revision, cursor }: Totals, request: RequestView): boolean =>
  revision === request.revision && cursor.turns === request.turns - 1;

/** The text of the request before this one: it was cached. */
const cachedText = (request: RequestView): number => request.text - request.textOf(request.turns);

function nextTotals(totals: Totals, request: RequestView, { ages }: Rule, eligible: Eligible): Totals {
  const { cursor, fresh } = newlyOutside(totals.cursor, request, ages);
  let { gain, first } = totals;
  for (const observation of fresh) {
    if (!eligible(observation, request)) continue;
    gain += request.gain(observation);
    if (!first || observation.segment < first.segment) first = observation;
  }
  const carried = totals.carried + cachedText(request);
  // A new reference may protect a result that could be masked before.
  const due = request.hasNewReferences ? dueNow(request, ages, eligible) : { owed: totals.owed + gain, gain, first };
  return { revision: request.revision, cursor, carried, ...due };
}

/** The same from the history alone. Needed after turns were left out, results were cut, or results were masked with their references. */
function totalsOfHistory(request: RequestView, { ages }: Rule, eligible: Eligible): Totals {
  const { revision, carried } = request;
  return { revision, cursor: cursorAtEnd(request, ages), carried, ...dueNow(request, ages, eligible) };
}

/** The results that could be masked now, from the whole history. */
function dueNow(request: RequestView, ages: Ages, eligible: Eligible): Pick<Totals, 'owed' | 'gain' | 'first'> {
  let [owed, gain] = [0, 0];
  let first: Observation | undefined;
  for (const observation of waiting(request, ages, eligible)) {
    first ??= observation;
    gain += request.gain(observation);
    owed += request.gain(observation) * (request.turns - Math.max(0, leavesWindowAt(observation, ages)) + 1);
  }
  return { owed, gain, first };
}

/** The results that could be masked now, oldest first. */
function waiting(request: RequestView, ages: Ages, eligible: Eligible): Observation[] {
  const isWaiting = (o: Observation): boolean => hasLeftWindow(o, request, ages) && eligible(o, request);
  return request.observations.slice(request.frontier).filter(isWaiting);
}

function decide(totals: Totals, request: RequestView, rule: Rule, eligible: Eligible): Step<Totals> {
  const { first, gain, owed, carried } = totals;
  if (!first) return { state: totals, mask: [], because: NOTHING };
  const { read, write } = rule.prices;
  const rent = read * owed;
  const cached = cachedText(request);
  const rewritten = cached - request.textBefore(first) - gain + gainOfLastTurn(request, rule.ages, eligible);
  const price = Math.max(0, write - read) * Math.max(0, rewritten);
  const spent = write * cached + read * carried;
  const costs = `waiting has cost ${shortCount(rent)} tokens, masking costs ${shortCount(price)}`;
  const step = (act: Reason['act'], because: string): Step<Totals> => {
    const reason = { act, because, rent, price, gain, spent };
    if (act === 'wait') return { state: totals, mask: [], because: reason };
    return epoch(totals, request, rule.ages, eligible, reason);
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
    if (hasLeftWindow(observation, request, ages) && eligible(observation, request)) gain += request.gain(observation);
  }
  return gain;
}

/** Masks all pending results: masking less never pays, because everything after the first edit is written again anyway. */
function epoch(totals: Totals, request: RequestView, ages: Ages, eligible: Eligible, because: Reason): Step<Totals> {
  const masked = waiting(request, ages, eligible);
  let { carried } = totals;
  for (const observation of masked) carried -= request.gain(observation) * (request.turns - observation.turn);
  const state = { ...totals, owed: 0, gain: 0, first: undefined, carried };
  return { state, mask: masked.map(({ segment }) => segment), because };
}

import type { ArrivalPeriod } from '../../plan/arrival/arrivals.ts';
import { breakEven } from '../../plan/policies/break-even.ts';
import { never } from '../../plan/policies/never.ts';
import type { EpochRecord, Policy } from '../../plan/policy.ts';
import { priceLists } from '../../plan/prices.ts';
import type { Found, GatewayEvent, RecordedPolicy, RecordedPrices, SettingsEvent } from '../conversation/events.ts';
import type { MaskingPrices } from '../wire/request-prices.ts';
import { arrivalOf, arrivalPeriods, isSame } from './arrival-periods.ts';
import type { Facts } from './decision.ts';
import {
  type MakePolicy,
  oncePerPriceList,
  type Period,
  policyWithHistory,
  toRecorded,
} from './policy-with-history.ts';
import type { ReadRequest } from './read-request.ts';

/** The settings that a conversation is planned with. */
export interface Settings {
  /** Equal for planners with the same settings. */
  readonly key: string;
  /** Created on demand: most requests extend the planner of the last one. */
  policy(): Policy;
  readonly recall: boolean;
  readonly overheadTokens: number;
  readonly keepSigned: boolean;
  readonly epochs: readonly EpochRecord[];
  /** How results are made smaller when they are first sent. */
  readonly arrivals: readonly ArrivalPeriod[];
  /** The results that were sent whole, and stay whole. */
  readonly sentWhole: ReadonlySet<number>;
  readonly isOff: boolean;
  /** Whether a request of the conversation to this model is known to have carried edits. */
  readonly wasMasked: boolean;
  /** The prices that the policy uses now. */
  readonly prices: MaskingPrices;
  /** To be recorded once there is an edit. */
  readonly event: SettingsEvent | undefined;
}

/**
 * The settings of a conversation. They are recorded with its first edit and apply from then on, so that a tool that
 * connects later, another system prompt, another price or another policy changes no byte that was sent.
 */
export function settingsOf(request: ReadRequest, facts: Facts, given: Given): Settings {
  const recorded = given.replayed.flatMap((found) =>
    found.event.kind === 'settings' ? [withLookup(found as FoundSettings)] : [],
  );
  const first = recorded[0]?.event;
  const recall = first?.recall ?? (request.hasRecall || facts.hasRecall === true);
  const overheadTokens = first?.overheadTokens ?? nearly(request.overhead.tokens, request.cached?.overheadTokens);
  const last = recorded.at(-1)?.event;
  const { place } = given;
  const make = facts.policy ?? breakEvenAt;
  const { policy, policyKey, arrival, truncate } = facts.policy
    ? recordable(facts.policy, given.prices)
    : DEFAULT_POLICY;
  // A request that is sent again at another price or policy keeps the settings that were recorded on it.
  const isNew = !last || (last.prefix !== place.prefix && isChanged(last, { prices: given.prices, policy, arrival }));
  const prices = isNew ? given.prices : (last.prices as MaskingPrices);
  const periods = periodsOf(request, recorded, { now: isNew ? prices : undefined, policy });
  const isOff = given.replayed.some(({ event }) => event.kind === 'hands-off');
  const keepSigned = facts.boundThinking === 'keep';
  const { isUnsent } = given;
  const sentWhole = new Set(given.replayed.flatMap(({ event }) => (event.kind === 'sent-whole' ? event.segments : [])));
  const kept = [recall, overheadTokens, keepSigned, isUnsent, ...sentWhole];
  const now = { arrival: isNew ? arrival : last.arrival, isNew, isUnsent, truncate };
  return {
    key: isOff ? 'off' : policyKey + JSON.stringify([...periods.map(toKey), ...kept]),
    policy: () => (isOff ? never() : policyWithHistory(make, periods, overheadTokens)),
    recall,
    overheadTokens,
    keepSigned,
    isOff,
    prices,
    sentWhole,
    arrivals: isOff ? [] : arrivalPeriods(request.listed, recorded, now),
    wasMasked: first !== undefined,
    // A forced epoch masks whatever the policy says, so `hands-off` must end its replay too: the original is sent.
    epochs: isOff ? [] : given.replayed.flatMap(({ event, messages }) => epochOf(event, messages)),
    event: isNew
      ? { kind: 'settings', ...place, ...toSettings({ prices, policy, arrival }), recall, overheadTokens }
      : undefined,
  };
}

const breakEvenAt = oncePerPriceList((prices) => breakEven({ prices }));

/** Recorded in the same way at all prices. */
const DEFAULT_POLICY = recordable(breakEvenAt, { ...priceLists.none, canMark: true });

/** The parts of a policy that are recorded, and the size to which it cuts results. */
function recordable(make: MakePolicy, prices: MaskingPrices) {
  const { canMark: _place, ...list } = prices;
  const made = make(list);
  const policy = toRecorded(made, prices);
  return { policy, policyKey: JSON.stringify(policy) ?? '', arrival: arrivalOf(made), truncate: made.maxResultTokens };
}

/** The settings that a new event is recorded for. */
interface Changing {
  readonly prices: MaskingPrices;
  readonly policy: RecordedPolicy | undefined;
  readonly arrival: SettingsEvent['arrival'] | undefined;
}

function toSettings({ prices, policy, arrival }: Changing): Pick<SettingsEvent, 'prices' | 'policy' | 'arrival'> {
  return { prices: toRecordedPrices(prices), ...(policy ? { policy } : {}), ...(arrival ? { arrival } : {}) };
}

interface Given {
  readonly replayed: readonly Found[];
  readonly prices: MaskingPrices;
  readonly place: EventPlace;
  /** Whether the original is sent, whatever is decided. */
  readonly isUnsent: boolean;
}

/** The place of an event: the fields that all events of one request share. */
export type EventPlace = Pick<SettingsEvent, 'prefix' | 'order' | 'model' | 'laterPrefixes'>;

export interface FoundSettings extends Found {
  readonly event: SettingsEvent;
}

/** Events of the first version did not record the lookup: lists with markers had it by their name, others had none. */
function withLookup(found: FoundSettings): FoundSettings {
  const { prices } = found.event as { prices: Partial<RecordedPrices> };
  if (prices.lookup) return found;
  const named = Object.values(priceLists).find(({ name }) => name === prices.name)?.lookup;
  const lookup = named?.kind === 'markers' ? named : priceLists.none.lookup;
  return { ...found, event: { ...found.event, prices: { ...found.event.prices, lookup } } };
}

/** A system prompt with the time of day in it counts as the same: otherwise every request would be planned from the start. */
function nearly(tokens: number, known: number | undefined): number {
  return known !== undefined && Math.abs(tokens - known) <= Math.max(64, known / 50) ? known : tokens;
}

/** Compares prices by the fields that are recorded. */
const toKey = ({ fromTurn, prices, policy }: Period): unknown => [fromTurn, toRecordedPrices(prices), policy];

const toRecordedPrices = ({
  name,
  read,
  write,
  lifeMs,
  leastTokens,
  lookup,
  canMark,
}: MaskingPrices): RecordedPrices => ({
  name,
  read,
  write,
  // JSON has no infinity.
  lifeMs: Math.min(lifeMs, Number.MAX_SAFE_INTEGER),
  leastTokens,
  lookup,
  canMark,
});

/** An event without a policy was recorded under a policy that is not data, or before policies were recorded. */
function isChanged(last: SettingsEvent, { prices, policy, arrival }: Changing): boolean {
  const isSamePolicy = !last.policy || isSame(last.policy, policy);
  const isSameArrival = isSame(last.arrival, arrival);
  return !isSamePolicy || !isSameArrival || !arePricesSame(last.prices as MaskingPrices, prices);
}

function arePricesSame(a: MaskingPrices, b: MaskingPrices): boolean {
  const [recorded, now] = [toRecordedPrices(a), toRecordedPrices(b)];
  return Object.entries(recorded).every(([field, value]) => isSame(value, now[field as keyof RecordedPrices]));
}

/**
 * The first recorded settings apply from the start, each later one from the next turn on: the request may have
 * been sent before, at the old price.
 */
function periodsOf(request: ReadRequest, recorded: readonly FoundSettings[], { now, policy }: Now): Period[] {
  const changes = recorded.map(({ event, messages }) => ({
    messages,
    prices: event.prices as MaskingPrices,
    policy: isSame(event.policy, policy) ? undefined : event.policy,
  }));
  if (now) changes.push({ messages: request.listed.length, prices: now, policy: undefined });
  const turns = changes.length > 1 ? turnsOf(request) : [];
  return changes.map(({ messages, ...period }, i) => ({
    fromTurn: i === 0 ? 0 : (turns[messages - 1] ?? 0) + 1,
    ...period,
  }));
}

interface Now {
  /** The prices of this request, if they must be recorded. */
  readonly now: MaskingPrices | undefined;
  readonly policy: RecordedPolicy | undefined;
}

/** The turn of each message. */
function turnsOf({ wire, listed }: ReadRequest): number[] {
  const viewer = wire.format.viewer();
  return listed.map(({ read }) => {
    viewer.add(read.message, []);
    return viewer.turn;
  });
}

/** A forced epoch masks everything outside its window. */
const ALL = Number.MAX_SAFE_INTEGER;

function epochOf({ kind }: GatewayEvent, messages: number): EpochRecord[] {
  if (kind === 'cold-cache') return [{ turns: 0, messages }];
  return kind === 'over-limit' ? [forcedEpoch(messages)] : [];
}

export const forcedEpoch = (messages: number): EpochRecord => ({ turns: 0, messages, before: ALL });

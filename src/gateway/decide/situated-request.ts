import type { Prices } from '../../plan/prices.ts';
import type { Conversation } from '../conversation/conversation.ts';
import type { GatewayEvent } from '../conversation/events.ts';
import { type Found, findEvents, replayedEvents } from '../conversation/find-events.ts';
import { maskingPrices, requestPrices } from '../wire/request-prices.ts';
import type { Facts } from './decide.ts';
import { type PlannedRequest, planRequest } from './plan-request.ts';
import type { ReadRequest } from './read-request.ts';
import { type Settings, settle } from './settings.ts';

/** All that is known of a request once it was planned. */
export interface SituatedRequest {
  readonly request: ReadRequest;
  readonly facts: Facts;
  readonly conversation: Conversation;
  /** All events on its prefixes. */
  readonly found: readonly Found[];
  readonly settings: Settings;
  /** What the provider bills for a request that is large enough. */
  readonly prices: Prices;
  readonly planned: PlannedRequest;
  /** The events that decided it and are not known to be recorded, its own among them. */
  readonly unrecorded: readonly GatewayEvent[];
  readonly isCountTokens: boolean;
}

interface Ways {
  /** Whether the planner of the request before this one may go on with it. */
  readonly isFree: boolean;
  readonly isCountTokens: boolean;
}

/** Plans a request with all that is known of its conversation. */
export function situate(request: ReadRequest, facts: Facts, { isFree, isCountTokens }: Ways): SituatedRequest {
  const { memory } = facts;
  const { conversation: id, model = '' } = request;
  const conversation = isCountTokens ? memory.peek(id) : memory.conversation(id);
  const found = findEvents(request, conversation);
  const replayed = replayedEvents(found, model);
  const { past } = request;
  const prefix = request.listed.at(-1)?.prefix ?? '';
  const stamp = { prefix, order: conversation.nextOrder, model, ...(past.length > 0 ? { past } : {}) };
  const prices = facts.prices ?? requestPrices(request);
  const settings = settle(request, facts, {
    ...{ replayed, stamp },
    prices: maskingPrices(request, prices, { isOwn: facts.prices !== undefined }),
  });
  const maxTokens = (facts.maxTokens ?? Number.POSITIVE_INFINITY) / memory.ratio(model);
  const planned = planRequest(request, facts, { conversation, settings, stamp, maxTokens, isFree });
  const pending = replayed.map(({ event }) => event).filter((event) => conversation.isPending(event));
  const unrecorded = [...pending, ...planned.events];
  return { request, facts, conversation, found, settings, prices, planned, unrecorded, isCountTokens };
}

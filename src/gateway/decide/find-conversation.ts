import type { Prices } from '../../plan/prices.ts';
import { type Assignment, armOf } from '../conversation/arm.ts';
import type { Conversation } from '../conversation/conversation.ts';
import type { ConversationMemory } from '../conversation/conversation-memory.ts';
import { type Found, findEvents, replayedEvents } from '../conversation/events.ts';
import { maskingPrices, requestPrices } from '../wire/request-prices.ts';
import { isUnderWay } from './continuation.ts';
import type { Facts } from './decision.ts';
import type { ReadRequest } from './read-request.ts';
import { type EventPlace, type Settings, settingsOf } from './settings.ts';

/** A request with everything that is known about its conversation. */
export interface KnownRequest {
  readonly request: ReadRequest;
  readonly facts: Facts;
  readonly conversation: Conversation;
  /** All events on its prefixes. */
  readonly found: readonly Found[];
  /** The events that apply to it. */
  readonly replayed: readonly Found[];
  readonly settings: Settings;
  readonly assignment: Assignment;
  /** The prices that the provider bills for a request that is large enough to be cached. */
  readonly prices: Prices;
  /** The place of events that are decided on this request. */
  readonly place: EventPlace;
  /** The provider's tokens for one of ours. */
  readonly tokenRatio: number;
  /** Whether the planner of the previous request can be extended. */
  readonly isExtendable: boolean;
}

/** Looks up the conversation of a request: its events, the settings that apply, and a planner that can be extended. */
export function findConversation(request: ReadRequest, memory: ConversationMemory, facts: Facts): KnownRequest {
  const { conversation: id, model = '', laterPrefixes, cached } = request;
  const { isCountTokens } = request;
  const conversation = isCountTokens ? memory.peek(id) : memory.conversation(id);
  const found = findEvents(request.listed, conversation);
  const replayed = replayedEvents(found, model);
  const prefix = request.listed.at(-1)?.prefix ?? '';
  const place = {
    prefix,
    order: conversation.nextOrder,
    model,
    ...(laterPrefixes.length > 0 ? { laterPrefixes } : {}),
  };
  const prices = facts.prices ?? requestPrices(request, facts);
  const assignment = armOf(found, conversation, {
    arms: facts.arms,
    session: request.session,
    isUnderWay: () => isUnderWay(request),
  });
  const settings = settingsOf(request, facts, {
    replayed,
    place,
    isUnsent: assignment.arm !== 'treated',
    prices: maskingPrices(request, prices, { isOwn: facts.prices !== undefined }),
  });
  return {
    assignment,
    request,
    facts,
    conversation,
    found,
    replayed,
    settings,
    prices,
    place,
    tokenRatio: memory.ratio(model),
    // A count must leave no trace. While events were loaded, another request may have extended the cached history.
    isExtendable: !isCountTokens && cached !== undefined && memory.holds(cached),
  };
}

import { priceLists } from '../../plan/prices.ts';
import { defaultLimits } from '../gateway-limits.ts';
import type { Decided, Reason, ReceiptDecision } from './decide.ts';
import { showReason } from './left-alone.ts';

/** The decision about a request that passes through: it goes out as it came. */
export function leaveUnread(reason: Reason, limits = defaultLimits): Decided {
  const nothing = { tokens: 0, cached: 0, written: 0 };
  const decision: ReceiptDecision = {
    act: 'pass-through',
    because: showReason(reason, limits),
    reason,
    prices: priceLists.none,
    epoch: 0,
    masked: 0,
    newMasks: [],
    without: nothing,
    sent: nothing,
    streamed: false,
    isCountTokens: false,
  };
  const decided: Decided = {
    body: undefined,
    headers: {},
    conversation: '',
    title: '',
    hidden: [],
    fresh: [],
    events: [],
    decision,
    original: { body: undefined, headers: {} },
    stored: () => {},
    putOff: () => decided,
    answered: () => {},
    refused: () => [],
  };
  return decided;
}

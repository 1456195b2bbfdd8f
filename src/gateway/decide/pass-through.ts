import { priceLists } from '../../plan/prices.ts';
import { defaultLimits } from '../gateway-limits.ts';
import type { Decision, Outgoing } from './decision.ts';
import { type Reason, showReason } from './reasons.ts';

/** The bytes and headers that came. */
export const UNCHANGED: Outgoing = { body: undefined, headers: {} };

/** The decision about a request that goes out as it came, unread. */
export function passThrough(reason: Reason, limits = defaultLimits): Decision {
  const nothing = { tokens: 0, cached: 0, written: 0 };
  return {
    ...UNCHANGED,
    conversation: '',
    title: '',
    hidden: [],
    fresh: [],
    events: [],
    explanation: {
      act: 'pass-through',
      because: showReason(reason, limits),
      reason,
      prices: priceLists.none,
      epoch: 0,
      masked: 0,
      newMasks: 0,
      without: nothing,
      sent: nothing,
      streamed: false,
      isCountTokens: false,
    },
  };
}

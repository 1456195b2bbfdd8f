import type { CacheLookup } from '../../plan/prices.ts';

/**
 * A fact that changes the bytes of a conversation and that its messages do not show. It is recorded with the prefix on which
 * it was decided, and replayed by every later request that begins with that prefix.
 */
export type GatewayEvent = ColdCacheEvent | OverLimitEvent | SettingsEvent | HandsOffEvent | BoundThinkingEvent;

interface Recorded {
  /** The canonical hash of the messages of the request. */
  readonly prefix: string;
  /** Higher than that of every event of the conversation that was known when it was decided. */
  readonly order: number;
}

/** A provider has a cache for each model: what was decided for one is not for the others. */
interface OfModel extends Recorded {
  readonly model: string;
  /** The next prefixes of longer requests that were sent before without this event: it does not apply to those. */
  readonly laterPrefixes?: readonly string[];
}

/** An epoch that was free, since the provider's cache had died. */
export interface ColdCacheEvent extends OfModel {
  readonly kind: 'cold-cache';
}

/** An epoch whatever its price, since the request would not have fitted. */
export interface OverLimitEvent extends OfModel {
  readonly kind: 'over-limit';
}

/** The settings at the time of the first mask, and again whenever prices change. */
export interface SettingsEvent extends OfModel {
  readonly kind: 'settings';
  readonly prices: SettledPrices;
  /** Whether placeholders name the tool `recall`. */
  readonly recall: boolean;
  /** The size of system prompt and tools. */
  readonly overheadTokens: number;
}

/** Prices as a policy needs them. */
export interface SettledPrices {
  readonly name: string;
  readonly read: number;
  readonly write: number;
  readonly lifeMs: number;
  readonly leastTokens: number;
  readonly lookup: CacheLookup;
  /** Whether a marker can be put before an edit. */
  readonly canMark: boolean;
}

/** The provider refused what was edited and took the original: the conversation is left alone from here on. */
export interface HandsOffEvent extends Recorded {
  readonly kind: 'hands-off';
  readonly because: string;
  /** Thinking in it is bound to masks that were sent before. */
  readonly wasEdited: boolean;
}

/** The provider said that thinking is bound to the messages before it. */
export interface BoundThinkingEvent extends Recorded {
  readonly kind: 'bound-thinking';
}

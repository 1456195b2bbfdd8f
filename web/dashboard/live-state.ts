import type { ConversationSummary, Mask, Receipt, Shaped, Status } from '../../src/gateway/receipts/receipt.ts';
import type { ConversationDetail, Update } from './gateway-api.ts';

export type Connection =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  | { readonly kind: 'lost'; readonly because: string; readonly retryAt: number }
  | { readonly kind: 'refused'; readonly because: string };

/** The open conversation. Without `conversation` it is loading. */
export interface Opened {
  readonly id: string;
  readonly conversation?: ConversationSummary;
  readonly receipts: readonly Receipt[];
  readonly masks: readonly Mask[];
  readonly shaped: readonly Shaped[];
  readonly failure?: string;
}

/** The state of the page. */
export interface LiveState {
  readonly connection: Connection;
  readonly status?: Status;
  readonly conversations: readonly ConversationSummary[];
  /** Whether the gateway may have more conversations. */
  readonly hasMore: boolean;
  readonly opened?: Opened;
}

export const nothingYet: LiveState = { connection: { kind: 'connecting' }, conversations: [], hasMore: false };

/**
 * Applies live updates. A new conversation goes to the top. A known one stays in place, so that nothing moves while the reader points
 * at it.
 */
export function withUpdates(state: LiveState, updates: readonly Update[]): LiveState {
  const last = updates.at(-1);
  if (!last) return state;
  return {
    ...state,
    ...(state.status ? { status: { ...state.status, totals: last.totals } } : {}),
    conversations: withSummaries(
      state.conversations,
      updates.map(({ conversation }) => conversation),
    ),
    ...(state.opened ? { opened: updates.reduce(withReceipt, state.opened) } : {}),
  };
}

function withSummaries(
  known: readonly ConversationSummary[],
  changed: readonly ConversationSummary[],
): ConversationSummary[] {
  const newest = new Map(changed.map((summary) => [summary.id, summary]));
  const kept = known.map((summary) => newest.get(summary.id) ?? summary);
  for (const { id } of known) newest.delete(id);
  return [...[...newest.values()].reverse(), ...kept];
}

function withReceipt(opened: Opened, { receipt, conversation }: Update): Opened {
  if (receipt.conversation !== opened.id) return opened;
  return {
    ...opened,
    ...(opened.conversation ? { conversation } : {}),
    receipts: mergeReceipts(opened.receipts, [receipt]),
    masks: mergeMasks(opened.masks, receipt.newMasks),
    shaped: mergeMasks(opened.shaped, receipt.newShaped ?? []),
  };
}

/** Merges the loaded details with live updates that came meanwhile. */
export function withDetail(opened: Opened, { conversation, receipts, masks, shaped }: ConversationDetail): Opened {
  const isNewer = (opened.conversation?.requests ?? 0) > conversation.requests;
  return {
    id: opened.id,
    conversation: isNewer && opened.conversation ? opened.conversation : conversation,
    receipts: mergeReceipts(receipts, opened.receipts),
    masks: mergeMasks(masks, opened.masks),
    shaped: mergeMasks(shaped, opened.shaped),
  };
}

/** As many as the gateway keeps of a conversation, so the page does not grow forever. */
const MOST_RECEIPTS = 500;

function mergeReceipts(a: readonly Receipt[], b: readonly Receipt[]): Receipt[] {
  const byId = new Map([...a, ...b].map((receipt) => [receipt.id, receipt]));
  const sorted = [...byId.values()].sort((one, other) => one.request - other.request);
  return sorted.slice(-MOST_RECEIPTS);
}

export const keyOfMask = ({ handle, turn }: Mask): string => `${turn} ${handle}`;

function mergeMasks<M extends Mask>(a: readonly M[], b: readonly M[]): readonly M[] {
  return b.length === 0 ? a : [...new Map([...a, ...b].map((mask) => [keyOfMask(mask), mask])).values()];
}

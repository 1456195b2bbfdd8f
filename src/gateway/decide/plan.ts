import type { ReplaceEdit, Segment } from '../../message.ts';
import type { Hidden } from '../../plan/ledger/hidden.ts';
import { isArrival } from '../../plan/ledger/rows.ts';
import { allParts } from '../../plan/parts/all-parts.ts';
import { Planner } from '../../plan/planner.ts';
import type { EpochRecord } from '../../plan/policy.ts';
import type { Report } from '../../plan/report.ts';
import { handleOf } from '../../store/handle.ts';
import type { CachedHistory, Listed, SentRequest } from '../conversation/cached-history.ts';
import type { GatewayEvent } from '../conversation/events.ts';
import { newestTurn, takePeriods } from './arrival-periods.ts';
import { changedSince, checkEdits } from './edits.ts';
import type { KnownRequest } from './find-conversation.ts';
import { createReadFormat, ReadViewer } from './read-format.ts';
import type { ReadMessage } from './read-message.ts';
import type { ReadRequest } from './read-request.ts';
import { forcedEpoch, type Settings } from './settings.ts';

/** A request with the plan for it. The planner may get the next request meanwhile: nothing here changes with it. */
export interface PlannedRequest extends KnownRequest {
  readonly report: Report;
  readonly edits: readonly ReplaceEdit[];
  /** The texts that the edits hide, and the originals of results that were cut before they were masked. */
  readonly hidden: readonly Hidden[];
  /** The view of all messages. It only grows. */
  readonly segments: readonly Segment[];
  /** The last segment that is signed over everything before it. */
  readonly lastSigned: number;
  /** The size of the part before the first edit that is new in this request; undefined if none is new. */
  readonly unchangedTokens: number | undefined;
  /** Kept in memory for the next request. */
  readonly history: CachedHistory;
  /** Events decided on this request. */
  readonly events: readonly GatewayEvent[];
  /** Every event that this plan depends on and that may not be recorded yet. */
  readonly unrecorded: readonly GatewayEvent[];
  /** The law that the plan breaks: then nothing is edited. */
  readonly broken: string | undefined;
}

/** Plans a request. One that extends a cached history costs only its new messages. */
export function planRequest(known: KnownRequest): PlannedRequest {
  const { request, settings, place, conversation } = known;
  const isCold = isCacheCold(known);
  const events: GatewayEvent[] = [];
  let progress = extend(known, isCold) ?? planAll(request, settings, { epochs: [...settings.epochs], isCold });
  const messages = request.listed.length;
  // Recorded on this request, or on the same one with fewer messages.
  const turnStart = lastReply(request.listed);
  const isRecorded = progress.epochs.some((epoch) => epoch.messages > turnStart && epoch.before === undefined);
  if (progress.planner.report().record && !isRecorded) {
    events.push({ kind: 'cold-cache', ...place });
    progress.epochs.push({ turns: 0, messages });
  }
  if (isOverLimit(known, progress.planner)) {
    events.push({ kind: 'over-limit', ...place });
    progress = planAll(request, settings, { epochs: [...progress.epochs, forcedEpoch(messages)], isCold });
  }
  const { planner } = progress;
  const all = planner.ledger.edits();
  const edits = all.filter(isReplace);
  if (settings.event && edits.length > 0) events.unshift(settings.event);
  const pending = known.replayed.map(({ event }) => event).filter((event) => conversation.isPending(event));
  return {
    ...known,
    report: planner.report(),
    edits,
    events,
    unrecorded: [...pending, ...events],
    segments: planner.ledger.segments,
    lastSigned: planner.ledger.lastSigned,
    hidden: edits.length > 0 ? planner.hidden.slice() : [],
    unchangedTokens: unchangedTokens(progress, edits),
    history: toHistory(request, settings, progress),
    broken: edits.length < all.length ? LEAVES_OUT : checkEdits(request, progress, edits),
  };
}

const LEAVES_OUT = 'the policy leaves messages out, which a gateway does not';

/** A planner with all messages appended, and the request that was sent before this one. */
interface Progress extends Pick<CachedHistory, 'planner' | 'epochs' | 'arrivals' | 'checked' | 'answered' | 'shaped'> {}

/** Appends the new messages to the planner of the previous request. Undefined if that is not possible. */
function extend({ request, settings, isExtendable }: KnownRequest, isCold: boolean): Progress | undefined {
  const { cached, listed } = request;
  if (!isExtendable || !cached?.isExtendable || cached.settings !== settings.key) return undefined;
  if (!takeEpochs(cached, settings.epochs) || !takePeriods(cached, settings.arrivals)) return undefined;
  const fresh = listed.slice(cached.listed.length).map(({ read }) => read);
  // A decision stays, unless the cache has expired since.
  if (isCold && fresh.length === 0) return undefined;
  const { planner, shaped, carried } = cached;
  for (const edit of carried) if (isArrival(edit.why)) shaped.set(edit.segment, edit);
  const missed = lastReply(listed) - cached.listed.length;
  if (missed <= 0) {
    planner.take(fresh, { isCold });
    return cached;
  }
  // Requests in between went to another gateway: the last of them is the one to compare with.
  planner.take(fresh.slice(0, missed));
  const answered = { last: requestBefore(planner, settings, lastReply(listed)) };
  planner.take(fresh.slice(missed), { isCold });
  return { ...cached, answered };
}

/**
 * Passes recorded epochs to the planner, if they are on messages that it does not have yet. False if there are others, or if the planner has
 * one that does not apply to this request: a late request may have one that longer requests were sent without.
 */
function takeEpochs({ epochs, listed }: CachedHistory, recorded: readonly EpochRecord[]): boolean {
  const keyOf = ({ messages, before }: EpochRecord): string => `${messages} ${before ?? ''}`;
  const known = new Set(epochs.map(keyOf));
  const applied = new Set(recorded.map(keyOf));
  const fresh = recorded.filter((epoch) => !known.has(keyOf(epoch)));
  if ([...known].some((key) => !applied.has(key)) || fresh.some(({ messages }) => messages <= listed.length))
    return false;
  epochs.push(...fresh);
  return true;
}

interface Start {
  readonly epochs: EpochRecord[];
  readonly isCold: boolean;
}

/** Plans all messages from the start: a new conversation, a fork, or one whose settings changed. */
function planAll(request: ReadRequest, settings: Settings, { epochs, isCold }: Start): Progress {
  const arrivals = [...settings.arrivals];
  const planner = createPlanner(request, settings, { epochs, arrivals });
  const all = request.listed.map(({ read }) => read);
  const messages = lastReply(request.listed);
  if (messages > 0) planner.take(all.slice(0, messages));
  const sent = requestBefore(planner, settings, messages);
  planner.take(all.slice(messages), { isCold });
  const known = request.cached?.answered.last;
  const last = known && known.messages >= messages ? known : sent;
  const shaped = shapedBefore(request.cached, sent.edits);
  return { planner, epochs, arrivals, checked: new Map(), answered: { last }, shaped };
}

function shapedBefore(
  cached: CachedHistory | undefined,
  replayed: ReadonlyMap<number, ReplaceEdit>,
): Map<number, ReplaceEdit> {
  const carried = cached ? cached.carried : [...replayed.values()];
  const shaped = carried.filter(({ why }) => isArrival(why)).map((edit) => [edit.segment, edit] as const);
  return new Map([...(cached?.shaped ?? []), ...shaped]);
}

function createPlanner(
  request: ReadRequest,
  settings: Settings,
  { epochs, arrivals }: Pick<CachedHistory, 'epochs' | 'arrivals'>,
): Planner<ReadMessage> {
  const { viewed } = request;
  return new Planner(createReadFormat(request.wire.format), {
    viewed: viewed && { ...viewed, viewer: new ReadViewer(viewed.viewer) },
    policy: settings.policy(),
    parts: allParts,
    epochs,
    arrivalPeriods: arrivals,
    sentWhole: settings.sentWhole,
    handleOf,
    model: request.model,
    show: settings.recall ? 'recall' : 'handle',
    keepSigned: settings.keepSigned,
    overheadTokens: settings.overheadTokens,
  });
}

/** The request that the last reply answered, as a planner decided about it. */
function requestBefore(planner: Planner<ReadMessage>, { wasMasked }: Settings, messages: number): SentRequest {
  const edits = wasMasked ? planner.ledger.edits().filter(isReplace) : [];
  const { tokensBefore: before, tokens: after } = planner.ledger.totals;
  return { edits: new Map(edits.map((edit) => [edit.segment, edit])), messages, tokens: { before, after } };
}

const isReplace = (edit: { readonly kind: string }): edit is ReplaceEdit => edit.kind === 'replace';

/** The number of messages in the request that the last reply answered. */
function lastReply(listed: readonly Listed[]): number {
  let index = newestTurn(listed);
  while (index > 0 && listed[index - 1]?.read.isReply) index -= 1;
  return index;
}

/**
 * Whether the provider's cache has expired since the last request of this history, or the model is new and has no cache.
 * If more than one reply is new to us, another gateway has served the conversation meanwhile: then it counts as warm.
 */
function isCacheCold({ request, facts, conversation, settings }: KnownRequest): boolean {
  const { cached, listed, model, knownMessages } = request;
  const { read, write, lifeMs } = settings.prices;
  if (lifeMs === 0 || read >= write) return false;
  const usedAt = conversation.cacheUse.usedAt(listed, model);
  if (cached) return usedAt !== undefined && lastReply(listed) <= cached.listed.length && facts.now - usedAt > lifeMs;
  const isNew = usedAt === undefined && !settings.wasMasked;
  return isNew && conversation.cacheUse.isUsed(listed) && lastReply(listed) <= knownMessages;
}

function isOverLimit({ settings, facts, tokenRatio }: KnownRequest, planner: Planner<ReadMessage>): boolean {
  const { maxTokens = Number.POSITIVE_INFINITY } = facts;
  return !settings.isOff && planner.tokens > maxTokens / tokenRatio && planner.forceable().length > 0;
}

function unchangedTokens(
  { planner, answered: { last: sent } }: Progress,
  edits: readonly ReplaceEdit[],
): number | undefined {
  const { ledger } = planner;
  const [first] = changedSince(sent.edits, edits);
  const message = first && (ledger.segments[first.segment] as Segment).message;
  return message === undefined || message >= sent.messages ? undefined : ledger.tokens - ledger.tokensFrom(message);
}

function toHistory(request: ReadRequest, { key, overheadTokens }: Settings, progress: Progress): CachedHistory {
  const { body, listed, model } = request;
  // The bytes, their parsed form, and the planner's notes on each message and piece. A value may be as short as `0,`.
  const parts = listed.reduce((sum, { prefixes, values }) => sum + 600 * prefixes.length + 100 * values, 0);
  const size = 3 * body.length + 2500 * listed.length + parts;
  return {
    ...progress,
    body,
    listed,
    model,
    settings: key,
    overheadTokens,
    isExtendable: true,
    carried: [],
    size,
  };
}

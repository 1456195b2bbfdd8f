import type { ReplaceEdit, Segment } from '../../message.ts';
import type { Hidden } from '../../plan/ledger/hidden.ts';
import { Planner } from '../../plan/planner.ts';
import type { EpochRecord } from '../../plan/policy.ts';
import type { Report } from '../../plan/report.ts';
import { handleOf } from '../../store/handle.ts';
import type { Branch, Listed } from '../conversation/branch.ts';
import type { Conversation } from '../conversation/conversation.ts';
import type { GatewayEvent } from '../conversation/events.ts';
import type { Facts } from './decide.ts';
import { changedSince } from './masks.ts';
import type { ReadRequest } from './read-request.ts';
import { forcedEpoch, type Settings, type Stamp } from './settings.ts';

/** What the engine made of a request. The planner may go on with the next one meanwhile: nothing here changes with it. */
export interface PlannedRequest {
  readonly report: Report;
  readonly edits: readonly ReplaceEdit[];
  /** What the edits hide, and what stands behind results that were cut before they were masked. */
  readonly hidden: readonly Hidden[];
  /** The view of all messages. It only grows. */
  readonly segments: readonly Segment[];
  /** The last segment that is signed over everything before it. */
  readonly lastSigned: number;
  /** The size of what stands before the first edit that the last request did not carry; undefined if there is none. */
  readonly unchangedTokens: number | undefined;
  /** What decided it, for the next request. */
  readonly branch: Branch;
  /** What must be recorded. */
  readonly events: readonly GatewayEvent[];
  /** The law that the plan breaks: then nothing is edited. */
  readonly broken: string | undefined;
}

/** What is known of a conversation when it is planned. */
export interface Situation {
  readonly conversation: Conversation;
  readonly settings: Settings;
  readonly stamp: Stamp;
  /** Above it an epoch is forced, in tokens of ours. */
  readonly maxTokens: number;
  /** Whether the planner of the request before this one may go on with it. */
  readonly isFree: boolean;
}

/** Plans a request. One that extends a known one costs what is new. */
export function planRequest(request: ReadRequest, facts: Facts, situation: Situation): PlannedRequest {
  const { settings, stamp, isFree } = situation;
  const isCold = isCacheCold(request, facts.now, situation);
  const events: GatewayEvent[] = [];
  const known = isFree ? extend(request, settings, isCold) : undefined;
  let line = known ?? planAll(request, settings, { epochs: [...settings.epochs], isCold });
  const messages = request.listed.length;
  // On this request, or on the same before another message came.
  const turnStart = lastReply(request.listed);
  const isRecorded = line.epochs.some((epoch) => epoch.messages > turnStart && epoch.before === undefined);
  if (line.planner.report().record && !isRecorded) {
    events.push({ kind: 'cold-cache', ...stamp });
    line.epochs.push({ turns: 0, messages });
  }
  if (!settings.isOff && line.planner.tokens > situation.maxTokens && line.planner.forceable().length > 0) {
    events.push({ kind: 'over-limit', ...stamp });
    line = planAll(request, settings, { epochs: [...line.epochs, forcedEpoch(messages)], isCold });
  }
  return finish(request, settings, line, events);
}

/** A planner with all messages taken in, and what is assumed to have been sent before. */
interface Line extends Pick<Branch, 'planner' | 'epochs' | 'lawful' | 'sent' | 'sentMessages' | 'sentTokens'> {}

/** Goes on with the planner of the request before this one. */
function extend(request: ReadRequest, settings: Settings, isCold: boolean): Line | undefined {
  const { branch, listed } = request;
  if (!branch?.canGoOn || branch.settings !== settings.key || !takeEpochs(branch, settings.epochs)) return undefined;
  const fresh = listed.slice(branch.listed.length).map(({ read }) => read.message);
  // What was decided once is decided, unless the cache has died since.
  if (isCold && fresh.length === 0) return undefined;
  branch.planner.take(fresh, { isCold });
  return branch;
}

/** Hands epochs over that were recorded since, on messages that are still to be taken in. False if there are others. */
function takeEpochs({ epochs, listed }: Branch, recorded: readonly EpochRecord[]): boolean {
  const keyOf = ({ messages, before }: EpochRecord): string => `${messages} ${before ?? ''}`;
  const known = new Set(epochs.map(keyOf));
  const fresh = recorded.filter((epoch) => !known.has(keyOf(epoch)));
  if (fresh.some(({ messages }) => messages <= listed.length)) return false;
  epochs.push(...fresh);
  return true;
}

interface Start {
  readonly epochs: EpochRecord[];
  readonly isCold: boolean;
}

/** Plans all from the start: a conversation that is new to us, a fork, or one whose settings changed. */
function planAll(request: ReadRequest, settings: Settings, { epochs, isCold }: Start): Line {
  const planner = createPlanner(request, settings, epochs);
  const messages = request.listed.map(({ read }) => read.message);
  const sentMessages = lastReply(request.listed);
  if (sentMessages > 0) planner.take(messages.slice(0, sentMessages));
  const sent = textsOf(settings.wasMasked ? editsOf(planner) : []);
  const { tokens } = planner.report();
  planner.take(messages.slice(sentMessages), { isCold });
  const known = request.branch;
  const line = { planner, epochs, lawful: new Set<ReplaceEdit>(), sent, sentMessages, sentTokens: tokens };
  if (!known || known.sentMessages < sentMessages) return line;
  return { ...line, sent: known.sent, sentMessages: known.sentMessages, sentTokens: known.sentTokens };
}

function createPlanner(request: ReadRequest, settings: Settings, epochs: EpochRecord[]): Planner<object> {
  return new Planner(request.wire.format, {
    policy: settings.policy(),
    epochs,
    handleOf,
    model: request.model,
    show: settings.recall ? 'recall' : 'handle',
    keepSigned: settings.keepSigned,
    overheadTokens: settings.overheadTokens,
  });
}

/** How many messages the request had that this one's last reply answered. */
function lastReply(listed: readonly Listed[]): number {
  let index = listed.length;
  while (index > 0 && !listed[index - 1]?.read.isReply) index -= 1;
  while (index > 0 && listed[index - 1]?.read.isReply) index -= 1;
  return index;
}

/**
 * Whether the provider's cache has died since the last request, or the model is new to the conversation and has none.
 * Where more than one reply is new to us, somebody else has served the conversation meanwhile, and nobody knows.
 */
function isCacheCold(request: ReadRequest, now: number, { conversation, settings }: Situation): boolean {
  const { branch, listed, model, knownMessages } = request;
  const { read, write, lifeMs } = settings.prices;
  if (lifeMs === 0 || read >= write) return false;
  const usedAt = conversation.usedAt(model);
  if (branch) return usedAt !== undefined && lastReply(listed) <= branch.listed.length && now - usedAt > lifeMs;
  const isNew = usedAt === undefined && !settings.wasMasked;
  return isNew && conversation.isUsed && lastReply(listed) <= knownMessages;
}

const isReplace = (edit: { readonly kind: string }): edit is ReplaceEdit => edit.kind === 'replace';

const editsOf = (planner: Planner<object>): readonly ReplaceEdit[] => planner.ledger.edits().filter(isReplace);

const textsOf = (edits: readonly ReplaceEdit[]): Map<number, string> =>
  new Map(edits.map(({ segment, text }) => [segment, text]));

function finish(request: ReadRequest, settings: Settings, line: Line, events: GatewayEvent[]): PlannedRequest {
  const { planner } = line;
  const all = planner.ledger.edits();
  const edits = all.filter(isReplace);
  if (settings.event && edits.length > 0) events.unshift(settings.event);
  const isStructural = edits.length < all.length;
  const { segments, lastSigned } = planner.ledger;
  return {
    report: planner.report(),
    ...{ edits, events, segments, lastSigned },
    hidden: edits.length > 0 ? planner.hidden.slice() : [],
    unchangedTokens: unchangedTokens(line, edits),
    branch: toBranch(request, settings, line),
    broken: isStructural ? 'the policy leaves messages out, which a gateway does not' : brokenLaw(line, edits),
  };
}

function unchangedTokens({ planner, sent, sentMessages }: Line, edits: readonly ReplaceEdit[]): number | undefined {
  const { ledger } = planner;
  const [first] = changedSince(sent, edits);
  const message = first && (ledger.segments[first.segment] as Segment).message;
  return message === undefined || message >= sentMessages ? undefined : ledger.tokens - ledger.tokensFrom(message);
}

/** A replacement keeps the laws or breaks them by itself: what was checked once is not checked again. */
function brokenLaw({ planner, lawful }: Line, edits: readonly ReplaceEdit[]): string | undefined {
  if (edits.every((edit) => lawful.has(edit))) return undefined;
  const { plan, messages } = planner.result();
  const [violation] = planner.check(planner.ledger.messages, messages, plan);
  if (!violation) for (const edit of edits) lawful.add(edit);
  return violation?.text;
}

function toBranch(request: ReadRequest, { key, overheadTokens }: Settings, line: Line): Branch {
  const { body, listed, model } = request;
  const { planner, epochs, lawful, sent, sentMessages, sentTokens } = line;
  // The bytes, what was parsed of them, and the planner's notes on each message and piece. A value may be as short as `0,`.
  const parts = listed.reduce((sum, { prefixes, values }) => sum + 600 * prefixes.length + 100 * values, 0);
  const size = 3 * body.length + 2500 * listed.length + parts;
  return {
    ...{ body, listed, model, planner, settings: key, overheadTokens, canGoOn: true },
    ...{ epochs, lawful, sent, sentMessages, sentTokens, size },
  };
}

import { requestLimits } from '../../limits.ts';
import { conversationId } from '../../store/access.ts';
import { inTime } from '../../store/in-time.ts';
import { hasResult } from '../conversation/cached-history.ts';
import type { ConversationMemory } from '../conversation/conversation-memory.ts';
import type { GatewayEvent } from '../conversation/events.ts';
import { afterStored, decide, headerSession, type Opened, openRequest, toArm, withoutStore } from '../decide/decide.ts';
import type { Decision, GatewayRequest } from '../decide/decision.ts';
import type { StoreTrouble } from '../decide/pass-through.ts';
import { passThrough } from '../decide/pass-through.ts';
import type { GatewayContext } from '../gateway-context.ts';
import { codeOf } from '../receipts/log.ts';
import { providers } from '../wire/providers.ts';
import { armOfUnread, keepArm, learnArm } from './arms.ts';
import type { Understood } from './exchange.ts';
import { type Patience, patientFromNow, type StoreGate } from './store-gate.ts';

/** Decides about a request, and stores the texts that it hides before it may be sent. If anything fails, the original is sent. */
export async function decideAndStore(
  context: GatewayContext,
  incoming: Understood,
  request: GatewayRequest,
): Promise<Decision> {
  try {
    return await decideWithStore(context, incoming, request);
  } catch (error) {
    const { requestId } = incoming.client.ids;
    context.log({ level: 'error', message: 'could not decide', requestId, code: codeOf(error), api: request.api });
    return passUnread(request, passThrough('failed'));
  }
}

/** The decision to pass a request through unread, with the session in its headers. */
export const passUnread = (request: Pick<GatewayRequest, 'api' | 'headers'>, decision: Decision): Decision => ({
  ...decision,
  session: headerSession(request),
});

/** The decision about an unread request, with its arm. Only the record needs the arm: call it after the answer. */
export async function withArmOfUnread(
  context: GatewayContext,
  { tenant }: Understood,
  decision: Decision,
): Promise<Decision> {
  const patience = patientFromNow();
  const { session } = decision;
  const gate = context.tenants.opened(tenant) ?? (await gateOf(context, tenant, patience));
  return { ...decision, ...toArm(await armOfUnread(context, { tenant, session, gate, patience })) };
}

async function decideWithStore(
  context: GatewayContext,
  { client, tenant, route, credential }: Understood,
  request: GatewayRequest,
): Promise<Decision> {
  const warn = (code: StoreTrouble): void => warnOf(context, code, client.ids.requestId);
  const { isCountTokens } = route;
  const providerPrices = providers[route.provider].prices;
  const hasRecall = context.hasRecall(tenant);
  const memory = context.tenants.memory(tenant, route.provider);
  const opened = openRequest(request, memory, context.facts.limits);
  const { conversation, session } = opened;
  if (!conversation) return decide(opened, memory, { ...context.facts, providerPrices, hasRecall, now: context.now() });
  const patience = mayHaveMasks(context, opened, memory) ? patientFromNow() : undefined;
  const gate = context.tenants.opened(tenant) ?? (await gateOf(context, tenant, patience));
  const asked = { gate, memory, conversation, session, patience };
  const [trouble, arms] = await Promise.all([
    learnEvents(context, asked),
    learnArm(context, { gate, tenant, opened, credential, patience }),
  ]);
  const storeTrouble = trouble ?? arms.trouble ?? (await learnSecret(gate, credential, patience));
  const owner = typeof gate === 'string' ? undefined : gate.ownerOf(credential);
  if (typeof gate !== 'string' && !isCountTokens) await keepInUse(context, { ...asked, gate, owner });
  const known = { providerPrices, hasRecall, owner, storeTrouble, arms };
  const decision = decide(opened, memory, { ...context.facts, ...known, now: context.now() });
  if (storeTrouble) warn(storeTrouble);
  await keepArm(context, { gate, tenant, memory, trouble: arms.trouble }, decision);
  // A count is planned like a request, but nothing is stored.
  if (isCountTokens || (decision.fresh.length === 0 && decision.events.length === 0))
    return recordLater(gate, decision);
  const kept =
    typeof gate === 'string' ? gate : await gate.keep(decision, owner, wasMasked(decision) ? patience : undefined);
  if (kept === 'stored') {
    afterStored(decision);
    return decision;
  }
  warn(kept);
  const held = recordLater(gate, withoutStore(decision, kept));
  if (held.fresh.length === 0 || typeof gate === 'string' || kept !== 'store-full') return held;
  return keepSent(gate, held);
}

/** Results that were sent whole without the store stay whole, also for other gateways. */
function recordLater(gate: StoreGate | StoreTrouble, decision: Decision): Decision {
  if (typeof gate !== 'string') gate.recordLater(decision.conversation, decision.laterEvents);
  return decision;
}

/**
 * Stores again the texts of masks that were sent, if the store has deleted them since. One by one, in the order in which they
 * were masked: a gateway that forgot the last request takes masks that waited for sent ones, and those do not fit.
 */
async function keepSent(gate: StoreGate, held: Decision): Promise<Decision> {
  for (const text of held.fresh) {
    const one = { ...held, fresh: [text] };
    if ((await gate.keep(one, held.basis?.owner)) !== 'stored') return withoutStore(held, 'store-failed');
    afterStored(one);
  }
  return held;
}

/**
 * Whether masks of the request may have been sent that this process does not know of: before it started, before it forgot the
 * conversation, or by another gateway on the same store. Without them the provider would not find its cache, and the request may
 * exceed the window.
 */
const mayHaveMasks = (
  { isStoreShared }: GatewayContext,
  { read, conversation }: Opened,
  memory: ConversationMemory,
): boolean =>
  typeof read !== 'string' && (isStoreShared || !memory.hasEvents(conversation)) && read.listed.some(hasResult);

const wasMasked = ({ basis }: Decision): boolean => basis?.planned.settings.wasMasked === true;

/** A request does not fail if the store cannot be opened. */
async function gateOf(context: GatewayContext, tenant: string, patience?: Patience): Promise<StoreGate | StoreTrouble> {
  const opening = context.tenants.gate(tenant).catch((error) => {
    context.log({ level: 'error', message: 'the store could not be opened', code: codeOf(error) });
    return 'store-failed' as const;
  });
  // A store that hangs while it is opened must not delay each request.
  const leftMs = (patience?.() ?? 0) - context.tenants.openingMs(tenant);
  return inTime(opening, Math.max(requestLimits.storeWaitMs, leftMs), () => 'store-slow' as const);
}

interface Asked {
  readonly gate: StoreGate | StoreTrouble;
  readonly memory: ConversationMemory;
  readonly conversation: string;
  readonly session: string;
  readonly patience: Patience | undefined;
}

/** Loads the events that this or another gateway recorded. Returns the reason if that was not possible. */
async function learnEvents(
  { isStoreShared }: GatewayContext,
  { gate, memory, conversation, patience }: Asked,
): Promise<StoreTrouble | undefined> {
  if (!isStoreShared && memory.hasEvents(conversation)) return undefined;
  const events = typeof gate === 'string' ? gate : await gate.events(conversation, patience);
  if (typeof events === 'string') return events;
  memory.learnEvents(conversation, events);
  return undefined;
}

/** Marks the conversation as used, and stores removed texts again: this request carries the originals. */
async function keepInUse(
  { now }: GatewayContext,
  {
    gate,
    memory,
    conversation,
    session,
    owner,
  }: Asked & { readonly gate: StoreGate; readonly owner: string | undefined },
): Promise<void> {
  const names = { conversation, session };
  gate.use(names, owner);
  const known = memory.conversation(conversation);
  const deletions = await gate.deletions();
  if (typeof deletions === 'number' && known.forgetStoredIfDeleted(deletions))
    gate.record(conversation, known.recorded);
  if (known.markTouched(conversationId(session, owner), now())) gate.touch(names, owner);
}

/** After a start, small talk may be answered before the store can name its user. */
export const isOwnerUnknown = ({ tenants }: GatewayContext, { tenant, credential }: Understood): boolean =>
  credential !== undefined && tenants.opened(tenant)?.ownerOf(credential) === undefined;

/** Waits for the name of the user, for a short time. */
export async function learnOwner(context: GatewayContext, { tenant, credential }: Understood): Promise<void> {
  await learnSecret(await gateOf(context, tenant), credential);
}

/** Without a credential no name is needed. */
async function learnSecret(
  gate: StoreGate | StoreTrouble,
  credential: string | undefined,
  patience?: Patience,
): Promise<StoreTrouble | undefined> {
  return typeof gate === 'string' || credential === undefined ? undefined : gate.learnSecret(patience);
}

function warnOf(context: GatewayContext, code: StoreTrouble, requestId: string): void {
  const problem = code === 'store-full' ? 'the store is full' : 'the store does not answer';
  context.log({ level: 'warn', message: `${problem}: nothing new is masked`, requestId, code });
}

/** Records events without waiting for the store. */
export function recordEvents(
  context: GatewayContext,
  tenant: string,
  conversation: string,
  events: readonly GatewayEvent[],
): void {
  if (events.length === 0) return;
  void gateOf(context, tenant).then((gate) => {
    if (typeof gate !== 'string') gate.record(conversation, events);
  });
}

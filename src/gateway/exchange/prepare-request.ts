import type { ConversationMemory } from '../conversation/conversation-memory.ts';
import type { GatewayEvent } from '../conversation/events.ts';
import { type Decided, decide, type GatewayRequest, openRequest, type StoreTrouble } from '../decide/decide.ts';
import { leaveUnread } from '../decide/unread.ts';
import type { GatewayContext } from '../gateway-context.ts';
import { codeOf } from '../receipts/log.ts';
import { providers } from '../wire/providers.ts';
import type { Provider } from './route.ts';
import { inTime, type StoreGate } from './store-gate.ts';

/** Whose request it is, and what for. */
export interface Purpose {
  readonly tenant: string;
  readonly provider: Provider;
  /** The user's, as the request carries it. */
  readonly credential: string | undefined;
  /** Planned alike, but nothing is stored. */
  readonly isCountTokens: boolean;
}

/** Decides about a request, and stores what it hides before it may be sent. If anything fails, the original goes out. */
export async function prepareRequest(
  context: GatewayContext,
  request: GatewayRequest,
  purpose: Purpose,
): Promise<Decided> {
  try {
    return await prepare(context, request, purpose);
  } catch (error) {
    context.log({ level: 'error', message: 'could not decide', code: codeOf(error), api: request.api });
    return leaveUnread('failed');
  }
}

async function prepare(context: GatewayContext, request: GatewayRequest, purpose: Purpose): Promise<Decided> {
  const { tenant, provider, credential, isCountTokens } = purpose;
  const facts = { ...context.facts, prices: context.facts.prices ?? providers[provider].prices };
  const memory = context.tenants.memory(tenant, provider);
  const opened = openRequest(request, memory, context.facts.limits);
  const { conversation } = opened;
  if (!conversation) return decide(opened, { ...facts, now: context.now(), memory });
  const gate = context.tenants.opened(tenant) ?? (await gateOf(context, tenant));
  const storeTrouble =
    (await learnEvents(context, { gate, memory, conversation })) ?? (await learnSecret(gate, credential));
  const owner = typeof gate === 'string' ? undefined : gate.ownerOf(credential);
  if (typeof gate !== 'string' && !isCountTokens) await keepInUse(context, { gate, memory, conversation, owner });
  const decided = decide(opened, { ...facts, now: context.now(), memory, owner, storeTrouble });
  if (storeTrouble) warnOf(context, storeTrouble);
  if (isCountTokens || (decided.fresh.length === 0 && decided.events.length === 0)) return decided;
  const kept = typeof gate === 'string' ? gate : await gate.keep(decided, owner);
  if (kept !== 'stored') {
    warnOf(context, kept);
    return decided.putOff(kept);
  }
  decided.stored();
  return decided;
}

/** A store that cannot be opened is no reason to let a request fail. */
async function gateOf(context: GatewayContext, tenant: string): Promise<StoreGate | StoreTrouble> {
  const opening = context.tenants.gate(tenant).catch((error) => {
    context.log({ level: 'error', message: 'the store could not be opened', code: codeOf(error) });
    return 'store-failed' as const;
  });
  const gate = await inTime(opening);
  return gate === 'late' ? 'store-slow' : gate;
}

interface Asked {
  readonly gate: StoreGate | StoreTrouble;
  readonly memory: ConversationMemory;
  readonly conversation: string;
}

/** What this or another gateway recorded of a conversation; answers why that is not known. */
async function learnEvents(
  { isStoreShared }: GatewayContext,
  { gate, memory, conversation }: Asked,
): Promise<StoreTrouble | undefined> {
  if (!isStoreShared && memory.hasEvents(conversation)) return undefined;
  const events = typeof gate === 'string' ? gate : await gate.events(conversation);
  if (typeof events === 'string') return events;
  memory.learnEvents(conversation, events);
  return undefined;
}

/** Has the store remove it last, and store again what was removed: this request carries the originals. */
async function keepInUse(
  { now }: GatewayContext,
  { gate, memory, conversation, owner }: Asked & { readonly gate: StoreGate; readonly owner: string | undefined },
): Promise<void> {
  const known = memory.conversation(conversation);
  const deletions = await gate.deletions();
  if (typeof deletions === 'number' && known.isForgotten(deletions)) gate.record(conversation, known.recorded);
  if (known.mustTouch(owner, now())) gate.touch(conversation, owner);
}

/** Without a credential no name is needed. */
async function learnSecret(
  gate: StoreGate | StoreTrouble,
  credential: string | undefined,
): Promise<StoreTrouble | undefined> {
  return typeof gate === 'string' || credential === undefined ? undefined : gate.learnSecret();
}

function warnOf(context: GatewayContext, code: StoreTrouble): void {
  context.log({ level: 'warn', message: 'the store does not answer: nothing new is masked', code });
}

/** Records what was learnt from an answer. */
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

import { type Decided, decide, type GatewayRequest, openRequest } from './decide.ts';
import type { GatewayEvent } from './events.ts';
import type { GatewayContext } from './gateway-context.ts';
import { codeOf } from './log.ts';
import type { Provider } from './route.ts';
import { inTime, type StoreGate } from './store-gate.ts';
import { leaveUnread } from './unread.ts';

/** Whose request it is, and what for. */
export interface Purpose {
  readonly tenant: string;
  readonly provider: Provider;
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
  const { tenant, provider, isCountTokens } = purpose;
  const memory = context.tenants.memory(tenant, provider);
  const opened = openRequest(request, memory);
  const { conversation } = opened;
  const gate = conversation ? (context.tenants.opened(tenant) ?? (await gateOf(context, tenant))) : undefined;
  if (gate && conversation && (context.isStoreShared || !memory.hasEvents(conversation))) {
    const events = await gate.events(conversation);
    if (events) memory.learnEvents(conversation, events);
  }
  const decided = decide(opened, { ...context.facts, now: context.now(), memory });
  if (isCountTokens || (decided.fresh.length === 0 && decided.events.length === 0)) return decided;
  const kept = gate ? await gate.keep(decided) : 'store-failed';
  if (kept !== 'stored') {
    context.log({ level: 'warn', message: 'the store does not answer: nothing new is masked', code: kept });
    return decided.putOff(kept);
  }
  decided.stored();
  return decided;
}

/** A store that cannot be opened is no reason to let a request fail. */
async function gateOf(context: GatewayContext, tenant: string): Promise<StoreGate | undefined> {
  const opening = context.tenants.gate(tenant).catch((error) => {
    context.log({ level: 'error', message: 'the store could not be opened', code: codeOf(error) });
    return undefined;
  });
  const gate = await inTime(opening);
  return gate === 'late' ? undefined : gate;
}

/** Records what was learnt from an answer. */
export function recordEvents(
  context: GatewayContext,
  tenant: string,
  conversation: string,
  events: readonly GatewayEvent[],
): void {
  if (events.length > 0) void gateOf(context, tenant).then((gate) => gate?.record(conversation, events));
}

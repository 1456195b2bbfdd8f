import type { RequestRecord } from '../../report/request-record.ts';
import { conversationId } from '../../store/access.ts';
import { afterAnswer } from '../decide/decide.ts';
import type { Decision } from '../decide/decision.ts';
import { isStoreTrouble, pricedByAnswer, type StoreTrouble } from '../decide/pass-through.ts';
import { signsOf } from '../decide/signs.ts';
import type { GatewayContext } from '../gateway-context.ts';
import { codeOf } from '../receipts/log.ts';
import type { Entry } from '../receipts/receipt-log.ts';
import { toRequestRecord } from '../receipts/to-request-record.ts';
import { countedOf, type Sent, type Times, writeReceipt } from '../receipts/write-receipt.ts';
import { wires } from '../wire/index.ts';
import { providers } from '../wire/providers.ts';
import type { Outcome } from './client.ts';
import type { Incoming, Understood } from './exchange.ts';

/** A request that was decided, sent and answered. */
interface Over {
  readonly decision: Decision;
  readonly sent: Sent;
  readonly times: Times;
}

/** Updates the memory with the outcome of a request, and writes its receipt and record. A count changes nothing. */
export function recordOutcome(
  context: GatewayContext,
  { client, tenant, credential, route, api }: Understood,
  { decision: decided, sent, times }: Over,
): Recorded {
  if (route.isCountTokens) return {};
  const { status, usage, refused } = sent;
  const decision =
    decided.explanation.act === 'pass-through'
      ? pricedByAnswer(decided, {
          prices: context.facts.prices,
          priceBook: context.facts.priceBook,
          providerPrices: providers[route.provider].prices,
          wire: wires[api],
          path: route.path,
          usage,
        })
      : decided;
  const isTaken = status >= 200 && status < 300;
  if (isTaken && decision.basis) {
    const promptTokens = usage && usage.cached + usage.written;
    const answer = { now: context.now(), isOriginal: refused !== undefined, promptTokens };
    afterAnswer(context.tenants.memory(tenant, route.provider), decision, answer);
  }
  const counted = context.tenants.counted(tenant);
  const owner = context.tenants.opened(tenant)?.ownerOf(credential);
  const conversation = decision.part && conversationId(decision.part, owner);
  const session = decision.session && conversationId(decision.session, owner);
  const root = decision.root && conversationId(decision.root, owner);
  // Each model counts in its own way.
  const key = `${conversation} ${decision.explanation.model ?? ''}`;
  const previous = counted.get(key);
  const { path } = route;
  const { id, requestId } = client.ids;
  const outcome = { id, requestId, conversation, session, root, api, path, decision, previous, sent, times };
  const entry = writeReceipt(outcome);
  if (isTaken) counted.set(key, countedOf(entry, { decision, previous }));
  const record = toRequestRecord(entry, outcome, signsOf(decision, context));
  return { entry, record, storeTrouble: storeTroubleIn(decision) };
}

function storeTroubleIn({ explanation: { reason } }: Decision): StoreTrouble | undefined {
  return isStoreTrouble(reason) ? reason : undefined;
}

/** The receipt and the record of a request. A count has neither. */
export interface Recorded {
  readonly entry?: Entry;
  readonly record?: RequestRecord;
  readonly storeTrouble?: StoreTrouble | undefined;
}

/** Answers if the upstream did not, and records the exchange, with receipt and record if it was understood. */
export function finishExchange(
  context: GatewayContext,
  { client, route, tenant }: Incoming,
  outcome: Outcome,
  { entry, record, storeTrouble }: Recorded = {},
): void {
  const { provider } = route;
  if (outcome.kind === 'unreachable') {
    const { origin } = context.upstreams[provider];
    // A reserved name is in the place of an address that only the user knows.
    const message = origin.endsWith('.invalid')
      ? `Palimpsest knows no address for ${provider}: every customer has their own. Start it with --upstream ${provider}=https://…`
      : `Palimpsest could not reach ${origin} (${codeOf(outcome.error)}). Is --upstream ${provider}=… right, and is it up?`;
    client.fail(502, outcome.failure ?? { type: 'upstream_unreachable', message });
  }
  if (outcome.kind === 'unreachable' || outcome.kind === 'broken')
    context.log({
      level: 'warn',
      message: `upstream ${outcome.kind}`,
      requestId: client.ids.requestId,
      provider,
      code: codeOf(outcome.error),
    });
  const status = 'status' in outcome ? (outcome.status ?? 0) : 0;
  context.records.finish({ tenant, provider, status, ended: outcome.kind, entry, storeTrouble, record });
}

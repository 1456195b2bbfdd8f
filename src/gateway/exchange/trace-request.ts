import type { Decision } from '../decide/decision.ts';
import type { GatewayContext } from '../gateway-context.ts';
import { codeOf } from '../receipts/log.ts';
import type { Sent, Times } from '../receipts/write-receipt.ts';
import type { Answered } from '../telemetry/attributes.ts';
import type { RequestSpan } from '../telemetry/telemetry.ts';
import { wires } from '../wire/index.ts';
import { providers } from '../wire/providers.ts';
import type { Wire } from '../wire/wire.ts';
import type { Outcome } from './client.ts';
import type { Understood } from './exchange.ts';
import type { Recorded } from './record-outcome.ts';

/** Begins the span of a request that was decided. Undefined if OpenTelemetry is not installed. */
export function beginSpan(
  { telemetry, upstreams }: GatewayContext,
  { client, tenant, route, api }: Understood,
  { decision, startedAt }: { readonly decision: Decision; readonly startedAt: number },
): RequestSpan | undefined {
  const { operation = 'chat' }: Wire = wires[api];
  const asked = {
    requestId: client.ids.requestId,
    tenant,
    operation: route.isCountTokens ? 'count_tokens' : operation,
    provider: providers[route.provider].telemetryName ?? route.provider,
    model: decision.explanation.model,
    origin: upstreams[route.provider].origin,
  };
  return telemetry?.begin(asked, { headers: client.headers, startedAt });
}

interface Over {
  readonly outcome: Outcome;
  readonly sent: Sent;
  readonly times: Times;
  readonly recorded: Recorded;
}

export function toAnswered({ outcome, sent, times, recorded }: Over): Answered {
  const { usage, streamed } = sent;
  const status = outcome.kind === 'unreachable' ? 0 : sent.status;
  const receipt = recorded.entry?.receipt;
  return { status, failure: failureOf(outcome), usage, streamed, receipt, totalMs: times.totalMs };
}

function failureOf(outcome: Outcome): string | undefined {
  if (outcome.kind === 'client-gone') return 'client_gone';
  return 'error' in outcome ? codeOf(outcome.error) : undefined;
}

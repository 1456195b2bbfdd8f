import type { ServerResponse } from 'node:http';
import type { GatewayContext } from '../gateway-context.ts';
import type { Entry } from '../receipts/book.ts';
import { codeOf } from '../receipts/log.ts';
import { answerFailure } from './answer.ts';
import type { Outcome } from './forward.ts';
import type { Served } from './pass-through.ts';
import type { Route } from './route.ts';

/** How a request ended, and its receipt if it was understood. */
export interface Ended {
  readonly outcome: Outcome;
  readonly entry?: Entry | undefined;
}

/** Answers where the upstream did not, and writes down how it ended. */
export function finishRequest(context: GatewayContext, { response, route, tenant }: Served, ended: Ended): void {
  const { outcome, entry } = ended;
  const { provider } = route;
  if (outcome.kind === 'unreachable' || outcome.kind === 'broken')
    context.log({ level: 'warn', message: `upstream ${outcome.kind}`, provider, code: codeOf(outcome.error) });
  if (outcome.kind === 'unreachable') answerUnreachable(context, response, route, outcome.error);
  const status = 'status' in outcome ? (outcome.status ?? 0) : 0;
  context.records.finish({ tenant, provider, status, ended: outcome.kind, entry });
}

function answerUnreachable(context: GatewayContext, response: ServerResponse, { provider }: Route, error: Error): void {
  const { origin } = context.upstreams[provider];
  const message = `Palimpsest could not reach ${origin} (${codeOf(error)}). Is --upstream ${provider}=… right, and is it up?`;
  answerFailure(response, 502, { type: 'upstream_unreachable', message });
}

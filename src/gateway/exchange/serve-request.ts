import type { GatewayContext } from '../gateway-context.ts';
import { codeOf } from '../receipts/log.ts';
import { answerFailure } from './answer.ts';
import { finishRequest } from './finish-request.ts';
import { passThrough, type Served } from './pass-through.ts';
import { serveUnderstood } from './serve-understood.ts';

/** Forwards a request, edited where that pays, and writes down what came of it. Never rejects. */
export async function serveRequest(context: GatewayContext, served: Served): Promise<void> {
  const { route, response } = served;
  try {
    if (route.api) await serveUnderstood(context, served);
    else finishRequest(context, served, { outcome: await passThrough(context, served) });
  } catch (error) {
    context.log({ level: 'error', message: 'failed', code: codeOf(error), api: route.api ?? 'other' });
    if (!response.destroyed) answerFailure(response, 500, { type: 'api_error', message: 'Palimpsest failed' });
  }
}

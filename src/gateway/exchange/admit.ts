import type { GatewayContext } from '../gateway-context.ts';
import type { Client, Failure } from './client.ts';
import { loopMessage } from './hops.ts';
import { type Route, routeOf } from './route.ts';

/** A request that may be forwarded. */
export interface Admitted {
  readonly tenant: string;
  readonly route: Route;
}

/** A request that is refused before it reaches an upstream. */
interface Denied {
  readonly status: number;
  readonly failure: Failure;
}

/** Checks the token, Host and Origin, the path, and that the request is not our own. */
export function admit(
  context: GatewayContext,
  { method, url, headers }: Pick<Client, 'method' | 'url' | 'headers'>,
): Admitted | Denied {
  const caller = context.callerOf({ url, headers });
  if (!caller) return denied(401, 'authentication_error', NO_TOKEN);
  const foreign = context.guard.refusalToForward(headers, caller);
  if (foreign !== undefined) return denied(403, 'permission_error', foreign);
  const route = routeOf({ method, url: caller.url, headers });
  if (!route) return denied(400, 'invalid_request_error', BAD_PATH);
  if (context.hops.isLoop(headers)) return denied(508, 'loop_detected', loopMessage(context.upstreams[route.provider]));
  return { tenant: caller.tenant, route };
}

const NO_TOKEN = 'Palimpsest expected its token in the header x-palimpsest-token, or in the address: http://…/as/TOKEN';
const BAD_PATH = 'Palimpsest expected a path that begins with exactly one / and has no dot segments';

const denied = (status: number, type: string, message: string): Denied => ({ status, failure: { type, message } });

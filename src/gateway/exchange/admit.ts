import type { GatewayContext } from '../gateway-context.ts';
import type { Client, OwnAnswer } from './client.ts';
import { loopMessage } from './hops.ts';
import { isProbe, type Route, routeOf } from './route.ts';

/** A request that may be forwarded. */
export interface Admitted {
  readonly tenant: string;
  readonly route: Route;
}

/** Checks the token, Host and Origin, the path, and that the request is not our own. Returns the gateway's own answer if a check fails. */
export function admit(
  context: GatewayContext,
  { method, url, headers }: Pick<Client, 'method' | 'url' | 'headers'>,
): Admitted | OwnAnswer {
  const caller = context.callerOf({ url, headers });
  if (!caller) return denied(401, 'authentication_error', NO_TOKEN);
  const foreign = context.guard.refusalToForward(headers, caller);
  if (foreign !== undefined) return denied(403, 'permission_error', foreign);
  if (isWebSocket(headers)) return { ...denied(426, 'upgrade_required', NO_WEBSOCKET), headers: PLAIN_HTTP };
  const line = { method, url: caller.url, headers };
  if (isProbe(line)) return { status: 204 };
  const route = routeOf(line);
  if (!route) return denied(400, 'invalid_request_error', BAD_PATH);
  if (context.hops.isLoop(headers)) return denied(508, 'loop_detected', loopMessage(context.upstreams[route.provider]));
  return { tenant: caller.tenant, route };
}

const NO_TOKEN = 'Palimpsest expected its token in the header x-palimpsest-token, or in the address: http://…/as/TOKEN';
const BAD_PATH = 'Palimpsest expected a path that begins with exactly one / and has no dot segments';

const NO_WEBSOCKET = 'Palimpsest speaks plain HTTP and has no WebSocket: send the request with POST';

const denied = (status: number, type: string, message: string): OwnAnswer => ({ status, failure: { type, message } });

/** Other protocols that a client offers, such as h2c, may be ignored (RFC 9110, 7.8): then it continues with plain HTTP. */
const isWebSocket = ({ upgrade }: Client['headers']): boolean =>
  upgrade !== undefined && /\bwebsocket\b/i.test(String(upgrade));

/** A 426 names the protocol to use (RFC 9110, 15.5.22). */
const PLAIN_HTTP = { upgrade: 'HTTP/1.1', connection: 'upgrade, close' };

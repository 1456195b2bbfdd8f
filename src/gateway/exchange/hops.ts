import { randomBytes } from 'node:crypto';
import { requestLimits } from '../../limits.ts';
import type { Upstream } from './upstreams.ts';

/** Names the gateways that a request has passed, newest last. */
export const HOP_HEADER = 'x-palimpsest-via';

/** Finds requests that come back to a gateway that has forwarded them. */
export interface Hops {
  isLoop(headers: Headers): boolean;
  /** The change of headers for an upstream. The providers' own hosts cannot lead back here: they get no such header. */
  next(headers: Headers, upstream: Upstream): Readonly<Record<string, string>>;
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

export function createHops(): Hops {
  const id = randomBytes(8).toString('hex');
  return {
    isLoop: (headers) => {
      const passed = passedBy(headers);
      return passed.length >= requestLimits.hops || passed.includes(id);
    },
    next: (headers, { isOfficial }) => (isOfficial ? {} : { [HOP_HEADER]: [...passedBy(headers), id].join(', ') }),
  };
}

function passedBy(headers: Headers): string[] {
  const value = headers[HOP_HEADER];
  return value === undefined
    ? []
    : String(value)
        .split(',', requestLimits.hops)
        .map((id) => id.trim());
}

/** The error for a request that came back. It names the setting. */
export function loopMessage({ provider, origin, prefix }: Upstream): string {
  return (
    `Palimpsest has forwarded this request before: the upstream of ${provider}, ${origin}${prefix}, leads back to it. ` +
    `Set --upstream ${provider}=… (gateway.upstreams.${provider} in palimpsest.yaml) to the address of the provider.`
  );
}

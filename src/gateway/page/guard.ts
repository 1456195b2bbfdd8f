import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import { requestLimits } from '../../limits.ts';
import { clipText } from '../../text.ts';

/** Options of `createGuard`. */
export interface GuardOptions {
  /** Host names that requests may use, in addition to those of this machine. */
  readonly hosts: readonly string[];
  /** Origins of web pages that may use it, in addition to its own. */
  readonly origins: readonly string[];
  /** Tenants by their tokens. */
  readonly tenants: Readonly<Record<string, string>>;
  /** Whether other machines can reach the gateway: requests may then use any IP address. */
  readonly isPublic: boolean;
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Refuses foreign web pages: their forms and scripts, and names that they have bound to this machine. */
export interface Guard {
  /** Why a request to one of our own routes is refused. The text names the setting. */
  refusalOfOwn(headers: Headers): string | undefined;
  /** Why a request is not forwarded. No web page knows our tokens, so a request with one may use any host. */
  refusalToForward(headers: Headers, options: { readonly hasToken: boolean }): string | undefined;
  /** The tenant of a token; undefined for an unknown one. */
  tenantOf(token: string | undefined): string | undefined;
}

export function createGuard({ hosts, origins, tenants, isPublic }: GuardOptions): Guard {
  const known = new Set(hosts.map(nameOf));
  const knownOrigins = new Set(origins.map((origin) => origin.toLowerCase()));
  const hashes = Object.entries(tenants).map(([token, tenant]) => ({ hash: sha256(token), tenant }));
  const mayBeCalled = (host: string): boolean =>
    // DNS rebinding needs a name. An IP address was typed by the user.
    isLoopback(host) || known.has(host) || (isPublic && isIP(host.replace(/^\[|\]$/g, '')) !== 0);
  const refusalOfHost = ({ host = '' }: Headers): string | undefined =>
    mayBeCalled(nameOf(String(host))) ? undefined : foreignHost(String(host));
  const refusalOfOrigin = ({ host = '', origin }: Headers): string | undefined => {
    if (origin === undefined) return undefined;
    const given = String(origin).toLowerCase();
    const isOwn = /^https?:\/\/(.*)$/.exec(given)?.[1] === String(host).toLowerCase();
    return isOwn || knownOrigins.has(given) ? undefined : foreignOrigin(String(origin));
  };
  return {
    refusalOfOwn: (headers) => refusalOfHost(headers) ?? refusalOfOrigin(headers),
    refusalToForward: (headers, { hasToken }) =>
      (hasToken ? undefined : refusalOfHost(headers)) ?? refusalOfOrigin(headers) ?? refusalOfSite(headers),
    tenantOf: (token) => {
      const hash = sha256(token ?? '');
      // Compares with all of them, so that the time reveals nothing.
      const found = hashes.filter((known) => timingSafeEqual(known.hash, hash));
      return token ? found[0]?.tenant : undefined;
    },
  };
}

/** A GET of a page, for an image for example, has no `Origin`. Browsers say where it comes from, and no script can change that. */
function refusalOfSite({ origin, 'sec-fetch-site': site }: Headers): string | undefined {
  if (origin !== undefined || (site !== 'cross-site' && site !== 'same-site')) return undefined;
  return `Palimpsest forwards no request of a web page of another site (sec-fetch-site: ${site}) without an Origin`;
}

function foreignHost(host: string): string {
  const name = clipText(nameOf(host), requestLimits.refusedNameChars);
  return (
    `Palimpsest expected to be called by a name of its own but found the host '${name}', which a web page could have bound ` +
    `to this machine. If it is yours: add '${name}' to gateway.allowed_hosts in palimpsest.yaml, or start palimpsest serve ` +
    `with --allow-host ${name} (in code: hosts)`
  );
}

function foreignOrigin(given: string): string {
  const origin = clipText(given, requestLimits.refusedNameChars);
  return (
    `Palimpsest expected no request of a foreign web page but found the origin '${origin}'. If it is yours: add '${origin}' ` +
    `to gateway.allowed_origins in palimpsest.yaml, or start palimpsest serve with --allow-origin ${origin} (in code: origins)`
  );
}

/** The bearer token of a request. */
export function bearerOf(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
}

/** The host without its port. */
const nameOf = (host: string): string => host.toLowerCase().replace(/:\d*$/, '');

export const isLoopback = (host: string): boolean => /^(?:localhost|\[?::1\]?|127(?:\.\d{1,3}){3})$/i.test(host);

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

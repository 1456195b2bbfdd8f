import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';

/** Who may use the gateway's own routes, and as whom. */
export interface GuardOptions {
  /** Names by which the gateway may be called, beside those of this machine. */
  readonly hosts: readonly string[];
  /** Token to tenant. */
  readonly tenants: Readonly<Record<string, string>>;
  /** It listens for other machines: then they call it by an address of its own. */
  readonly isPublic: boolean;
}

export interface Guard {
  /** A page at another name, or at another address, must not reach us: not even where that name leads here. */
  isOurs(headers: Readonly<Record<string, string | string[] | undefined>>): boolean;
  /** The tenant of a token; undefined for an unknown one. */
  tenantOf(token: string | undefined): string | undefined;
}

export function createGuard({ hosts, tenants, isPublic }: GuardOptions): Guard {
  const known = new Set(hosts.map((host) => host.toLowerCase()));
  const hashes = Object.entries(tenants).map(([token, tenant]) => ({ hash: sha256(token), tenant }));
  const mayBeCalled = (host: string): boolean =>
    // Rebinding needs a name: an address in its place is the one that was typed.
    isLoopback(host) || known.has(host) || (isPublic && isIP(host.replace(/^\[|\]$/g, '')) !== 0);
  return {
    isOurs: ({ host, origin }) => {
      if (typeof host !== 'string' || !mayBeCalled(nameOf(host))) return false;
      return (
        origin === undefined || /^https?:\/\/(.*)$/.exec(String(origin))?.[1]?.toLowerCase() === host.toLowerCase()
      );
    },
    tenantOf: (token) => {
      const hash = sha256(token ?? '');
      // All of them, so that the time tells nothing.
      const found = hashes.filter((known) => timingSafeEqual(known.hash, hash));
      return token ? found[0]?.tenant : undefined;
    },
  };
}

/** The bearer token of a request. */
export function bearerOf(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
}

/** Without the port. */
const nameOf = (host: string): string => host.toLowerCase().replace(/:\d*$/, '');

export const isLoopback = (host: string): boolean => /^(?:localhost|\[?::1\]?|127(?:\.\d{1,3}){3})$/i.test(host);

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

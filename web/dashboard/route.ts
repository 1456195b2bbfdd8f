import { useEffect, useState } from 'preact/hooks';

const PREFIX = '#/c/';

/** The address of a conversation inside the page. */
export const addressOf = (id: string): string => PREFIX + encodeURIComponent(id);

/** The address of the list, with no conversation chosen. */
export const HOME = '#/';

/** The address of the report. */
export const REPORT = '#/report';

/** What the page shows. */
export interface Route {
  readonly isReport: boolean;
  /** The conversation that the address names. */
  readonly chosen: string | undefined;
}

/**
 * The route of the address: back and forward work, and so does a reload. It is one state, because Preact may render between two
 * listeners of the same event.
 */
export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const onHash = (): void => setHash(location.hash);
    addEventListener('hashchange', onHash);
    return () => removeEventListener('hashchange', onHash);
  }, []);
  return { isReport: hash === REPORT, chosen: conversationIn(hash) };
}

function conversationIn(hash: string): string | undefined {
  if (!hash.startsWith(PREFIX) || hash.length === PREFIX.length) return undefined;
  try {
    return decodeURIComponent(hash.slice(PREFIX.length));
  } catch {
    return undefined;
  }
}

import { useEffect, useState } from 'preact/hooks';

const PREFIX = '#/c/';

/** The address of a conversation inside the page. */
export const addressOf = (id: string): string => PREFIX + encodeURIComponent(id);

/** Of the list, with no conversation chosen. */
export const HOME = '#/';

/** The conversation that the address names: back and forward work, and so does a reload. */
export function useChosen(): string | undefined {
  const [id, setId] = useState(idInAddress);
  useEffect(() => {
    const onHash = (): void => setId(idInAddress());
    addEventListener('hashchange', onHash);
    return () => removeEventListener('hashchange', onHash);
  }, []);
  return id;
}

function idInAddress(): string | undefined {
  const { hash } = location;
  if (!hash.startsWith(PREFIX) || hash.length === PREFIX.length) return undefined;
  try {
    return decodeURIComponent(hash.slice(PREFIX.length));
  } catch {
    return undefined;
  }
}

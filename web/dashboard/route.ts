import { useEffect, useState } from 'preact/hooks';

const PREFIX = '#/c/';

/** The address of a conversation inside the page. */
export const addressOf = (id: string): string => PREFIX + encodeURIComponent(id);

/** The address of the list, with no conversation chosen. */
export const HOME = '#/';

/** The address of the report. */
export const REPORT = '#/report';

/** The conversation that the address names: back and forward work, and so does a reload. */
export const useChosen = (): string | undefined => useAddress(idInAddress);

export const useIsReport = (): boolean => useAddress(() => location.hash === REPORT);

function useAddress<Value>(read: () => Value): Value {
  const [value, setValue] = useState(read);
  useEffect(() => {
    const onHash = (): void => setValue(read());
    addEventListener('hashchange', onHash);
    return () => removeEventListener('hashchange', onHash);
  }, []);
  return value;
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

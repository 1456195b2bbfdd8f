/** Where a token is kept until the tab is closed. */
export interface Keeper {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

const KEY = 'palimpsest-token';

/** The token in an opened or pasted text: a link, its fragment, a header, or the token alone. */
export function tokenIn(text: string): string | undefined {
  const named = /[#&?]token=([^&\s]+)/.exec(text);
  if (named?.[1]) return decode(named[1]);
  const alone = text.trim().replace(/^Bearer\s+/i, '');
  return /^[\w.~+/=-]+$/.test(alone) && !alone.includes('//') ? alone : undefined;
}

/** The token of this tab: from the link, otherwise the one that was kept earlier. */
export function keptToken(hash: string, keeper: Keeper): string | undefined {
  const given = hash.includes('token=') ? tokenIn(hash) : undefined;
  if (given) keeper.setItem(KEY, given);
  return given ?? keeper.getItem(KEY) ?? undefined;
}

export const keepToken = (token: string, keeper: Keeper): void => keeper.setItem(KEY, token);

export const forgetToken = (keeper: Keeper): void => keeper.removeItem(KEY);

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

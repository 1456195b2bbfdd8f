import { useEffect, useState } from 'preact/hooks';
import { Overview } from './overview.tsx';
import { forgetToken, keepToken, keptToken } from './token.ts';
import { TokenForm } from './token-form.tsx';

/** The whole page, or a form for the token that the page needs. */
export function Dashboard() {
  const [token, setToken] = useState(takeToken);
  const [refusal, setRefusal] = useState<string>();

  useEffect(() => {
    const onHash = (): void => {
      if (location.hash.includes('token=')) setToken(takeToken());
    };
    addEventListener('hashchange', onHash);
    return () => removeEventListener('hashchange', onHash);
  }, []);

  const enter = (given: string): void => {
    keepToken(given, sessionStorage);
    setRefusal(undefined);
    setToken(given);
  };
  const refuse = (because: string): void => {
    forgetToken(sessionStorage);
    setRefusal(because);
    setToken(undefined);
  };
  if (token === undefined) return <TokenForm refusal={refusal} onToken={enter} />;
  return <Overview key={token} token={token} onRefused={refuse} />;
}

/** Removes the token from the address too, which is kept in the history and may be copied. */
function takeToken(): string | undefined {
  const token = keptToken(location.hash, sessionStorage);
  if (location.hash.includes('token=')) history.replaceState(null, '', location.pathname + location.search);
  return token;
}

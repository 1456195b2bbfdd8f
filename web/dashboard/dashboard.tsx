import { useEffect, useState } from 'preact/hooks';
import { Overview } from './overview.tsx';
import { forgetToken, keepToken, keptToken } from './token.ts';
import { TokenForm } from './token-form.tsx';

/** The whole page: what the gateway does, or a field for the token without which it does not say. */
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

/** Takes it out of the address too: that is kept in the history, copied and shown to others. */
function takeToken(): string | undefined {
  const token = keptToken(location.hash, sessionStorage);
  if (location.hash.includes('token=')) history.replaceState(null, '', location.pathname + location.search);
  return token;
}

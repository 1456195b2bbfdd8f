import { useEffect, useRef, useState } from 'preact/hooks';
import type { GatewayApi } from './gateway-api.ts';
import { type LiveState, nothingYet } from './live-state.ts';
import { type Watch, watchGateway } from './watch-gateway.ts';

/** The live state of the gateway. */
export function useWatch(api: GatewayApi): readonly [LiveState, Watch | undefined] {
  const [state, setState] = useState(nothingYet);
  const [watch, setWatch] = useState<Watch>();
  useEffect(() => {
    const created = watchGateway({ api, onChange: setState });
    setWatch(created);
    const retry = (): void => created.retry();
    addEventListener('online', retry);
    return () => {
      removeEventListener('online', retry);
      created.close();
    };
  }, [api]);
  return [state, watch];
}

/** The state of a request: loading, loaded or failed. The previous value stays until then. */
export interface Answer<Value> {
  readonly value?: Value;
  readonly failure?: string;
  readonly isWaiting: boolean;
}

/** Asks again whenever `key` changes; without a key it asks nothing. */
export function useAnswer<Value>(key: string | undefined, ask: (signal: AbortSignal) => Promise<Value>): Answer<Value> {
  const [answer, setAnswer] = useState<Answer<Value>>({ isWaiting: key !== undefined });
  const latest = useRef(ask);
  latest.current = ask;
  useEffect(() => {
    if (key === undefined) return setAnswer({ isWaiting: false });
    const end = new AbortController();
    setAnswer(({ value }) => ({ ...(value === undefined ? {} : { value }), isWaiting: true }));
    latest.current(end.signal).then(
      (value) => !end.signal.aborted && setAnswer({ value, isWaiting: false }),
      (error: Error) => !end.signal.aborted && setAnswer({ failure: error.message, isWaiting: false }),
    );
    return () => end.abort();
  }, [key]);
  return answer;
}

/** The value, once it has not changed for `delayMs`. */
export function useSettled<Value>(value: Value, delayMs: number): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), delayMs);
    return () => clearTimeout(timer);
  }, [value, delayMs]);
  return settled;
}

/** The current time, updated at this interval. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

/** Whether there is room for list and conversation side by side. */
export function useIsWide(): boolean {
  const [query] = useState(() => matchMedia('(min-width: 861px)'));
  const [isWide, setIsWide] = useState(query.matches);
  useEffect(() => {
    const onChange = (): void => setIsWide(query.matches);
    query.addEventListener('change', onChange);
    return () => query.removeEventListener('change', onChange);
  }, [query]);
  return isWide;
}

/**
 * The global `fetch`. On Node it waits for an answer for as long as it takes, as `@google/genai` does where it is given no
 * `fetch`: Node gives up after 300 s, and a model may think for longer.
 */
export const fetchWithoutTimeouts: typeof fetch = (input, init) =>
  fetch(input, globalDispatcher() ? ({ ...init, dispatcher } as RequestInit) : init);

interface Dispatcher {
  dispatch(options: object, handler: unknown): boolean;
}

const dispatcher: Dispatcher = {
  dispatch: (options, handler) =>
    (globalDispatcher() as Dispatcher).dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler),
};

/** The one that Node's `fetch` sends with. Node makes it when `fetch` or its classes are first used. */
function globalDispatcher(): Dispatcher | undefined {
  new Headers();
  return (globalThis as { [GLOBAL_DISPATCHER]?: Dispatcher })[GLOBAL_DISPATCHER];
}

const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1');

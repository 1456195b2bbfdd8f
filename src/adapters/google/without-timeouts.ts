/**
 * The global `fetch` without a time limit. Node gives up after 300 s, and a model may think for longer. `@google/genai` does the same
 * if it is given no `fetch`.
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

/** The dispatcher of Node's `fetch`. Node creates it at the first use of `fetch` or its classes. */
function globalDispatcher(): Dispatcher | undefined {
  new Headers();
  return (globalThis as { [GLOBAL_DISPATCHER]?: Dispatcher })[GLOBAL_DISPATCHER];
}

const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1');

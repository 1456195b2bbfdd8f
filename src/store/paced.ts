import { setImmediate } from 'node:timers/promises';

/** Passes items on, and lets other events run after each 10 ms of work. Throws the signal's reason once it is aborted. */
export async function* paced<T>(items: AsyncIterable<T>, signal?: AbortSignal): AsyncGenerator<T> {
  let startMs = performance.now();
  for await (const item of items) {
    signal?.throwIfAborted();
    yield item;
    if (performance.now() - startMs < STEP_MS) continue;
    await setImmediate();
    startMs = performance.now();
  }
}

/** Work goes on for this long before other events are handled. */
export const STEP_MS = 10;

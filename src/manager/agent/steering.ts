/** Messages for a running agent. They are added before its next request. */
export interface Steering {
  /** Takes the texts since the last call. */
  drain(): readonly string[];
}

/** A queue that anyone may write to while an agent runs. */
export interface SteeringQueue extends Steering {
  /** Adds texts for the next request. */
  push(...texts: readonly string[]): void;
}

/**
 * Makes a queue: `const steering = createSteering(); …; steering.push('Look at the tests first.')`.
 *
 * @example
 * ```ts
 * import { createSteering, runAgent } from 'palimpsest/manager';
 * import { fromUrl } from 'palimpsest/models';
 *
 * const steering = createSteering();
 * const model = fromUrl({ baseURL: 'http://localhost:11434/v1', model: 'qwen3' });
 * const run = runAgent({ model, task: 'Find the bug.', steering });
 * steering.push('Look at the tests first.');
 * await run;
 * ```
 */
export function createSteering(): SteeringQueue {
  let waiting: string[] = [];
  return {
    push: (...texts) => {
      waiting.push(...texts);
    },
    drain: () => {
      const taken = waiting;
      waiting = [];
      return taken;
    },
  };
}

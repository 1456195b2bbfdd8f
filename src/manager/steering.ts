/** Messages for a run that is under way: each is told to the model before its next request. */
export interface Steering {
  /** Takes what was said since it was asked last. */
  drain(): readonly string[];
}

/** A queue that anyone may write to while an agent runs. */
export interface SteeringQueue extends Steering {
  push(...texts: readonly string[]): void;
}

/** Makes a queue: `const steering = createSteering(); …; steering.push('Look at the tests first.')`. */
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

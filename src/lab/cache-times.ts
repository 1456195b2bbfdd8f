import type { Context } from './run.ts';

/** The times when the cache of a context is alive, according to its log. Requests are counted from 1. */
export interface CacheTimes {
  /** Whether the cache had expired before a request, if it lives this long after its last use. */
  isColdAt(request: number, lifeMs: number): boolean;
  /** The number of requests that kept the cache alive in the pause before this one, or tried to. */
  pingsBefore(request: number, lifeMs: number): number;
}

interface CacheSetting {
  readonly cacheLife: 'endless' | 'listed' | number;
  readonly keepWarm?: number | undefined;
}

/** A request that keeps the cache alive is sent when the cache is about to expire: the length of a pause is not known before. */
export function cacheTimesOf(context: Context, { cacheLife, keepWarm = 0 }: CacheSetting): CacheTimes {
  const idle = idleTimes(context);
  const lifeOf = (lifeMs: number): number => {
    if (cacheLife === 'endless') return Number.POSITIVE_INFINITY;
    return cacheLife === 'listed' ? lifeMs : cacheLife;
  };
  return {
    isColdAt: (request, lifeMs) => (idle[request] ?? 0) > lifeOf(lifeMs) * (1 + keepWarm),
    pingsBefore: (request, lifeMs) => {
      const life = lifeOf(lifeMs);
      const pause = idle[request] ?? 0;
      return pause > life && life > 0 ? Math.min(keepWarm, Math.ceil(pause / life) - 1) : 0;
    },
  };
}

/** How long nothing was sent before each request, counted from 1: from the previous reply to the last message that the request answers. */
function idleTimes({ messages, times }: Context): (number | undefined)[] {
  const idle: (number | undefined)[] = [undefined];
  let [replied, asked]: (number | undefined)[] = [undefined, undefined];
  for (const [i, { role }] of messages.entries()) {
    if (role !== 'assistant') {
      asked = times[i] ?? asked;
      continue;
    }
    const sent = asked ?? times[i];
    idle.push(replied === undefined || sent === undefined ? undefined : Math.max(0, sent - replied));
    replied = times[i];
    asked = undefined;
  }
  return idle;
}

import { memoryLimits } from '../../limits.ts';
import { hasResult, type Listed } from './cached-history.ts';
import { LruMap } from './lru-map.ts';

/**
 * When a provider last used its cache of a history, as far as we know. A use counts for every request that shares the first tool result
 * with it. Sessions that share only earlier messages, such as the set-up message of an agent, have separate caches: nothing could be
 * masked in the shared part.
 */
export class CacheUse {
  /** By the prefix of the first result, or of the whole request if it has none; then by model. */
  readonly #times = new LruMap<string, LruMap<string, number>>(memoryLimits.cacheUsesPerConversation);

  use(listed: readonly Listed[], model = '', now: number): void {
    const [prefix = ''] = sharedPrefixes(listed);
    const times = this.#times.get(prefix) ?? new LruMap(memoryLimits.branchesPerConversation);
    times.set(model, Math.max(now, times.get(model) ?? now));
    this.#times.set(prefix, times);
  }

  usedAt(listed: readonly Listed[], model = ''): number | undefined {
    for (const prefix of sharedPrefixes(listed)) {
      const time = this.#times.get(prefix)?.get(model);
      if (time !== undefined) return time;
    }
    return undefined;
  }

  /** Whether a provider has answered any request of this history, whatever the model. */
  isUsed(listed: readonly Listed[]): boolean {
    return sharedPrefixes(listed).some((prefix) => this.#times.get(prefix) !== undefined);
  }
}

/** The prefixes up to the first result, the longest first: an earlier request ended before there was any. */
function sharedPrefixes(listed: readonly Listed[]): readonly string[] {
  const first = listed.findIndex(hasResult);
  const shared = first < 0 ? listed : listed.slice(0, first + 1);
  return shared.map(({ prefix }) => prefix).reverse();
}

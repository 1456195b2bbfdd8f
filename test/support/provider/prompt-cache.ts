import type { Prompt } from './prompt.ts';

/** How a prompt was split between the cache and the price list. */
export interface Split {
  readonly read: number;
  /** Written to the cache, by how long it stays there. */
  readonly written: readonly Written[];
  /** Neither read nor written. */
  readonly fresh: number;
}

export interface Written {
  readonly tokens: number;
  readonly lifeMs: number;
}

interface Entry {
  lifeMs: number;
  until: number;
}

/** How far back from a marker Anthropic looks for what it wrote before. */
const LOOK_BACK_BLOCKS = 20;

/**
 * Anthropic's cache: a prefix is written only at a marker, and found only there, at most 20 blocks before a marker of
 * the request. Whatever is read is kept for its whole life again, and so is all that it begins with.
 */
export class MarkedCache {
  readonly #entries = new Map<string, Entry>();

  take({ prefixes, tokens }: Prompt, { now, leastTokens }: { now: number; leastTokens: number }): Split {
    const marks = prefixes.flatMap(({ markMs }, at) => (markMs === undefined ? [] : [{ at, lifeMs: markMs }]));
    const hit = this.#find(
      prefixes.map(({ digest }) => digest),
      marks.map(({ at }) => at),
      now,
    );
    const sizeAt = (at: number): number => prefixes[at]?.tokens ?? 0;
    for (const { digest } of prefixes.slice(0, hit + 1)) this.#refresh(digest, now);
    const written: Written[] = [];
    let from = hit;
    for (const { at, lifeMs } of marks) {
      if (at <= hit || sizeAt(at) < leastTokens) continue;
      written.push({ tokens: sizeAt(at) - sizeAt(from), lifeMs });
      this.#entries.set(prefixes[at]?.digest ?? '', { lifeMs, until: now + lifeMs });
      from = at;
    }
    return { read: sizeAt(hit), written, fresh: tokens - sizeAt(from) };
  }

  #find(digests: readonly string[], marks: readonly number[], now: number): number {
    for (const mark of marks.toReversed()) {
      for (let at = mark; at >= 0 && at > mark - LOOK_BACK_BLOCKS; at--) {
        if (this.#isAlive(digests[at], now)) return at;
      }
    }
    return -1;
  }

  #isAlive(digest: string | undefined, now: number): boolean {
    return (this.#entries.get(digest ?? '')?.until ?? Number.NEGATIVE_INFINITY) >= now;
  }

  #refresh(digest: string, now: number): void {
    const entry = this.#entries.get(digest);
    if (entry && entry.until >= now) entry.until = now + entry.lifeMs;
  }
}

/** What a cache that needs no markers keeps, and in which steps it reads. */
export interface AutomaticRules {
  readonly leastTokens: number;
  readonly stepTokens: number;
  readonly lifeMs: number;
}

/** OpenAI's and Gemini's cache: any beginning that was sent before, cut down to whole steps. */
export class AutomaticCache {
  readonly #until = new Map<string, number>();

  take({ prefixes, tokens }: Prompt, { now, rules }: { now: number; rules: AutomaticRules }): Split {
    const { leastTokens, stepTokens, lifeMs } = rules;
    const hit = prefixes.findLast(({ digest }) => (this.#until.get(digest) ?? Number.NEGATIVE_INFINITY) >= now);
    const whole = Math.floor((hit?.tokens ?? 0) / stepTokens) * stepTokens;
    const read = whole >= leastTokens ? whole : 0;
    for (const { digest } of prefixes) this.#until.set(digest, now + lifeMs);
    const kept = tokens >= leastTokens ? Math.floor(tokens / stepTokens) * stepTokens : 0;
    const written = Math.max(0, kept - read);
    return { read, written: written > 0 ? [{ tokens: written, lifeMs }] : [], fresh: tokens - read - written };
  }
}

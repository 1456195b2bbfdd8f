import type { Result } from '../ledger/rows.ts';

/**
 * Keeps for each result the results that refer to it, directly or through others: it stays visible as long as they do. On the
 * results themselves, `refersTo` and `keptFor` say so.
 */
export class KeptTargets {
  readonly #referrers = new Map<Result, Set<Result>>();

  link(referrer: Result, targets: readonly Result[]): void {
    referrer.refersTo = [...new Set(targets.flatMap((target) => [target, ...target.refersTo]))];
    for (const target of referrer.refersTo) {
      const referrers = this.#referrers.get(target) ?? new Set();
      this.#referrers.set(target, referrers.add(referrer));
      target.keptFor = newestOfKinds([...target.keptFor, referrer]);
    }
  }

  /** The results that refer to this one, directly or through others. */
  referrersOf(target: Result): Iterable<Result> {
    return this.#referrers.get(target) ?? [];
  }

  /** Forgets a referrer that is no longer visible. Returns whether a visible result was kept for it. */
  unlink(referrer: Result): boolean {
    const { refersTo } = referrer;
    referrer.refersTo = [];
    for (const target of refersTo) {
      const referrers = this.#referrers.get(target);
      if (referrers?.delete(referrer) && target.keptFor.includes(referrer)) target.keptFor = newestOfKinds(referrers);
    }
    return refersTo.some(({ masked }) => !masked);
  }
}

function newestOfKinds(referrers: Iterable<Result>): Result[] {
  const inOrder = [...referrers].sort((a, b) => a.segment - b.segment);
  return [...new Map(inOrder.map((result) => [result.kind, result])).values()];
}

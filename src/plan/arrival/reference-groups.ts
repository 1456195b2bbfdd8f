import type { Result } from '../ledger/rows.ts';
import type { ObservationGroup } from '../policy.ts';

/** Keeps the group of each result that refers to others or that others refer to. On the results themselves, `group` has it. */
export class ReferenceGroups {
  /** The referring results by their target, directly or through others. */
  readonly #referrers = new Map<Result, Set<Result>>();
  /** Groups that a member has left: others may have been in them only because of it. */
  readonly #broken = new Set<Group>();
  /** Results that refer to one that has changed, or changed back. */
  readonly #loose = new Set<Result>();
  /** Results that are still whole though others of their group were masked. */
  readonly #parted = new Set<Result>();

  link(referrer: Result, targets: readonly Result[]): void {
    referrer.refersTo = [...new Set(targets.flatMap((target) => [target, ...target.refersTo]))];
    for (const target of referrer.refersTo) {
      const referrers = this.#referrers.get(target) ?? new Set();
      this.#referrers.set(target, referrers.add(referrer));
      if (!target.masked) join(referrer, target);
    }
  }

  /** The results that refer to this one, directly or through others. */
  referrersOf(target: Result): Iterable<Result> {
    return this.#referrers.get(target) ?? [];
  }

  /** Whether others of the group that this result is in, or was in, were masked. */
  hasLost(result: Result): boolean {
    return this.#parted.has(result);
  }

  /** Call it when a result has changed. `mend` must be called afterwards. */
  unlink(result: Result): void {
    for (const target of result.refersTo) this.#referrers.get(target)?.delete(result);
    result.refersTo = [];
    for (const referrer of this.referrersOf(result)) this.#loose.add(referrer);
    if (!result.group) return;
    result.group.delete(result);
    if (result.masked) for (const member of result.group.members) this.#parted.add(member);
    this.#broken.add(result.group);
    result.group = undefined;
  }

  /** Splits the groups that members have left. Returns whether any result is in another group than before. */
  mend(): boolean {
    if (this.#broken.size === 0 && this.#loose.size === 0) return false;
    const left = [...this.#broken].flatMap((group) => [...group.members]);
    for (const result of left) result.group = undefined;
    const referrers = [...left, ...this.#loose].filter(({ masked }) => !masked);
    for (const referrer of referrers)
      for (const target of referrer.refersTo) if (!target.masked) join(referrer, target);
    this.#broken.clear();
    this.#loose.clear();
    return referrers.length > 0;
  }
}

/**
 * Results that refer to each other, directly or through others. All of them stay until the last of them may be masked: a target because its
 * lines are needed, a referrer because a fitted history must show why an old target is still in it.
 */
export class Group implements ObservationGroup {
  readonly #members = new Set<Result>();
  readonly #newest = new Map<string, Result>();

  get members(): ReadonlySet<Result> {
    return this.#members;
  }

  get newest(): Iterable<Result> {
    return this.#newest.values();
  }

  add(result: Result): void {
    this.#members.add(result);
    const newest = this.#newest.get(result.kind);
    if (!newest || newest.segment < result.segment) this.#newest.set(result.kind, result);
  }

  delete(result: Result): void {
    this.#members.delete(result);
  }
}

function join(a: Result, b: Result): void {
  if (a.group && a.group === b.group) return;
  const [large, small] = sizeOf(a) < sizeOf(b) ? [b, a] : [a, b];
  const group = large.group ?? new Group();
  for (const member of [large, ...(small.group?.members ?? [small])]) {
    group.add(member);
    member.group = group;
  }
}

const sizeOf = ({ group }: Result): number => group?.members.size ?? 0;

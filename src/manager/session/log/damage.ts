import { PalimpsestError } from '../../../errors.ts';
import { sessionLimits } from '../../../limits.ts';
import type { DamageAcknowledged } from '../session-event.ts';
import type { SessionNames } from '../session-storage.ts';

/** Damage as recorded in snapshots and checkpoints. */
export interface KnownDamage {
  /** Damaged lines that were found so far. */
  readonly lines: number;
  /** How many of them were acknowledged. */
  readonly acknowledged: number;
  /** Events that are missing, without those that were acknowledged. */
  readonly missing: readonly number[];
}

/** Lines of a log that cannot be read, and events that are missing. Reported at every open until it is acknowledged. */
export class Damage {
  lines = 0;
  #acknowledged = 0;
  readonly #missing = new Set<number>();

  get openLines(): number {
    return Math.max(0, this.lines - this.#acknowledged);
  }

  get missing(): readonly number[] {
    return [...this.#missing].sort((a, b) => a - b);
  }

  get isOpen(): boolean {
    return this.openLines > 0 || this.#missing.size > 0;
  }

  /** Records events as missing, from `from` up to but not including `to`. */
  miss(from: number, to: number): void {
    for (let seq = from; seq < Math.min(to, from + sessionLimits.missing); seq++) this.#missing.add(seq);
  }

  isMissing(seq: number): boolean {
    return this.#missing.has(seq);
  }

  take({ lines, missing }: Pick<DamageAcknowledged, 'lines' | 'missing'>): void {
    this.#acknowledged = Math.max(this.#acknowledged, lines);
    for (const seq of missing) this.#missing.delete(seq);
  }

  add({ lines, acknowledged, missing }: KnownDamage): void {
    this.lines += lines;
    this.#acknowledged = Math.max(this.#acknowledged, acknowledged);
    for (const seq of missing) this.#missing.add(seq);
  }

  /** Undefined if there was no damage. */
  dump(): KnownDamage | undefined {
    if (this.lines === 0 && this.#missing.size === 0) return undefined;
    return { lines: this.lines, acknowledged: this.#acknowledged, missing: this.missing };
  }
}

export function isKnownDamage(value: unknown): value is KnownDamage {
  const { lines, acknowledged, missing } = (value ?? {}) as Partial<Record<keyof KnownDamage, unknown>>;
  const areCounts = [lines, acknowledged].every((count) => Number.isSafeInteger(count) && (count as number) >= 0);
  return areCounts && Array.isArray(missing) && missing.every(Number.isSafeInteger);
}

/** The report of damage: the affected events, and how to acknowledge them. */
export function damageFound(
  id: string,
  {
    lines,
    missing = [],
    names,
  }: { readonly lines: number; readonly missing?: readonly number[]; readonly names: SessionNames },
): PalimpsestError {
  const shown = missing.slice(0, 10).join(', ') + (missing.length > 10 ? ', …' : '');
  const events = missing.length === 0 ? '' : `, and missing events (${shown})`;
  return new PalimpsestError(
    'STORE_DAMAGED',
    `Expected the log of session ${id} without damage but found ${lines} damaged lines${events}; all other events were read. ` +
      `Put the lines back from a backup and remove the snapshot (${names.snapshot}), or call session.acknowledgeDamage() to end this report`,
  );
}

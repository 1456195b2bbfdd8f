import { storeLimits } from '../../../limits.ts';
import { isSameReference } from '../../check-input.ts';
import type { Digest } from '../../handle.ts';
import type { Reference } from '../../store.ts';
import type { Entry } from '../linear-hash.ts';
import { REFERENCE } from '../log.ts';
import type { Spot } from '../log-file.ts';
import { digestIn, keyOfDigest, readReference, referenceKey, type TextBody } from '../records.ts';
import type { Deletions } from './deletions.ts';
import { entryOf, type IndexedLog } from './indexed-log.ts';

/** A text and the position of its record, which has the first reference to it. */
export type TextPlace = Pick<TextBody, 'digest' | 'about'> & { readonly position: number };

/** A reference to a text, and its record. */
export interface FoundReference extends Spot {
  readonly about: Reference;
}

/** The references to each text after its first one, from the newest to the oldest. */
export class References {
  readonly #log: IndexedLog;
  readonly #deletions: Deletions;

  constructor(log: IndexedLog, deletions: Deletions) {
    this.#log = log;
    this.#deletions = deletions;
  }

  /** The newest reference to a text, or 0. A damaged record under its key is treated as a match, like in `positionOf`. */
  headOf(digest: Digest): number {
    const isOf = ({ position }: Entry): boolean => {
      const record = this.#log.recordAt(position);
      return !record || (record.type === REFERENCE && digestIn(record.body) === digest);
    };
    return this.#log.index.find(referenceKey(digest), isOf)?.position ?? 0;
  }

  add(digest: Digest, older: number, spot: Spot): void {
    const { index, counts } = this.#log;
    const key = referenceKey(digest);
    if (!index.mark(keyOfDigest(digest))) counts.orphans += 1;
    if (older > 0 && index.move(key, older, entryOf(spot))) return;
    // If the previous reference was lost, the head is an older one.
    this.#log.point(key, older === 0 ? 0 : this.headOf(digest), entryOf(spot));
  }

  /** The references to a text that were not deleted, oldest first. */
  of({ digest, about, position }: TextPlace): Reference[] {
    const head = this.headOf(digest);
    const isOwnAlive = !this.#deletions.has(about, position);
    if (head === 0) return isOwnAlive ? [about] : [];
    const newestFirst: Reference[] = [];
    for (const reference of this.from(head, digest))
      if (!this.#deletions.has(reference.about, reference.position)) newestFirst.push(reference.about);
    if (isOwnAlive) newestFirst.push(about);
    return unique(newestFirst.reverse());
  }

  /** All references from one on, newest first, including deleted ones. If the chain is broken, reads the log instead. */
  *from(head: number, digest: Digest): Generator<FoundReference> {
    let last = Number.POSITIVE_INFINITY;
    for (let at = head; at > 0; ) {
      const record = this.#log.recordAt(at);
      if (!record) {
        yield* this.#readBefore(last, digest);
        return;
      }
      const { about, older } = readReference(record.body);
      yield { about, position: at, bytes: record.bytes };
      last = at;
      at = older;
    }
  }

  #readBefore(before: number, digest: Digest): FoundReference[] {
    const found: FoundReference[] = [];
    for (const { position, type, body, bytes } of this.#log.file.records()) {
      if (position >= before) break;
      if (type !== REFERENCE) continue;
      const reference = readReference(body);
      if (reference.digest === digest) found.push({ about: reference.about, position, bytes });
    }
    return found.reverse();
  }

  /** Whether one of the newest references to a text is this one already. */
  has({ digest, about, position }: TextPlace, wanted: Reference): boolean {
    if (isSameReference(about, wanted) && !this.#deletions.has(about, position)) return true;
    let at = this.headOf(digest);
    for (let looked = 0; at > 0 && looked < storeLimits.comparedReferences; looked++) {
      const record = this.#log.recordAt(at);
      if (!record) return false;
      const reference = readReference(record.body);
      if (isSameReference(reference.about, wanted) && !this.#deletions.has(wanted, at)) return true;
      at = reference.older;
    }
    return false;
  }

  /**
   * Whether any reference to a text is left. The index is then moved to the newest one that is left, so the next deletion need
   * not walk over deleted references again.
   */
  hasAny({ digest, about, position }: TextPlace): boolean {
    if (!this.#deletions.has(about, position)) return true;
    const head = this.headOf(digest);
    const isLeft = (reference: FoundReference): boolean => !this.#deletions.has(reference.about, reference.position);
    const left = firstOf(this.from(head, digest), isLeft);
    if (left && left.position !== head) this.#log.index.move(referenceKey(digest), head, entryOf(left));
    return left !== undefined;
  }

  /** Removes what leads to the references of a text that has none left. */
  remove(digest: Digest): void {
    const head = this.headOf(digest);
    if (head > 0) this.#log.index.remove(referenceKey(digest), head);
  }
}

export function firstOf<T>(items: Iterable<T>, isIt: (item: T) => boolean): T | undefined {
  for (const item of items) if (isIt(item)) return item;
  return undefined;
}

/** Removes duplicates: a repeated put only compares the newest references, so older ones can repeat. */
function unique(references: readonly Reference[]): Reference[] {
  const seen = new Map<string, Reference>();
  for (const about of references) {
    const key = JSON.stringify([about.session, about.turn, about.tool]);
    if (!seen.has(key)) seen.set(key, about);
  }
  return [...seen.values()];
}

import { isRecord } from '../formats/lens.ts';

type Fields = Readonly<Record<string, unknown>>;
type Owner = Fields | readonly unknown[];

/** Planning a larger message is faster than comparing it; a message that contains itself has no end. */
const MOST_VALUES = 2000;

/**
 * Every object in some messages, and all their values in order, to detect changes in place. A renamed key moves to the end, so the last
 * key reveals it. Two changes are not noticed. First, an object whose last keys were all deleted and written again with the same values in
 * the same order, some under other names but not the last. Second, anything that JSON does not show: symbols, hidden properties, names in
 * a list, frozen or not.
 *
 * Values are compared with `Object.is`. For `===`, V8 reads the head of every text, and fetching those from all over the memory takes
 * longer than everything else.
 */
export class Snapshot {
  readonly #owners: Owner[] = [];
  readonly #values: unknown[] = [];
  /** False once something was added that cannot be compared this way. */
  isComparable = true;

  add(root: unknown): void {
    if (!this.isComparable || !isRecord(root)) return;
    try {
      this.isComparable = this.#add(root as Owner);
    } catch {
      this.isComparable = false;
    }
  }

  isUnchanged(): boolean {
    try {
      return this.isComparable && this.#compareAll();
    } catch {
      return false;
    }
  }

  #compareAll(): boolean {
    const [owners, values] = [this.#owners, this.#values];
    let next = 0;
    for (let i = 0; i < owners.length; i++) {
      next = compareValues(owners[i] as Owner, values, next);
      if (next < 0) return false;
    }
    return next === values.length;
  }

  /** Returns false for a value that cannot be compared this way. */
  #add(root: Owner): boolean {
    const owners = this.#owners;
    const limit = this.#values.length + MOST_VALUES;
    // Objects inside an object are added after it, and visited in turn.
    for (let next = owners.push(root) - 1; next < owners.length; next++) {
      const owner = owners[next] as Owner;
      if (this.#values.length > limit || ArrayBuffer.isView(owner)) return false;
      if (!this.#addValues(owner)) return false;
    }
    return true;
  }

  /** The length of a list or the last key of an object, then its values. A list is read by index: `for in` would make texts of the indices. */
  #addValues(owner: Owner): boolean {
    const [owners, values] = [this.#owners, this.#values];
    if (Array.isArray(owner)) {
      values.push(owner.length);
      for (let i = 0; i < owner.length; i++) {
        values.push(owner[i]);
        if (isRecord(owner[i])) owners.push(owner[i]);
      }
      return true;
    }
    const start = values.push(undefined) - 1;
    let last: string | undefined;
    for (const key in owner) {
      // Such keys come before all others.
      if (last === undefined && isIndex(key)) return false;
      const value = (owner as Fields)[key];
      values.push(value);
      if (isRecord(value)) owners.push(value as Owner);
      last = key;
    }
    values[start] = last;
    return true;
  }
}

/** Whether a key always comes first in an object. Renaming such a key does not move it. */
const isIndex = (key: string): boolean => key.charCodeAt(0) <= 57 && String(Number(key) >>> 0) === key;

/** Returns the index in `values` at which the next object begins, or -1 if this one was changed. */
function compareValues(owner: Owner, values: readonly unknown[], start: number): number {
  const known = values[start];
  let next = start + 1;
  if (Array.isArray(owner)) {
    if (known !== owner.length) return -1;
    for (let i = 0; i < owner.length; i++) if (!Object.is(values[next++], owner[i])) return -1;
    return next;
  }
  let last: string | undefined;
  for (const key in owner) {
    if (!Object.is(values[next++], (owner as Fields)[key])) return -1;
    last = key;
  }
  return known === last ? next : -1;
}

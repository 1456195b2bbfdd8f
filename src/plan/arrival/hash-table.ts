/**
 * Numbers by 32-bit hash, in one array with open addressing, at most half full. A text can be crafted so that all its hashes belong into
 * one slot. If that makes a search too long, all hashes are placed again with another multiplier.
 */
export class HashTable {
  /** A hash and its number, side by side. The number of an empty slot is 0. */
  #slots = new Int32Array(2 * FEWEST_SLOTS);
  #shift = 32 - Math.log2(FEWEST_SLOTS);
  #multiplier = 0x9e3779b1;
  #count = 0;

  /** The number of a hash; 0 if it has none. */
  get(hash: number): number {
    return this.#slots[this.#slotOf(hash) + 1] as number;
  }

  /** Gives a hash a number above 0; there must be room for it. Returns its earlier number; 0 if it had none. */
  set(hash: number, value: number): number {
    let slot = this.#slotOf(hash);
    const before = this.#slots[slot + 1] as number;
    if (before === 0) {
      if (this.#isFar(hash, slot)) {
        this.#moveAll(this.#slots.length, Math.imul(this.#multiplier, 0x2c1b3c6d));
        slot = this.#slotOf(hash);
      }
      this.#count += 1;
      this.#slots[slot] = hash;
    }
    this.#slots[slot + 1] = value;
    return before;
  }

  /** Makes room for this many more hashes. */
  reserve(more: number): void {
    const length = lengthFor(this.#count + more, this.#slots.length);
    if (length > this.#slots.length) this.#moveAll(length, this.#multiplier);
  }

  /** Forgets all hashes, and makes room for so many. Mostly the memory is large enough already, and no larger than needed. */
  clear(room: number): void {
    const length = lengthFor(room, 2 * FEWEST_SLOTS);
    if (length === this.#slots.length) this.#slots.fill(0);
    else this.#slots = new Int32Array(length);
    this.#shift = 33 - Math.log2(length);
    this.#count = 0;
  }

  #slotOf(hash: number): number {
    const slots = this.#slots;
    let slot = (Math.imul(hash, this.#multiplier) >>> this.#shift) * 2;
    while (slots[slot + 1] !== 0 && slots[slot] !== hash) {
      slot += 2;
      if (slot === slots.length) slot = 0;
    }
    return slot;
  }

  #isFar(hash: number, slot: number): boolean {
    const first = (Math.imul(hash, this.#multiplier) >>> this.#shift) * 2;
    return ((slot - first) & (this.#slots.length - 1)) > 2 * FARTHEST;
  }

  #moveAll(length: number, multiplier: number): void {
    const old = this.#slots;
    this.#slots = new Int32Array(length);
    this.#shift = 33 - Math.log2(length);
    this.#multiplier = multiplier;
    for (let from = 0; from < old.length; from += 2) {
      const value = old[from + 1] as number;
      if (value === 0) continue;
      const slot = this.#slotOf(old[from] as number);
      this.#slots[slot] = old[from] as number;
      this.#slots[slot + 1] = value;
    }
  }
}

const FEWEST_SLOTS = 1024;

/** A slot is two numbers, and half of the slots are empty. */
function lengthFor(count: number, least: number): number {
  let length = least;
  while (4 * count > length) length *= 4;
  return length;
}

/** Ordinary hashes stay within a fraction of this distance. */
const FARTHEST = 512;

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Entry, type Key, LinearHash, PER_PAGE } from '../../../src/store/embedded/linear-hash.ts';
import { DamagedPage, PAGE } from '../../../src/store/embedded/pages.ts';
import { RecordingDisk } from '../../support/store/recording-disk.ts';

const numRuns = Number(process.env.PALIMPSEST_RUNS ?? 60);

type Step =
  | { readonly kind: 'add'; readonly key: Key }
  | { readonly kind: 'mark'; readonly key: Key }
  | { readonly kind: 'move' | 'remove' | 'find'; readonly key: Key; readonly at: number }
  | { readonly kind: 'fill'; readonly key: Key; readonly count: number }
  | { readonly kind: 'checkpoint' }
  | { readonly kind: 'reload' };

/** Few keys, and many of them alike in all low bits. */
const anyKey: fc.Arbitrary<Key> = fc.oneof(
  fc.record({ low: fc.constantFrom(0, 7, 0xffff_ffff), high: fc.nat({ max: 3 }) }),
  fc.record({ low: fc.nat({ max: 40 }), high: fc.constant(5) }),
  fc.record({ low: fc.integer({ min: 0, max: 0xffff_ffff }), high: fc.integer({ min: 0, max: 0xffff_ffff }) }),
);

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('add' as const), key: anyKey }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('mark' as const), key: anyKey }) },
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constantFrom('move' as const, 'remove', 'find'), key: anyKey, at: fc.nat() }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('fill' as const), key: anyKey, count: fc.nat({ max: 2000 }) }),
  },
  { weight: 2, arbitrary: fc.constantFrom<Step>({ kind: 'checkpoint' }, { kind: 'reload' }) },
);

/** An index beside a Map that says what must be in it. */
class Checked {
  readonly #file = new RecordingDisk().open('/index', 'create');
  readonly #map = new Map<string, { key: Key; entry: Entry }>();
  readonly #cachePages: number;
  #index: LinearHash;
  #position = 0;

  constructor(cachePages: number) {
    this.#cachePages = cachePages;
    this.#index = new LinearHash({ cachePages });
  }

  take(step: Step): void {
    if (step.kind === 'fill') for (let n = 0; n < step.count; n++) this.#add(spread(step.key, n));
    else if (step.kind === 'add') this.#add(step.key);
    else if (step.kind === 'mark') this.#mark(step.key);
    else if (step.kind === 'checkpoint') this.#checkpoint();
    else if (step.kind === 'reload') this.#reload();
    else this.#touch(step);
  }

  #entry(): Entry {
    this.#position += 1;
    // Also beyond four gigabytes.
    return {
      position: this.#position * 2 ** 20 + (this.#position % 3) * 2 ** 37,
      bytes: (this.#position % 65_536) * 16,
      isMarked: false,
    };
  }

  #add(key: Key): void {
    const entry = this.#entry();
    this.#index.add(key, entry);
    this.#map.set(nameOf(key, entry.position), { key, entry });
  }

  #mark(key: Key): void {
    this.#index.mark(key);
    for (const [name, known] of this.#map)
      if (known.key.low === key.low && known.key.high === key.high)
        this.#map.set(name, { key, entry: { ...known.entry, isMarked: true } });
  }

  /** Something that is there, or, now and then, something that is not. */
  #touch({ kind, key, at }: Extract<Step, { at: number }>): void {
    const known = [...this.#map.values()];
    const { key: found, entry } = known[at % (known.length + 1)] ?? {
      key,
      entry: { position: 16, bytes: 16, isMarked: false },
    };
    const name = nameOf(found, entry.position);
    const isThere = this.#map.has(name);
    if (kind === 'find') {
      expect(this.#index.find(found, ({ position }) => position === entry.position)).toEqual(
        isThere ? entry : undefined,
      );
      return;
    }
    this.#map.delete(name);
    if (kind === 'remove') return void expect(this.#index.remove(found, entry.position)).toBe(isThere);
    const next = this.#entry();
    expect(this.#index.move(found, entry.position, next)).toBe(isThere);
    if (isThere) this.#map.set(nameOf(found, next.position), { key: found, entry: next });
  }

  #checkpoint(): void {
    for (const { id, bytes } of this.#index.takeDirty(this.#file)) this.#file.write(bytes, id * PAGE);
    this.#index.release();
    expect(this.#index.dirtyPages).toBe(0);
  }

  #reload(): void {
    this.#checkpoint();
    const shape = JSON.parse(JSON.stringify(this.#index.shape));
    this.#index = new LinearHash({ file: this.#file, shape, cachePages: this.#cachePages });
  }

  check(): void {
    expect(this.#index.shape.entries).toBe(this.#map.size);
    const positions = [...this.#index.entries()].map(({ position }) => position);
    expect(positions.sort(byNumber)).toEqual([...this.#map.values()].map(({ entry }) => entry.position).sort(byNumber));
    for (const { key, entry } of this.#map.values())
      expect(this.#index.find(key, ({ position }) => position === entry.position)).toEqual(entry);
  }
}

const nameOf = ({ low, high }: Key, position: number): string => `${low} ${high} ${position}`;
const byNumber = (a: number, b: number): number => a - b;
/** Half of them differ in no low bit at all. */
const spread = ({ low, high }: Key, n: number): Key =>
  n % 2 === 0 ? { low, high: (high + n) >>> 0 } : { low: (low + Math.imul(n, 0x9e3779b1)) >>> 0, high };

describe('LinearHash', () => {
  it.each([2, 8192])('is a Map of keys and positions, with %i pages in memory', (cachePages) => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 60 }), (steps) => {
        const checked = new Checked(cachePages);
        for (const step of steps) checked.take(step);
        checked.check();
        checked.take({ kind: 'reload' });
        checked.check();
      }),
      { numRuns },
    );
  });

  it('keeps thousands of keys with the same low word, in chains, and splits all the same', () => {
    const checked = new Checked(4);
    checked.take({ kind: 'fill', key: { low: 0, high: 0 }, count: 12 * PER_PAGE });
    checked.take({ kind: 'reload' });
    checked.check();
  });

  it('refuses a page that is damaged, of another index, or of a later checkpoint', () => {
    const disk = new RecordingDisk();
    const file = disk.open('/index', 'create');
    const place = (index: LinearHash): void => {
      for (const { id, bytes } of index.takeDirty(file)) file.write(bytes, id * PAGE);
      index.release();
    };
    const index = new LinearHash();
    for (let low = 0; low < 1000; low++)
      index.add({ low, high: 1 }, { position: 16 * low, bytes: 16, isMarked: false });
    place(index);
    const { shape } = index;
    const earlier = JSON.parse(JSON.stringify(shape));
    const all = (from: LinearHash): number => [...from.entries()].length;
    expect(all(new LinearHash({ file, shape: earlier }))).toBe(1000);
    expect(() => all(new LinearHash({ file, shape: { ...earlier, id: earlier.id ^ 1 } }))).toThrow(DamagedPage);
    index.add({ low: 5, high: 1 }, { position: 80, bytes: 16, isMarked: false });
    place(index);
    expect(() => all(new LinearHash({ file, shape: earlier }))).toThrow(DamagedPage);
    expect(all(new LinearHash({ file, shape: index.shape }))).toBe(1001);
    const bit = Buffer.alloc(1);
    file.read(bit, PAGE + 100);
    file.write(Buffer.of((bit[0] as number) ^ 4), PAGE + 100);
    expect(() => all(new LinearHash({ file, shape: index.shape }))).toThrow(DamagedPage);
  });

  it('never forgets a page that stands in no file yet', () => {
    const index = new LinearHash({ cachePages: 2 });
    for (let low = 0; low < 5000; low++)
      index.add({ low, high: 1 }, { position: 16 * low, bytes: 16, isMarked: false });
    expect([...index.entries()].length).toBe(5000);
  });
});

import { PalimpsestError } from '../../../src/errors.ts';
import type { Disk, DiskFile } from '../../../src/store/embedded/disk.ts';

/** A disk that refuses some operations. */
export interface FailingDisk {
  readonly disk: Disk;
  /** How many operations it refused. */
  refused(): number;
  /** Refuses nothing until `resume` was called as often. */
  pause(): void;
  resume(): void;
}

export interface FailingDiskOptions {
  /** Answers a number from 0 up to 1. */
  random(): number;
  /** The share of writes that find the disk full. */
  readonly full: number;
  /** The share of writes, syncs and renames that fail for another reason. @default 0 */
  readonly broken?: number;
  /** Fails ever more rarely, so that long work ends too. @default false */
  readonly isEverRarer?: boolean;
  /** The files that are meant. @default all */
  readonly isMeant?: (path: string) => boolean;
}

/** The same disk, which fails now and then: what it refused may be there all the same, in part or whole. */
export function failNowAndThen(
  disk: Disk,
  { random, full, broken = 0, isEverRarer = false, isMeant = () => true }: FailingDiskOptions,
): FailingDisk {
  let refused = 0;
  let pauses = 0;
  const isDue = (path: string, share: number): boolean =>
    pauses <= 0 && isMeant(path) && random() < share / (isEverRarer ? 1 + refused / 10 : 1);
  const fail = (code: 'ENOSPC' | 'EIO'): never => {
    refused += 1;
    throw Object.assign(new Error(`${code}: refused by the test`), { code, syscall: 'write' });
  };
  const sync = async (path: string, work: () => Promise<void>): Promise<void> => {
    const isBroken = isDue(path, broken);
    if (!isBroken || random() < 0.5) await work();
    if (isBroken) fail('EIO');
  };
  const failing = (path: string, file: DiskFile): DiskFile => ({
    isAt: (place) => file.isAt(place),
    size: () => file.size(),
    read: (...about) => file.read(...about),
    truncate: (size) => file.truncate(size),
    close: () => file.close(),
    sync: () => sync(path, () => file.sync()),
    write: (bytes, position) => {
      const isFull = isDue(path, full);
      if (!isFull && !isDue(path, broken)) return file.write(bytes, position);
      file.write(bytes.subarray(0, Math.round(random() * bytes.length)), position);
      fail(isFull ? 'ENOSPC' : 'EIO');
    },
  });
  return {
    refused: () => refused,
    pause: () => {
      pauses += 1;
    },
    resume: () => {
      pauses -= 1;
    },
    disk: {
      open: (path, mode) => failing(path, disk.open(path, mode)),
      exists: (path) => disk.exists(path),
      list: (folder) => disk.list(folder),
      makeFolder: (path) => disk.makeFolder(path),
      remove: (path) => disk.remove(path),
      rename: (from, to) => sync(to, () => disk.rename(from, to)),
      syncFolder: (path) => sync(path, () => disk.syncFolder(path)),
    },
  };
}

const MOST_ATTEMPTS = 1000;

/** Does what a caller does whose work was refused by a disk: the same again. Any other error is thrown. */
export async function untilTaken<T>(work: () => Promise<T>, { waitMs = 1 } = {}): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const isRefused = error instanceof PalimpsestError && error.code === 'STORE_FAILED';
      if (!isRefused || attempt === MOST_ATTEMPTS) throw error;
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }
}

/** The same object, whose asynchronous methods are called again until the disk takes what they do. */
export function repeating<T extends object>(inner: T, own: Partial<T> = {}): T {
  return new Proxy(inner, {
    get(_inner, name) {
      const found: unknown = Reflect.get(name in own ? own : inner, name);
      if (typeof found !== 'function') return found;
      return (...given: unknown[]) => {
        const first: unknown = found.apply(inner, given);
        if (!(first instanceof Promise)) return first;
        // As it was given: the caller may change it while it is written.
        const same = given.map(copied);
        let attempts = 0;
        return untilTaken(() => (attempts++ === 0 ? first : found.apply(inner, same)));
      };
    },
  });
}

const copied = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : value;

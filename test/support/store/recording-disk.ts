import { dirname } from 'node:path';
import type { Disk, DiskFile } from '../../../src/store/embedded/disk.ts';

/** What stands on the disk under each name. */
export type Files = ReadonlyMap<string, Buffer>;

interface Inode {
  bytes: Buffer;
  size: number;
  /** Whether others hold the bytes too: then they are copied before they change. */
  isShared?: boolean;
}

type Operation =
  | { readonly kind: 'write'; readonly inode: Inode; readonly position: number; readonly bytes: Buffer }
  | { readonly kind: 'truncate'; readonly inode: Inode; readonly size: number }
  /** All that was done to the file before `since` is durable. */
  | { readonly kind: 'synced'; readonly inode: Inode; readonly since: number }
  | { readonly kind: 'bound'; readonly path: string; readonly inode: Inode | undefined }
  | { readonly kind: 'folder synced'; readonly folder: string; readonly since: number };

const SECTOR = 512;

/** A disk in memory that remembers all that was done to it, and what it would hold if its power had been cut. */
export class RecordingDisk implements Disk {
  readonly operations: Operation[] = [];
  readonly #names = new Map<string, Inode>();
  readonly #namesAtFirst: ReadonlyMap<string, Inode>;
  readonly #bytesAtFirst = new Map<Inode, Buffer>();
  reads = 0;
  syncs = 0;
  folderSyncs = 0;
  /** Called and waited for in a sync; what it throws is what the sync fails with. */
  onSync: ((path: string) => void | Promise<void>) | undefined;
  /** Called and waited for before a rename. */
  onRename: ((to: string) => void | Promise<void>) | undefined;
  /** Called before a write; what it throws is what the write fails with. */
  onWrite: ((path: string, bytes: Uint8Array, position: number) => void) | undefined;

  constructor(files: Files = new Map()) {
    for (const [path, bytes] of files) {
      const inode = { bytes, size: bytes.length, isShared: true };
      this.#names.set(path, inode);
      this.#bytesAtFirst.set(inode, bytes);
    }
    this.#namesAtFirst = new Map(this.#names);
  }

  get files(): Files {
    return new Map([...this.#names].map(([path, inode]) => [path, Buffer.from(inode.bytes.subarray(0, inode.size))]));
  }

  open(path: string, mode: 'read' | 'write' | 'create'): DiskFile {
    const known = this.#names.get(path);
    if (mode === 'create' && known) throw failure('EEXIST', path);
    if (mode !== 'create' && !known) throw failure('ENOENT', path);
    const inode = known ?? { bytes: Buffer.alloc(0), size: 0 };
    if (!known) this.#bind(path, inode);
    return this.#file(path, inode, mode);
  }

  #file(path: string, inode: Inode, mode: string): DiskFile {
    let isOpen = true;
    const check = (isWriting: boolean): void => {
      if (!isOpen || (isWriting && mode === 'read')) throw failure('EBADF', path);
    };
    return {
      isAt: (place) => this.#names.get(place) === inode,
      size: () => {
        check(false);
        return inode.size;
      },
      read: (into, position, length = into.length) => {
        check(false);
        this.reads += 1;
        const end = Math.min(inode.size, position + length);
        return position >= end ? 0 : inode.bytes.copy(into, 0, position, end);
      },
      write: (bytes, position) => {
        check(true);
        this.onWrite?.(path, bytes, position);
        this.operations.push({ kind: 'write', inode, position, bytes: Buffer.from(bytes) });
        write(inode, bytes, position);
      },
      truncate: (size) => {
        check(true);
        this.operations.push({ kind: 'truncate', inode, size });
        truncate(inode, size);
      },
      sync: async () => {
        check(false);
        const since = this.operations.length;
        this.syncs += 1;
        await later();
        await this.onSync?.(path);
        check(false);
        this.operations.push({ kind: 'synced', inode, since });
      },
      close: () => {
        isOpen = false;
      },
    };
  }

  exists(path: string): boolean {
    return this.#names.has(path) || this.list(path).length > 0;
  }

  list(folder: string): string[] {
    return [...this.#names.keys()]
      .filter((path) => dirname(path) === folder)
      .map((path) => path.slice(folder.length + 1));
  }

  async makeFolder(): Promise<void> {}

  async rename(from: string, to: string): Promise<void> {
    await this.onRename?.(to);
    const inode = this.#names.get(from);
    if (!inode) throw failure('ENOENT', from);
    this.#bind(to, inode);
    this.#bind(from, undefined);
    await this.syncFolder(dirname(to));
  }

  remove(path: string): void {
    if (this.#names.has(path)) this.#bind(path, undefined);
  }

  async syncFolder(folder: string): Promise<void> {
    const since = this.operations.length;
    this.folderSyncs += 1;
    await later();
    await this.onSync?.(folder);
    this.operations.push({ kind: 'folder synced', folder, since });
  }

  #bind(path: string, inode: Inode | undefined): void {
    this.operations.push({ kind: 'bound', path, inode });
    if (inode) this.#names.set(path, inode);
    else this.#names.delete(path);
  }

  /** What a process that starts after a crash finds: all that was done, since the system went on. */
  afterCrash(length = this.operations.length): Files {
    return this.afterPowerLoss(length, { choose: () => 1 });
  }

  /**
   * What a disk may hold whose power was cut after so many operations. Of what was not synced, each sector of each write, each
   * truncation and each name is there or not, whatever the order in which they were asked for.
   * `choose` answers a number from 0 up to 1.
   */
  afterPowerLoss(length: number, { choose }: { choose(): number }): Files {
    const done = this.operations.slice(0, length);
    const names = this.#namesAfter(done, choose);
    const files = new Map<string, Buffer>();
    for (const [path, inode] of names) files.set(path, this.#contentAfter(inode, done, choose));
    return files;
  }

  #namesAfter(done: readonly Operation[], choose: () => number): Map<string, Inode> {
    const names = new Map(this.#namesAtFirst);
    const durable = done.reduce((most, one) => (one.kind === 'folder synced' ? Math.max(most, one.since) : most), 0);
    const possible = new Map<string, (Inode | undefined)[]>();
    for (const [index, one] of done.entries()) {
      if (one.kind !== 'bound') continue;
      const before = index < durable ? [] : (possible.get(one.path) ?? [names.get(one.path)]);
      possible.set(one.path, [...before, one.inode]);
      if (index < durable) setName(names, one.path, one.inode);
      if (index < durable) possible.delete(one.path);
    }
    for (const [path, inodes] of possible) setName(names, path, pick(inodes, choose));
    return names;
  }

  #contentAfter(inode: Inode, done: readonly Operation[], choose: () => number): Buffer {
    const start = this.#bytesAtFirst.get(inode) ?? Buffer.alloc(0);
    const content: Inode = { bytes: start, size: start.length, isShared: true };
    const durable = done.reduce(
      (most, one) => (one.kind === 'synced' && one.inode === inode ? Math.max(most, one.since) : most),
      0,
    );
    for (const [index, one] of done.entries()) {
      if ((one.kind !== 'write' && one.kind !== 'truncate') || one.inode !== inode) continue;
      if (one.kind === 'truncate') {
        if (index < durable || choose() >= 0.5) truncate(content, one.size);
      } else if (index < durable) write(content, one.bytes, one.position);
      else tear(content, one.bytes, one.position, choose);
    }
    return content.bytes.subarray(0, content.size);
  }
}

/** Writes some of the sectors. The file may have grown without any of them. */
function tear(inode: Inode, bytes: Buffer, position: number, choose: () => number): void {
  const mood = choose();
  if (mood < 0.25) return;
  for (let from = 0; from < bytes.length; ) {
    const to = Math.min(bytes.length, (Math.floor((position + from) / SECTOR) + 1) * SECTOR - position);
    if (mood >= 0.75 || choose() >= 0.5) write(inode, bytes.subarray(from, to), position + from);
    from = to;
  }
  const end = position + bytes.length;
  if (mood < 0.35 && end > inode.size) write(inode, Buffer.alloc(end - inode.size), inode.size);
}

function write(inode: Inode, bytes: Uint8Array, position: number): void {
  const end = position + bytes.length;
  own(inode);
  if (end > inode.bytes.length) {
    const grown = Buffer.alloc(Math.max(end, 2 * inode.bytes.length));
    inode.bytes.copy(grown, 0, 0, inode.size);
    inode.bytes = grown;
  }
  inode.bytes.set(bytes, position);
  inode.size = Math.max(inode.size, end);
}

function truncate(inode: Inode, size: number): void {
  own(inode);
  if (size > inode.size) write(inode, Buffer.alloc(size - inode.size), inode.size);
  inode.bytes.fill(0, size);
  inode.size = size;
}

function own(inode: Inode): void {
  if (!inode.isShared) return;
  inode.bytes = Buffer.from(inode.bytes);
  inode.isShared = false;
}

function setName(names: Map<string, Inode>, path: string, inode: Inode | undefined): void {
  if (inode) names.set(path, inode);
  else names.delete(path);
}

const pick = <T>(from: readonly T[], choose: () => number): T =>
  from[Math.min(from.length - 1, Math.floor(choose() * from.length))] as T;

const later = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function failure(code: string, path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}

/** Numbers from 0 up to 1, the same for the same seed. */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

import * as fs from 'node:fs';
import { dirname } from 'node:path';
import { PalimpsestError } from '../../errors.ts';

/** The file operations that the store needs. Positions are absolute. Nothing is durable before `sync` resolves. */
export interface DiskFile {
  /** Whether the path leads to this file. False if the file was removed, also if another one is there now. */
  isAt(path: string): boolean;
  size(): number;
  /** Returns how many bytes were read, at most `length` or the size of the buffer. */
  read(into: Uint8Array, position: number, length?: number): number;
  write(bytes: Uint8Array, position: number): void;
  sync(): Promise<void>;
  truncate(size: number): void;
  close(): void;
}

/** The disk operations of the store. A test can replace them, for example to simulate a power failure. */
export interface Disk {
  open(path: string, mode: 'read' | 'write' | 'create'): DiskFile;
  exists(path: string): boolean;
  list(folder: string): string[];
  /** Creates a folder and its parents. They are durable when it resolves. */
  makeFolder(path: string): Promise<void>;
  /** The new name is durable when it resolves. */
  rename(from: string, to: string): Promise<void>;
  remove(path: string): void;
  /** Makes the creation and removal of files durable. */
  syncFolder(path: string): Promise<void>;
}

const { O_CREAT, O_EXCL, O_RDONLY, O_RDWR } = fs.constants;
const { O_NOFOLLOW = 0, O_NONBLOCK = 0, O_DIRECTORY = 0, O_NOATIME = 0 } = fs.constants;
/** Follows no symbolic link, which would lead out of the store's folder, and does not wait for a pipe. */
const CAREFUL = O_NOFOLLOW | O_NONBLOCK;
const FLAGS = { read: O_RDONLY, write: O_RDWR, create: O_RDWR | O_CREAT | O_EXCL } as const;

/** The real disk. Only the owner can read its files. */
export const nodeDisk: Disk = {
  open: (path, mode) => new NodeFile(openFile(path, FLAGS[mode] | CAREFUL)),
  exists: (path) => fs.lstatSync(path, { throwIfNoEntry: false }) !== undefined,
  list: (folder) => fs.readdirSync(folder),
  async makeFolder(path) {
    if (!fs.existsSync(dirname(path))) await nodeDisk.makeFolder(dirname(path));
    if (makeOne(path)) await nodeDisk.syncFolder(dirname(path));
  },
  async rename(from, to) {
    fs.renameSync(from, to);
    await nodeDisk.syncFolder(dirname(to));
  },
  remove: (path) => fs.rmSync(path, { force: true }),
  async syncFolder(path) {
    // Windows cannot sync a folder.
    if (process.platform === 'win32') return;
    const folder = fs.openSync(path, O_RDONLY | O_DIRECTORY);
    try {
      await synced((done) => fs.fsync(folder, done));
    } finally {
      fs.closeSync(folder);
    }
  },
};

function openFile(path: string, flags: number): number {
  let descriptor: number;
  try {
    descriptor = openQuietly(path, flags);
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ELOOP' ? noFile(path, 'a symbolic link') : error;
  }
  if (fs.fstatSync(descriptor).isFile()) return descriptor;
  fs.closeSync(descriptor);
  throw noFile(path, 'something else');
}

/** Opens a file without recording access times, which cost time at every read. Only the owner may do so. */
function openQuietly(path: string, flags: number): number {
  try {
    return fs.openSync(path, flags | O_NOATIME, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM' || O_NOATIME === 0) throw error;
    return fs.openSync(path, flags, 0o600);
  }
}

const noFile = (path: string, found: string): PalimpsestError =>
  new PalimpsestError('STORE_DAMAGED', `Expected a file at ${path} but found ${found}; take it away`);

/** Returns whether the folder was created, rather than found. */
function makeOne(path: string): boolean {
  try {
    fs.mkdirSync(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Windows has file ids that no number holds. */
const FILE_IDS = { bigint: true, throwIfNoEntry: false } as const;

class NodeFile implements DiskFile {
  #descriptor: number;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  isAt(path: string): boolean {
    const [found, own] = [fs.lstatSync(path, FILE_IDS), fs.fstatSync(this.#descriptor, { bigint: true })];
    return found?.ino === own.ino && found.dev === own.dev;
  }

  size(): number {
    return fs.fstatSync(this.#descriptor).size;
  }

  read(into: Uint8Array, position: number, length = into.length): number {
    let read = 0;
    while (read < length) {
      const more = fs.readSync(this.#descriptor, into, read, length - read, position + read);
      if (more === 0) break;
      read += more;
    }
    return read;
  }

  write(bytes: Uint8Array, position: number): void {
    for (let written = 0; written < bytes.length; )
      written += fs.writeSync(this.#descriptor, bytes, written, bytes.length - written, position + written);
  }

  sync(): Promise<void> {
    return synced((done) => fs.fdatasync(this.#descriptor, done));
  }

  truncate(size: number): void {
    fs.ftruncateSync(this.#descriptor, size);
  }

  close(): void {
    if (this.#descriptor < 0) return;
    fs.closeSync(this.#descriptor);
    // The system reuses the number for the next file. A late caller must not read or write that file.
    this.#descriptor = -1;
  }
}

function synced(start: (done: (error: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => start((error) => (error ? reject(error) : resolve())));
}

import { randomUUID } from 'node:crypto';
import * as fs from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { PalimpsestError } from '../../errors.ts';
import { storeLimits } from '../../limits.ts';

/** The process that holds a store for writing. */
export interface Holder {
  readonly pid: number;
  readonly host: string;
  /** The id of the machine's boot and of its process namespace. */
  readonly boot: string;
  /** The start time of the process, because a pid can be reused. */
  readonly started: string;
  /** Unique for each lock. */
  readonly nonce: string;
}

/** The name of the locked thing, and the advice to a second process. */
export interface LockWords {
  readonly what: string;
  readonly remedy: string;
}

const STORE: LockWords = { what: 'the store', remedy: "stop that process, or open with mode 'read'" };
const HEARTBEAT_MS = 5000;

/**
 * A lock on a folder for one writer, held until it is released, the process is gone, or it was silent for too long.
 *
 * Clocks decide only when a lock may be taken over. Safety rests on three rules that use no clock:
 * - A writer calls `check` between the sync and the acknowledgement. A writer that lost its lock acknowledges nothing.
 * - A writer that finds `isContested` writes to new files only. The writer before it may have the old ones open, and may
 *   still finish a write that it began.
 * - A file that replaces another is written under a name that no other writer uses, then `check` is called, then it is
 *   renamed. A writer that finds `isContested` first removes the files that were waiting for their rename.
 */
export class Lock {
  readonly #path: string;
  readonly #own: OwnFile;
  readonly #words: LockWords;
  readonly #heartbeat: NodeJS.Timeout;
  readonly #rivals: readonly string[];
  #isLost = false;
  /**
   * Whether the last writer may still run: it has not released the lock and is not known to be gone. This happens after the lock
   * file was removed by hand, and after a lock of another host or container was silent.
   */
  readonly isContested: boolean;

  private constructor(path: string, { own, words, tookSilent }: Taken) {
    this.#path = path;
    this.#own = own;
    this.#words = words;
    this.#heartbeat = setInterval(() => this.#beat(), HEARTBEAT_MS);
    this.#heartbeat.unref();
    try {
      fs.renameSync(own.draft, writerFile(path, own.nonce));
      this.check();
      this.#rivals = writersOf(path).filter((file) => file !== writerFile(path, own.nonce) && !removeIfGone(file));
      this.isContested = tookSilent || this.#rivals.length > 0;
    } catch (error) {
      this.release();
      throw error;
    }
  }

  /** Takes the lock, if necessary from a process that is gone. */
  static take(path: string, words = STORE): Lock {
    let tookSilent = false;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const own = create(path);
      if (own) return new Lock(path, { own, words, tookSilent });
      const found = readHolder(path);
      if (!isGone(found, path)) throw locked(found, words);
      tookSilent ||= breakLock(path);
    }
    throw locked(readHolder(path), words);
  }

  /** Unique for each lock. */
  get nonce(): string {
    return this.#own.nonce;
  }

  /** Throws STORE_LOCKED if the lock was taken over or removed. It looks at the file: one system call. */
  check(): void {
    this.#isLost ||= !this.#isOurs();
    if (this.#isLost) throw lost(readHolder(this.#path), this.#words);
  }

  /** Call this once all files in use are new. Until then the next writer also finds the lock contested. */
  settle(): void {
    for (const file of this.#rivals) fs.rmSync(file, { force: true });
  }

  /** Call this after the last write. */
  release(): void {
    clearInterval(this.#heartbeat);
    const isOurs = !this.#isLost && this.#isOurs();
    fs.rmSync(this.#own.draft, { force: true });
    fs.rmSync(writerFile(this.#path, this.#own.nonce), { force: true });
    if (isOurs) fs.rmSync(this.#path, { force: true });
    this.#own.close();
  }

  #beat(): void {
    this.#isLost ||= !this.#isOurs();
    if (!this.#isLost) this.#own.touch();
  }

  /** The lock file is open, so no other file can have the same inode. */
  #isOurs(): boolean {
    return fs.lstatSync(this.#path, { bigint: true, throwIfNoEntry: false })?.ino === this.#own.inode;
  }
}

interface Taken {
  readonly own: OwnFile;
  readonly words: LockWords;
  /** The lock existed, and its holder was not known to be gone. */
  readonly tookSilent: boolean;
}

const ATTEMPTS = 5;

/** The file of a lock that this process made, open as long as the lock is held. */
class OwnFile {
  readonly nonce: string;
  readonly draft: string;
  readonly inode: bigint;
  #descriptor: number;

  /** Writes the file under a separate name and renames it when it is complete. A half-written lock would look like a dead one. */
  constructor(path: string) {
    const own = holder(process.pid);
    this.nonce = own.nonce;
    this.draft = `${path}.${own.nonce}`;
    this.#descriptor = fs.openSync(this.draft, 'wx', 0o600);
    try {
      fs.writeFileSync(this.#descriptor, JSON.stringify(own));
      this.inode = fs.fstatSync(this.#descriptor, { bigint: true }).ino;
    } catch (error) {
      this.discard();
      throw error;
    }
  }

  touch(): void {
    fs.futimes(this.#descriptor, new Date(), new Date(), () => {});
  }

  discard(): void {
    fs.rmSync(this.draft, { force: true });
    this.close();
  }

  close(): void {
    if (this.#descriptor >= 0) fs.closeSync(this.#descriptor);
    this.#descriptor = -1;
  }
}

/** Returns whether the process is known to be gone. */
function removeIfGone(file: string): boolean {
  const isGone = isKnownGone(readHolder(file));
  if (isGone) fs.rmSync(file, { force: true });
  return isGone;
}

function create(path: string): OwnFile | undefined {
  const own = new OwnFile(path);
  try {
    fs.linkSync(own.draft, path);
    return own;
  } catch (error) {
    own.discard();
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined;
    throw error;
  }
}

/** A process of this machine, as the holder of a lock. */
export function holder(pid: number): Holder {
  const boot = `${readLine('/proc/sys/kernel/random/boot_id')} ${namespace()}`.trim();
  return { pid, host: hostname(), boot, started: startOf(pid), nonce: randomUUID() };
}

/**
 * This file exists until the process releases the lock. Its name does not begin with that of the lock, which people remove by
 * hand.
 */
const writerFile = (path: string, nonce: string): string => join(dirname(path), `writer.${basename(path)}.${nonce}`);

function writersOf(path: string): string[] {
  const prefix = basename(writerFile(path, ''));
  const isOne = (name: string): boolean => name.startsWith(prefix) && !name.slice(prefix.length).includes('.');
  return fs
    .readdirSync(dirname(path))
    .filter(isOne)
    .map((name) => join(dirname(path), name));
}

/** Undefined if it is not a lock file of Palimpsest. Links are not followed. */
function readHolder(path: string): Holder | undefined {
  let file: number | undefined;
  try {
    file = fs.openSync(path, fs.constants.O_RDONLY | (fs.constants.O_NOFOLLOW ?? 0) | (fs.constants.O_NONBLOCK ?? 0));
    const found = JSON.parse(fs.readFileSync(file, 'utf8'));
    return typeof found.pid === 'number' ? found : undefined;
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) fs.closeSync(file);
  }
}

/** Whether a lock may be taken over. */
function isGone(found: Holder | undefined, path: string): boolean {
  return found && isOfHere(found) ? isKnownGone(found) : isSilent(path);
}

/** Whether a process certainly writes no more. This does not depend on a clock. */
export function isKnownGone(found: Holder | undefined): boolean {
  if (!found) return false;
  if (isBeforeBoot(found)) return true;
  if (!isOfHere(found)) return false;
  return !isAlive(found.pid) || (found.started !== '' && found.started !== startOf(found.pid));
}

/** Whether process ids of the holder are valid here. */
function isOfHere({ host, boot }: Holder): boolean {
  const here = holder(process.pid);
  return host === here.host && boot === here.boot;
}

/** Whether this machine has restarted since, so that the process is gone. */
function isBeforeBoot({ host, boot }: Holder): boolean {
  const [before, now] = [boot, holder(process.pid).boot].map((one) => one.split(' ')[0] ?? '');
  return host === hostname() && before !== '' && now !== '' && before !== now;
}

function isSilent(path: string): boolean {
  const modified = fs.lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return Date.now() - modified > storeLimits.lockSilentMs;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Removes a dead lock. Two processes may find the same dead lock, and the slower could remove the new lock of the faster. So this
 * takes a second lock and checks again. Returns whether the old holder may still run.
 */
function breakLock(path: string): boolean {
  const breaking = Lock.take(`${path}.break`);
  try {
    breaking.settle();
    const found = readHolder(path);
    if (!isGone(found, path)) return false;
    fs.rmSync(path, { force: true });
    return !isKnownGone(found);
  } finally {
    breaking.release();
  }
}

function startOf(pid: number): string {
  // The 22nd field. The second is the name in parentheses, which may hold any characters.
  return readLine(`/proc/${pid}/stat`).split(') ').pop()?.split(' ')[19] ?? '';
}

/** The process namespace: in another container, the same pid is another process. */
function namespace(): string {
  try {
    return fs.readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

function readLine(path: string): string {
  try {
    return fs.readFileSync(path, 'utf8').trim();
  } catch {
    return '';
  }
}

function locked(found: Holder | undefined, { what, remedy }: LockWords): PalimpsestError {
  const who = found ? `process ${found.pid} on ${found.host}` : 'another process';
  return new PalimpsestError('STORE_LOCKED', `Expected to open ${what} for writing but ${who} holds it; ${remedy}`);
}

function lost(found: Holder | undefined, { what }: LockWords): PalimpsestError {
  const how = found ? `process ${found.pid} on ${found.host} has taken it over` : 'its lock file was removed';
  const text = `Expected to hold ${what} for writing but ${how}; this write is not acknowledged, open it again to go on`;
  return new PalimpsestError('STORE_LOCKED', text);
}

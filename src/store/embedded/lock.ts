import { randomUUID } from 'node:crypto';
import * as fs from 'node:fs';
import { hostname } from 'node:os';
import { PalimpsestError } from '../../errors.ts';

/** Who holds a store for writing. */
export interface Holder {
  readonly pid: number;
  readonly host: string;
  /** Changes when the machine is started, and is another where its process numbers are others. */
  readonly boot: string;
  /** When the process was started: a pid is used again. */
  readonly started: string;
  /** No two locks are the same. */
  readonly nonce: string;
}

/** What is locked, and what a second one can do. */
export interface LockWords {
  readonly what: string;
  readonly remedy: string;
}

const STORE: LockWords = { what: 'the store', remedy: "stop that process, or open with mode 'read'" };
const HEARTBEAT_MS = 5000;
const SILENT_MS = 30_000;

/** A lock on a store, held until it is released, the process is gone, or it was silent for too long. */
export class Lock {
  readonly #path: string;
  readonly #nonce: string;
  readonly #words: LockWords;
  readonly #heartbeat: NodeJS.Timeout;
  #beatAt = Date.now();
  #isLost = false;

  private constructor(path: string, nonce: string, words: LockWords) {
    this.#path = path;
    this.#nonce = nonce;
    this.#words = words;
    this.#heartbeat = setInterval(() => this.#beat(), HEARTBEAT_MS);
    this.#heartbeat.unref();
  }

  /** Takes the lock, also from a process that is gone. */
  static take(path: string, words = STORE): Lock {
    const own = holder(process.pid);
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (create(path, own)) return new Lock(path, own.nonce, words);
      const found = readHolder(path);
      if (!isGone(found, path)) throw locked(found, words);
      breakLock(path);
    }
    throw locked(readHolder(path), words);
  }

  /** Throws if another process has taken the lock, as it may when this one was stopped for a while. */
  check(): void {
    if (Date.now() - this.#beatAt > 2 * HEARTBEAT_MS) this.#beat();
    if (this.#isLost) throw locked(readHolder(this.#path), this.#words);
  }

  release(): void {
    clearInterval(this.#heartbeat);
    if (this.#isOurs()) fs.rmSync(this.#path, { force: true });
  }

  #beat(): void {
    this.#isLost ||= !this.#isOurs();
    if (this.#isLost) return;
    this.#beatAt = Date.now();
    fs.lutimes(this.#path, new Date(), new Date(), () => {});
  }

  #isOurs(): boolean {
    return readHolder(this.#path)?.nonce === this.#nonce;
  }
}

const ATTEMPTS = 5;

function holder(pid: number): Holder {
  const boot = `${readLine('/proc/sys/kernel/random/boot_id')} ${namespace()}`.trim();
  return { pid, host: hostname(), boot, started: startOf(pid), nonce: randomUUID() };
}

/** It appears with all that stands in it, or not at all: whoever finds it half written would take it for a dead one. */
function create(path: string, own: Holder): boolean {
  const draft = `${path}.${own.nonce}`;
  fs.writeFileSync(draft, JSON.stringify(own), { flag: 'wx', mode: 0o600 });
  try {
    fs.linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    fs.rmSync(draft, { force: true });
  }
}

/** Undefined where it is no lock of ours. No link is followed. */
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

function isGone(found: Holder | undefined, path: string): boolean {
  if (!found) return isSilent(path);
  const here = holder(found.pid);
  if (found.host !== here.host || found.boot !== here.boot) return isSilent(path);
  return !isAlive(found.pid) || (found.started !== '' && found.started !== here.started);
}

function isSilent(path: string): boolean {
  const modified = fs.lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return Date.now() - modified > SILENT_MS;
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
 * Removes a dead lock. Of two who found it dead, the slower would remove the lock of the faster: so only who holds a second
 * lock may, and looks again first.
 */
function breakLock(path: string): void {
  const breaking = Lock.take(`${path}.break`);
  try {
    if (isGone(readHolder(path), path)) fs.rmSync(path, { force: true });
  } finally {
    breaking.release();
  }
}

function startOf(pid: number): string {
  // The 22nd field; the second is the name, in parentheses, and may hold anything.
  return readLine(`/proc/${pid}/stat`).split(') ').pop()?.split(' ')[19] ?? '';
}

/** In another container the same number is another process. */
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

import * as fs from 'node:fs';
import { hostname } from 'node:os';
import { PalimpsestError } from '../../errors.ts';

/** Who holds a store for writing. */
interface Holder {
  readonly pid: number;
  readonly host: string;
  /** Changes when the machine is started. */
  readonly boot: string;
  /** When the process was started: a pid is used again. */
  readonly started: string;
}

const HEARTBEAT_MS = 5000;
const SILENT_MS = 30_000;

/** A lock on a store, held until it is released or the process is gone. */
export class Lock {
  readonly #path: string;
  readonly #heartbeat: NodeJS.Timeout;

  private constructor(path: string) {
    this.#path = path;
    this.#heartbeat = setInterval(() => this.#beat(), HEARTBEAT_MS);
    this.#heartbeat.unref();
  }

  /** Takes the lock, also from a process that is gone. */
  static take(path: string): Lock {
    const own = JSON.stringify(holder(process.pid));
    for (let attempt = 0; attempt < 5; attempt++) {
      try {
        fs.writeFileSync(path, own, { flag: 'wx', mode: 0o600 });
        return new Lock(path);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      const found = readHolder(path);
      if (found && !isGone(found, path)) throw locked(found);
      breakLock(path);
    }
    throw locked(readHolder(path));
  }

  release(): void {
    clearInterval(this.#heartbeat);
    fs.rmSync(this.#path, { force: true });
  }

  #beat(): void {
    const now = new Date();
    fs.utimes(this.#path, now, now, () => {});
  }
}

function holder(pid: number): Holder {
  return { pid, host: hostname(), boot: readLine('/proc/sys/kernel/random/boot_id'), started: startOf(pid) };
}

/** Undefined while it is being written, and where it is no lock of ours. */
function readHolder(path: string): Holder | undefined {
  try {
    const found = JSON.parse(fs.readFileSync(path, 'utf8'));
    return typeof found.pid === 'number' ? found : undefined;
  } catch {
    return undefined;
  }
}

function isGone(found: Holder, path: string): boolean {
  const here = holder(found.pid);
  if (found.host !== here.host || found.boot !== here.boot) return isSilent(path);
  return !isAlive(found.pid) || (found.started !== '' && found.started !== here.started);
}

function isSilent(path: string): boolean {
  const modified = fs.statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
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

/** Moved away first, so that of two who find the same dead lock only one takes it. */
function breakLock(path: string): void {
  const aside = `${path}.${process.pid}`;
  try {
    fs.renameSync(path, aside);
    fs.rmSync(aside, { force: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

function startOf(pid: number): string {
  // The 22nd field; the second is the name, in parentheses, and may hold anything.
  return readLine(`/proc/${pid}/stat`).split(') ').pop()?.split(' ')[19] ?? '';
}

function readLine(path: string): string {
  try {
    return fs.readFileSync(path, 'utf8').trim();
  } catch {
    return '';
  }
}

function locked(found: Holder | undefined): PalimpsestError {
  const who = found ? `process ${found.pid} on ${found.host}` : 'another process';
  return new PalimpsestError(
    'STORE_LOCKED',
    `Expected to open the store for writing but ${who} holds it; stop that process, or open with mode 'read'`,
  );
}

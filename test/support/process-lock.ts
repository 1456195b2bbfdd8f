import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Does work while no other process does work under the same lock, a file. The lock of a process that was killed does not count. */
export async function underLock<T>(lock: string, work: () => T): Promise<T> {
  while (!take(lock)) await sleep(50);
  try {
    return work();
  } finally {
    rmSync(lock, { force: true });
  }
}

/** By who holds it, not by its age: on a slow machine a build takes minutes. */
function take(lock: string): boolean {
  try {
    writeFileSync(lock, `${process.pid}`, { flag: 'wx' });
    return true;
  } catch {
    if (isAbandoned(lock)) rmSync(lock, { force: true });
    return false;
  }
}

function isAbandoned(lock: string): boolean {
  try {
    const owner = Number(readFileSync(lock, 'utf8'));
    // 0 for the moment before it is written.
    if (owner > 0) process.kill(owner, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

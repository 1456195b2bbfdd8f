import { join } from 'node:path';
import { Lock } from '../../store/embedded/lock.ts';

/** Takes the lock of a session, whose folder must be there. Throws STORE_LOCKED where a process has it open. */
export function lockSession(folder: string, id: string): Lock {
  return Lock.take(join(folder, 'lock'), {
    what: `the session ${id}`,
    remedy: 'close it there, or stop that process',
  });
}

import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Lock } from '../../../store/embedded/lock.ts';
import type { Writing } from './open-log.ts';

/** Takes the lock of a session, whose folder must exist. Throws STORE_LOCKED if a process has it open. */
export function lockSession(folder: string, id: string): Writing {
  const lock = Lock.take(join(folder, 'lock'), {
    what: `the session ${id}`,
    remedy: 'close it there, or stop that process',
  });
  return {
    mayWrite: () => lock.check(),
    isContested: lock.isContested,
    draftSuffix: `.${randomUUID()}.new`,
    onOwnFiles: () => lock.settle(),
    release: () => lock.release(),
  };
}

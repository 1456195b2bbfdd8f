import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Lock } from '../../../store/embedded/lock.ts';
import type { WrittenSession } from './open-log.ts';

/** The lock of a session, held until it is released. */
export interface SessionLock {
  /** The part of the lock that a writer needs. */
  readonly writing: Pick<WrittenSession, 'mayWrite' | 'isContested' | 'draftSuffix' | 'onOwnFiles'>;
  release(): void;
}

/** Takes the lock of a session, whose folder must exist. Throws STORE_LOCKED if a process has it open. */
export function lockSession(folder: string, id: string): SessionLock {
  const lock = Lock.take(join(folder, 'lock'), {
    what: `the session ${id}`,
    remedy: 'close it there, or stop that process',
  });
  return {
    writing: {
      mayWrite: () => lock.check(),
      isContested: lock.isContested,
      draftSuffix: `.${randomUUID()}.new`,
      onOwnFiles: () => lock.settle(),
    },
    release: () => lock.release(),
  };
}

import { chmodSync } from 'node:fs';
import { PalimpsestError } from '../errors.ts';
import type { ChatMessage } from '../message.ts';
import { anything, checkOptions, flag, func, oneOf, positive, rule, text } from '../options.ts';
import { nodeDisk } from '../store/embedded/disk.ts';
import { type DurableOptions, DurableSession } from './session/durable-session.ts';
import { lockSession, type SessionLock } from './session/lock-session.ts';
import { UNSHARED } from './session/open-log.ts';
import type { Session, SessionOptions } from './session/session.ts';
import { directoryRule, sessionFolder } from './session/session-folder.ts';
import { partsOf, SETTINGS_RULES } from './session-settings.ts';

const RULES = {
  ...SETTINGS_RULES,
  directory: directoryRule,
  id: text,
  store: rule('a store', (v) => typeof (v as { putMany?: unknown } | null)?.putMany === 'function'),
  recordTurns: flag,
  compaction: oneOf('archive', 'discard', 'off'),
  compactAfterBytes: positive,
  snapshotEvery: positive,
  openCalls: oneOf('answer', 'keep'),
  onWindDown: func,
  onProblem: func,
  disk: anything,
};

/** Opens the session of that id, or begins it: a conversation whose every message is on disk when `add` resolves. */
export async function openSession<M = ChatMessage>(options: SessionOptions<M>): Promise<Session<M>> {
  checkOptions('openSession', options, RULES);
  const { id, disk = nodeDisk } = options;
  const folder = sessionFolder(options.directory, id);
  const session = toDurable(options, folder);
  if (disk !== nodeDisk) return DurableSession.open({ ...session, disk });
  const lock = await lockFolder(folder, id);
  const release = (): void => lock.release();
  try {
    return await DurableSession.open({ ...session, disk, ...lock.writing, onClose: release });
  } catch (error) {
    release();
    throw error instanceof PalimpsestError ? error : cannotOpen(id, error as Error);
  }
}

function toDurable<M>(options: SessionOptions<M>, folder: string): Omit<DurableOptions<M>, 'disk'> {
  const { id, store } = options;
  return {
    ...partsOf(options, { hasStore: store !== undefined }),
    id,
    folder,
    store,
    recordTurns: options.recordTurns ?? true,
    compaction: options.compaction ?? 'archive',
    compactAfterBytes: options.compactAfterBytes ?? 1 << 20,
    snapshotEvery: options.snapshotEvery ?? 50,
    openCalls: options.openCalls ?? 'answer',
    onWindDown: options.onWindDown ?? (() => {}),
    onProblem: (problem) => tell(options.onProblem ?? ((error) => process.emitWarning(error)), problem),
    ...UNSHARED,
    onClose: () => {},
  };
}

/** An error of the caller's function must not stop the log: it is thrown later. */
function tell(onProblem: (problem: Error) => void, problem: Error): void {
  try {
    onProblem(problem);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

async function lockFolder(folder: string, id: string): Promise<SessionLock> {
  try {
    await nodeDisk.makeFolder(folder);
    chmodSync(folder, 0o700);
    return lockSession(folder, id);
  } catch (error) {
    throw error instanceof PalimpsestError ? error : cannotOpen(id, error as Error);
  }
}

function cannotOpen(id: string, cause: Error): PalimpsestError {
  const text = `Expected to open the session ${id} but found: ${cause.message}; see to the disk and its rights, then open it again`;
  return new PalimpsestError('STORE_FAILED', text, { cause });
}

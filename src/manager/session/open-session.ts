import { PalimpsestError } from '../../errors.ts';
import type { ChatMessage } from '../../message.ts';
import { anything, checkOptions, flag, func, oneOf, positive, rule } from '../../options.ts';
import { sessionRule } from '../../store/store.ts';
import { diskPlace } from './disk/disk-place.ts';
import { type DurableOptions, DurableSession } from './durable-session.ts';
import { findPlace, PLACE_RULES } from './find-place.ts';
import type { Session, SessionOptions } from './session.ts';
import { partsOf, SETTINGS_RULES } from './session-settings.ts';
import type { SessionPlace } from './session-storage.ts';

const RULES = {
  ...SETTINGS_RULES,
  ...PLACE_RULES,
  id: sessionRule,
  store: rule(
    'a store, such as openStore() gives',
    (v) => typeof (v as { putMany?: unknown } | null)?.putMany === 'function',
  ),
  recordTurns: flag,
  compaction: oneOf('archive', 'discard', 'off'),
  compactAfterBytes: positive,
  snapshotEvery: positive,
  openCalls: oneOf('answer', 'keep'),
  onWindDown: func,
  onProblem: func,
  disk: anything,
};

/**
 * Opens the session with this id, or begins it. Every message is durable when `add` resolves.
 *
 * @example
 * ```ts
 * import { openSession } from 'palimpsest/manager';
 *
 * const session = await openSession({ directory: 'sessions', id: 'ticket-42', model: 'gpt-5' });
 * await session.add({ role: 'user', content: 'Find the bug.' });
 * const { messages } = await session.render(); // send these, then add the reply
 * await session.close();
 * ```
 */
export async function openSession<M = ChatMessage>(options: SessionOptions<M>): Promise<Session<M>> {
  checkOptions('openSession', options, RULES, ['id']);
  const { id } = options;
  const session = toDurable(options);
  const place = await placeOf(options);
  try {
    const storage = await place.open<M>(id, session.onProblem);
    return await DurableSession.open({ ...session, place, storage });
  } catch (error) {
    await place.close();
    throw error instanceof PalimpsestError || options.disk ? error : cannotOpen(id, error as Error);
  }
}

async function placeOf<M>({ disk, ...options }: SessionOptions<M>): Promise<SessionPlace> {
  return disk ? diskPlace(options.directory as string, disk) : findPlace('openSession', options);
}

function toDurable<M>(options: SessionOptions<M>): Omit<DurableOptions<M>, 'place' | 'storage'> {
  const { id, store } = options;
  return {
    ...partsOf(options, { hasStore: store !== undefined }),
    id,
    store,
    recordTurns: options.recordTurns ?? true,
    compaction: options.compaction ?? 'archive',
    compactAfterBytes: options.compactAfterBytes ?? 1 << 20,
    snapshotEvery: options.snapshotEvery ?? 50,
    openCalls: options.openCalls ?? 'answer',
    onWindDown: options.onWindDown ?? (() => {}),
    onProblem: (problem) => report(options.onProblem ?? ((error) => process.emitWarning(error)), problem),
  };
}

/** Calls the caller's function. Its errors are thrown later, so that they do not stop the log. */
function report(onProblem: (problem: Error) => void, problem: Error): void {
  try {
    onProblem(problem);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

function cannotOpen(id: string, cause: Error): PalimpsestError {
  const text = `Expected to open the session ${id} but found: ${cause.message}; see to the disk and its rights, then open it again`;
  return new PalimpsestError('STORE_FAILED', text, { cause });
}

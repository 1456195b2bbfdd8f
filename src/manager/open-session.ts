import { PalimpsestError } from '../errors.ts';
import type { ChatMessage } from '../message.ts';
import { anything, checkOptions, flag, func, oneOf, positive, rule, text } from '../options.ts';
import { diskPlace } from './session/disk-place.ts';
import { type DurableOptions, DurableSession } from './session/durable-session.ts';
import { findPlace, PLACE_RULES } from './session/find-place.ts';
import type { Session, SessionOptions } from './session/session.ts';
import type { SessionPlace, SessionStorage } from './session/session-storage.ts';
import { partsOf, SETTINGS_RULES } from './session-settings.ts';

const RULES = {
  ...SETTINGS_RULES,
  ...PLACE_RULES,
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

/** Opens the session of that id, or begins it: a conversation whose every message is durable when `add` resolves. */
export async function openSession<M = ChatMessage>(options: SessionOptions<M>): Promise<Session<M>> {
  checkOptions('openSession', options, RULES);
  const { id } = options;
  const session = toDurable(options);
  const place = await placeOf(options);
  try {
    return await DurableSession.open({ ...session, storage: await openStorage(place, session) });
  } catch (error) {
    throw error instanceof PalimpsestError || options.disk ? error : cannotOpen(id, error as Error);
  }
}

async function openStorage<M>(
  place: SessionPlace,
  { id, onProblem }: Pick<DurableOptions<M>, 'id' | 'onProblem'>,
): Promise<SessionStorage<M>> {
  try {
    return await place.open<M>(id, { onProblem, onClose: () => place.close() });
  } catch (error) {
    await place.close();
    throw error;
  }
}

async function placeOf<M>({ disk, ...options }: SessionOptions<M>): Promise<SessionPlace> {
  return disk ? diskPlace(options.directory as string, disk) : findPlace('openSession', options);
}

function toDurable<M>(options: SessionOptions<M>): Omit<DurableOptions<M>, 'storage'> {
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
    onProblem: (problem) => tell(options.onProblem ?? ((error) => process.emitWarning(error)), problem),
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

function cannotOpen(id: string, cause: Error): PalimpsestError {
  const text = `Expected to open the session ${id} but found: ${cause.message}; see to the disk and its rights, then open it again`;
  return new PalimpsestError('STORE_FAILED', text, { cause });
}
